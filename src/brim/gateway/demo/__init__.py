"""`brim serve --demo`: two sample agents that outgrow their windows, and a provider that answers from what it reads."""
