"""What a client may use: virtual keys in place of a provider's own, with budgets and rates."""
