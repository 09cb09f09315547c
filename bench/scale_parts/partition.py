"""A network of this process's own, in which gateways can be cut off from their database one by one.

Each gateway reaches the database under an address of its own. Cutting it off takes that address from the loopback
device and routes it to one where packets vanish: no answer, no refusal, as with a broken switch.
"""

from __future__ import annotations

import ctypes
import os
import subprocess

CLONE_NEWNET = 0x40000000
_NOWHERE, _NOBODY = "nowhere", "02:00:00:00:00:01"


def enter() -> bool:
    """Move this process, before it has threads, into a network namespace of its own; False where it may not."""
    if os.geteuid() or ctypes.CDLL(None).unshare(CLONE_NEWNET):
        return False
    _ip("link set lo up")
    _ip(f"link add {_NOWHERE} type veth peer name {_NOWHERE}2")
    for end in ("", "2"):
        _ip(f"link set {_NOWHERE}{end} up")
    return True


def address(number: int) -> str:
    return f"10.99.0.{number + 1}"


def join(number: int) -> str:
    """The address under which a gateway reaches what listens on all addresses here."""
    _ip(f"address replace {address(number)}/32 dev lo")
    return address(number)


def cut(number: int) -> None:
    _ip(f"address delete {address(number)}/32 dev lo")
    _ip(f"route replace {address(number)}/32 dev {_NOWHERE}")
    _ip(f"neighbour replace {address(number)} lladdr {_NOBODY} dev {_NOWHERE}")


def heal(number: int) -> None:
    _ip(f"route delete {address(number)}/32 dev {_NOWHERE}")
    join(number)


def _ip(command: str) -> None:
    subprocess.run(["/usr/sbin/ip", *command.split()], check=True)
