"""Takes one client request to its provider and back."""
