"""Limits per client: virtual keys that replace a provider's own, with budgets and rates."""
