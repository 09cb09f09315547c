"""Commands that run and manage the gateway: serving, watching, keys, the store."""
