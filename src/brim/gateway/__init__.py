"""The gateway: a reverse proxy that fits each request, streams answers through and learns from their usage.

`brim.gateway.server.app.Gateway` is the ASGI application; `brim.gateway.server.serving` runs it.
"""
