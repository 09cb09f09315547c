"""Retention per tenant, where it differs from the age in the settings.

The days are kept in the store itself, so all gateways on it honour them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Protocol

from brim.errors import BadInput

RETAINED: Final = "retention."
# The range of names that begin with RETAINED.
NAMES: Final = (RETAINED, RETAINED[:-1] + chr(ord(RETAINED[-1]) + 1))
_END: Final = ".days"
DAY: Final = 86_400


class DaysStore(Protocol):
    """The part of a store that retention needs."""

    def put_value(self, name: str, value: bytes | None) -> None: ...

    def values(self, prefix: str) -> dict[str, bytes]: ...


def retain(store: DaysStore, tenant: str, days: int) -> None:
    """Keep a tenant's sessions for this many days after their last turn; 0: as long as everyone's."""
    if days < 0:
        raise BadInput("--days", f"{days} is no number of days: give 0 to keep them as long as those of others")
    store.put_value(f"{RETAINED}{tenant}{_END}", b"%d" % days if days else None)


def retained(store: DaysStore) -> dict[str, int]:
    """The tenants with their own retention."""
    return days_of(store.values(RETAINED).items())


def days_of(rows: Iterable[Any]) -> dict[str, int]:
    """The days per tenant, from stored names and values."""
    return {name.removeprefix(RETAINED).removesuffix(_END): int(value) for name, value in rows}
