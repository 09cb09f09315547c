"""Code tools for a repository: a map, searches, and a diff by definitions, each in four levels of detail."""
