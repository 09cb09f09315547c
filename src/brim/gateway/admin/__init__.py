"""Brim's own HTTP API."""
