"""What the adapters have in common: messages of a framework as chat messages and back, and the fitting between."""
