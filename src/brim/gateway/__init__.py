"""The gateway: a reverse proxy that fits each request, streams the answer through and learns from its usage.

`brim.gateway.server.app.Gateway` is the ASGI application; `brim.gateway.server.serving` runs it.
"""
