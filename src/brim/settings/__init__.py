"""All settings of Brim: one frozen object, and the only place where the environment is read.

A value is taken from the first of these that has it, and remembers which that was (`Settings.origin`):
arguments of `load`, `BRIM_SECTION_KEY` in the environment, the nearest `brim.toml` upward, the user's
`~/.config/brim/brim.toml`, the default. Secrets never stand in a file: a setting names the environment variable.
"""

from __future__ import annotations

from brim.settings.loading import FILE, Settings, load
from brim.settings.policy import PolicyEntry
from brim.settings.reference import reference
from brim.settings.schema import (
    ContextManagement,
    GatewaySettings,
    Mcp,
    ModelEntry,
    PriceEntry,
    StoreSettings,
    SummarizerSettings,
    UpstreamSettings,
)
from brim.settings.variables import filled

__all__ = [
    "FILE",
    "ContextManagement",
    "GatewaySettings",
    "Mcp",
    "ModelEntry",
    "PolicyEntry",
    "PriceEntry",
    "Settings",
    "StoreSettings",
    "SummarizerSettings",
    "UpstreamSettings",
    "filled",
    "load",
    "reference",
]
