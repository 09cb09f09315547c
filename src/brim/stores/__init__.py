"""Stores for sessions, archives and learned sizes."""
