"""The proxy between one client and its servers."""
