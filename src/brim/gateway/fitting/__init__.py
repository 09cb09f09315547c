"""Fitting the requests that pass through, each in its conversation."""
