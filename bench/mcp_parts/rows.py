"""Rows of a table, and recorded data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Row = tuple[str, str, str]


def load(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
