"""Names that belong to a tenant: a session's id begins with whose it is, so that no look-up can miss it.

What a client calls its session is written without the mark, so nobody can spell the name of another tenant's.
"""

from __future__ import annotations

from typing import Final

MARK: Final = "~"


def scoped(tenant: str, name: str) -> str:
    """A name as one of a tenant; of no tenant it stays as it is. Example: scoped("mzxw6", "desk") -> "mzxw6~desk" """
    return f"{tenant}{MARK}{name}" if tenant else name


def tenant_of(name: str) -> str:
    """Whose a name is. Example: tenant_of("mzxw6~desk.0a1b2c3d") -> "mzxw6"; tenant_of("desk") -> "" """
    tenant, mark, _ = name.partition(MARK)
    return tenant if mark else ""


def quoted(name: str) -> str:
    """A name that somebody else chose, without the mark. Example: quoted("mzxw6~desk") -> "mzxw6%7Edesk" """
    return name.replace(MARK, "%7E")


def bare(name: str) -> str:
    """A name without whose it is. Example: bare("mzxw6~desk.0a1b2c3d") -> "desk.0a1b2c3d" """
    tenant, mark, rest = name.partition(MARK)
    return rest if mark else tenant
