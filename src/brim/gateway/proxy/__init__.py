"""One request of a client, on to its provider and back."""
