"""How MCP messages travel: standard streams, HTTP, JSON-RPC."""
