"""Tool lists in fewer tokens."""
