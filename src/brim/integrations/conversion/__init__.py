"""Shared by all adapters: converts a framework's messages to chat messages and back, and fits them."""
