"""Environment variables named inside a text, such as a header of a server's configuration."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Final

from brim.errors import BadSetting

_VARIABLE: Final = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\}")


def filled(text: str, where: str, env: Mapping[str, str] | None = None) -> str:
    """The text with the values of the variables that it names; BadSetting at `where` when one is not set.

    Example: filled("Bearer ${TOKEN}", "--header", {"TOKEN": "t1"}) -> "Bearer t1"; ${NAME:-else} has a default
    """
    environment = os.environ if env is None else env

    def value(found: re.Match[str]) -> str:
        name, otherwise = found.groups()
        known = environment.get(name) or otherwise
        if known is None:
            raise BadSetting(where, f"the environment variable {name} is not set")
        return known

    return _VARIABLE.sub(value, text)
