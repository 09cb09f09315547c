"""Brim keeps every LLM request inside its context window."""
