"""What a wrapper may be told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal

from brim.errors import BadSetting
from brim.ladders.shapes import Shape

Level = Literal["full", "standard", "compact", "minimal"]
LEVELS: tuple[Level, ...] = ("full", "standard", "compact", "minimal")
Grouping = Literal["auto", "meta", "virtual", "off"]


def _default_tokens() -> dict[Level, int]:
    return {"full": 8_000, "standard": 4_000, "compact": 2_000, "minimal": 800}


@dataclass(frozen=True, slots=True)
class Options:
    """The settings of `brim mcp wrap`; the defaults are those of the command.

    `result_tokens` is the most that one result may take at each level. The level rises as the session fills:
    its fill is the larger of tokens sent ÷ `session_tokens` and calls made ÷ `session_calls`, and
    `rises` says at which fills it becomes standard, compact and minimal. `level` other than "auto" fixes it.
    """

    compact: bool = True
    level: Level | Literal["auto"] = "auto"
    result_tokens: Mapping[Level, int] = field(default_factory=_default_tokens)
    session_tokens: int = 100_000
    session_calls: int = 40
    rises: tuple[float, float, float] = (0.05, 0.3, 0.7)
    exempt: tuple[str, ...] = ()
    shapes: tuple[Shape, ...] = ()
    shrink: bool = True
    description_tokens: int = 80
    grouping: Grouping = "auto"
    tool_threshold: int = 128
    tool_tokens: int = 25_000
    max_calls: int = 0
    repeat_seconds: float = 60.0
    hint_every: int = 10
    recall_tokens: int = 4_000
    call_timeout: float = 0.0
    largest_message: int = 512 << 20

    def __post_init__(self) -> None:
        if self.level not in ("auto", *LEVELS):
            raise BadSetting("mcp.level", f"{self.level!r} is none of auto, {', '.join(LEVELS)}")
        if self.grouping not in ("auto", "meta", "virtual", "off"):
            raise BadSetting("mcp.grouping", f"{self.grouping!r} is none of auto, meta, virtual, off")
        if set(self.result_tokens) != set(LEVELS) or any(size < 50 for size in self.result_tokens.values()):
            raise BadSetting("mcp.result_tokens", "needs full, standard, compact and minimal, each at least 50")
        if list(self.rises) != sorted(self.rises) or len(self.rises) != 3:
            raise BadSetting("mcp.rises", "needs three rising shares, such as [0.05, 0.3, 0.7]")

    def exempts(self, tool: str) -> bool:
        """Whether results of the tool are to pass untouched: a name or a pattern such as `fs__read_*`."""
        return any(fnmatchcase(tool, pattern) for pattern in self.exempt)

    @property
    def transparent(self) -> bool:
        """Whether nothing of tool lists and results may change."""
        return not (self.compact or self.shrink) and self.grouping == "off"
