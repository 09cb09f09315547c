"""HTML, Markdown, XML and prose."""
