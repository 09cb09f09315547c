"""Binds the port before anything else starts."""

from __future__ import annotations

import socket

from brim.errors import BadSetting


def bound_to(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """A socket bound to the port, exclusively or shared with the user's other processes; BadSetting if it is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if shared:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        found.bind((host.strip("[]"), port))
    except OSError as problem:
        found.close()
        raise BadSetting("gateway.port", f"{host}:{port} cannot be used: {problem.strerror}") from None
    return found
