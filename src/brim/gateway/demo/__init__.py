"""`brim serve --demo`: two sample agents that outgrow their windows, and a provider that reads what it is sent."""
