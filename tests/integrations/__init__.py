"""Adapters against the real frameworks: `make integrations`. A framework has an environment of its own."""
