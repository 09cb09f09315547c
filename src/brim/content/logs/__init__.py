"""Logs and stack traces."""
