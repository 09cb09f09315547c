"""Commands that run coding agents through the gateway, and what is known of each agent."""
