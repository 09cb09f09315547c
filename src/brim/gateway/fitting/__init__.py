"""Fits the requests that pass through, each as part of its conversation."""
