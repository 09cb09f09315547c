"""Logs, metrics, traces and the journal of turns."""
