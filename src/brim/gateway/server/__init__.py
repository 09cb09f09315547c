"""The ASGI server: access, concurrency, starting and stopping."""
