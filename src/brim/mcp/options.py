"""The options of a wrapper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from typing import Any, Literal

from brim.content.reshape import Shape
from brim.errors import BadSetting
from brim.settings.schema import Mcp

Level = Literal["full", "standard", "compact", "minimal"]
LEVELS: tuple[Level, ...] = ("full", "standard", "compact", "minimal")
Grouping = Literal["auto", "meta", "virtual", "off"]


_DEFAULT = Mcp()


def _default_tokens() -> dict[Level, int]:
    return tokens_by_level(_DEFAULT)


def tokens_by_level(mcp: Mcp) -> dict[Level, int]:
    """The most tokens one result may take at each level, never above `result_tokens`."""
    own = {"standard": mcp.standard_tokens, "compact": mcp.compact_tokens, "minimal": mcp.minimal_tokens}
    return {level: min(own.get(level, mcp.result_tokens), mcp.result_tokens) for level in LEVELS}


@dataclass(frozen=True, slots=True)
class WrapperOptions:
    """The settings of `brim mcp wrap`; the defaults are those of `[mcp]`.

    `result_tokens` is the most that one result may take at each level. The level rises as the session fills:
    its fill is the larger of tokens sent ÷ `session_tokens` and calls made ÷ `session_calls`, and
    `rises` says at which fills it becomes standard, compact and minimal. `level` other than "auto" fixes it.
    """

    compact: bool = _DEFAULT.compact
    level: Level | Literal["auto"] = _DEFAULT.level
    result_tokens: Mapping[Level, int] = field(default_factory=_default_tokens)
    session_tokens: int = _DEFAULT.session_tokens
    session_calls: int = _DEFAULT.session_calls
    rises: tuple[float, float, float] = (_DEFAULT.standard_at, _DEFAULT.compact_at, _DEFAULT.minimal_at)
    exempt: tuple[str, ...] = _DEFAULT.exempt
    shapes: tuple[Shape, ...] = ()
    shrink: bool = _DEFAULT.shrink
    description_tokens: int = _DEFAULT.description_tokens
    grouping: Grouping = _DEFAULT.grouping
    tool_threshold: int = _DEFAULT.group_tools_above
    tool_tokens: int = _DEFAULT.group_tokens_above
    max_calls: int = _DEFAULT.max_calls
    repeat_seconds: float = _DEFAULT.repeat_seconds
    changes: bool = _DEFAULT.changes
    hint_every: int = _DEFAULT.hint_every
    hint_fields: tuple[str, ...] = _DEFAULT.hint_fields
    verbosity: bool = _DEFAULT.verbosity
    recall_tokens: int = _DEFAULT.recall_tokens
    call_timeout: float = _DEFAULT.call_timeout
    largest_message: int = _DEFAULT.largest_message
    fit_timeout: float = _DEFAULT.fit_timeout

    @classmethod
    def of(cls, mcp: Mcp, shapes: Mapping[str, Mapping[str, Any]] | None = None) -> WrapperOptions:
        """What `[mcp]` and `[shapes]` say."""
        same = [
            item.name for item in fields(cls) if item.name in Mcp.__struct_fields__ and item.name != "result_tokens"
        ]
        return cls(
            **{name: getattr(mcp, name) for name in same},
            result_tokens=tokens_by_level(mcp),
            rises=(mcp.standard_at, mcp.compact_at, mcp.minimal_at),
            tool_threshold=mcp.group_tools_above,
            tool_tokens=mcp.group_tokens_above,
            shapes=tuple(Shape.from_dict(name, dict(table)) for name, table in (shapes or {}).items()),
        )

    def __post_init__(self) -> None:
        if self.level not in ("auto", *LEVELS):
            raise BadSetting("mcp.level", f"{self.level!r} is none of auto, {', '.join(LEVELS)}")
        if self.grouping not in ("auto", "meta", "virtual", "off"):
            raise BadSetting("mcp.grouping", f"{self.grouping!r} is none of auto, meta, virtual, off")
        if set(self.result_tokens) != set(LEVELS) or any(size < 50 for size in self.result_tokens.values()):
            raise BadSetting("mcp.result_tokens", "needs full, standard, compact and minimal, each at least 50")
        if list(self.rises) != sorted(self.rises) or len(self.rises) != 3:
            shown = ", ".join(f"{share:g}" for share in self.rises)
            raise BadSetting("mcp.standard_at, compact_at, minimal_at", f"must not fall, and are {shown}")

    def exempts(self, tool: str) -> bool:
        """Whether the tool's results pass unchanged, by name or by a pattern such as `fs__read_*`."""
        return any(fnmatchcase(tool, pattern) for pattern in self.exempt)

    @property
    def transparent(self) -> bool:
        """Whether tool lists and results must pass unchanged."""
        return not (self.compact or self.shrink) and self.grouping == "off"
