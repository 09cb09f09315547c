"""Planning: decides what of a conversation to send within a limit."""
