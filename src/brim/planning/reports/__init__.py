"""Reports on plans: decisions and layers as data, and as text for people."""
