"""The reference of all settings, generated from their classes."""

from __future__ import annotations

from brim.settings.policy import PolicyEntry
from brim.settings.schema import NAMED, TABLES, SettingsSection, described


def reference() -> list[tuple[str, str, str, str]]:
    """Every setting as (key, what it may be, default, description), in the order of the file."""
    tables: dict[str, type[SettingsSection]] = {"policy": PolicyEntry, **TABLES}
    tables |= {f"{name}.NAME": kind for name, kind in NAMED.items()}
    listed = [row for name, kind in tables.items() for row in described(name, kind)]
    return [*listed, ("shapes.NAME", "a table", "", "how results of a named shape are compacted")]
