"""Brim's own MCP server."""
