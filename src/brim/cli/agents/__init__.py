"""Commands that run coding agents through the gateway, and the catalog of agents."""
