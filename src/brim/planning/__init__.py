"""Planners: what of a conversation is sent within a limit."""
