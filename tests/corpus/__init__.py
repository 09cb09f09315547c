"""A fuzz target over real documents: `python -m tests.corpus --corpus DIR`, or `make corpus CORPUS=DIR`."""
