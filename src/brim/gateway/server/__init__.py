"""The ASGI server: who may ask, how much at once, starting and stopping."""
