"""Where sessions, archives and learned sizes are kept."""
