"""Tool results within their budget."""
