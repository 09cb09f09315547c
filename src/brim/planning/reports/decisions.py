"""What a fit did, as data and as text; the CLI, the dashboard and the tests use the same objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

Form = Literal["full", "dense", "outline", "line", "archived", "dropped", "summary"]
FormFidelity = Literal["full", "lossless", "recoverable"]
FillLevel = Literal["ok", "high", "full", "critical"]
LAYERS = {
    1: "instructions",
    2: "carried context",
    3: "context of this turn",
    4: "history",
    5: "current message",
}
# Shares of the limit from which a bar shows a warning, and a full room: signs for readers, which decide nothing.
HIGH, FULL = 0.75, 0.90


@dataclass(frozen=True, slots=True)
class Decision:
    """The form of one item, with a reason that users can read."""

    item: str
    role: str
    layer: int
    kind: str
    before: int
    after: int
    form: Form
    reason: str
    handle: str = ""
    preview: str = ""
    fidelity: FormFidelity | None = None
    """`full`: as it was; `lossless`: a decoder turns it back; `recoverable`: its original is kept beside the prompt."""

    def __post_init__(self) -> None:
        if self.fidelity is None:
            object.__setattr__(self, "fidelity", _FIDELITY.get(self.form, "recoverable"))


_FIDELITY: dict[Form, FormFidelity] = {"full": "full", "dense": "lossless"}


@dataclass(frozen=True, slots=True)
class LayerPart:
    """One kind of content within a layer: the user's words, an assistant's, the results of one tool."""

    name: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class LayerUse:
    """The tokens of one layer before and after; `parts` breaks them down."""

    layer: int
    name: str
    before: int
    after: int
    parts: tuple[LayerPart, ...] = ()


@dataclass(frozen=True, slots=True)
class CacheBreak:
    """Where a request diverges from the previous one, which the provider's prompt cache may hold."""

    at: str
    """`tools`, `system` or `messages[n]` of what is sent."""
    byte: int
    """How many bytes of tools, instructions and messages, in that order, are the same."""
    tokens: int
    """Tokens of the request before that could have come from the cache, and cannot now."""
    why: str

    def __str__(self) -> str:
        return f"cache bust: {self.why} ({self.tokens:,} tokens after byte {self.byte:,}, at {self.at})"


@dataclass(frozen=True, slots=True)
class Report:
    """Tokens before and after, by layer, against the limit; what happened to every item; and warnings."""

    model: str
    policy: str
    limit: int
    before: int
    after: int
    upper: int
    source: str
    layers: tuple[LayerUse, ...]
    decisions: tuple[Decision, ...]
    kept: int
    compacted: int
    archived: int
    turns_dropped: bool
    warnings: tuple[str, ...]
    cache_break: CacheBreak | None = None
    """Why what was sent before is not all there any more; None where it is, and where there is no request before."""
    must_stay: int = 0
    """Tokens that no plan can shorten: tools, instructions and the words of the current message."""

    @property
    def used(self) -> float:
        """The share of the limit that the fitted request takes."""
        return self.after / self.limit if self.limit else 0.0

    @property
    def level(self) -> FillLevel:
        return level_of(self.used, self.must_stay / self.limit if self.limit else 0.0)

    @property
    def biggest(self) -> tuple[Decision, ...]:
        """The five items that take the most room."""
        return tuple(sorted(self.decisions, key=lambda decision: (-decision.after, decision.item))[:5])

    def as_dict(self) -> dict[str, Any]:
        biggest = [asdict(decision) for decision in self.biggest]
        return {**asdict(self), "biggest": biggest, "used": round(self.used, 4), "level": self.level}

    def __str__(self) -> str:
        done = [_several(self.kept, "message", "kept")]
        if self.compacted:
            done.append(_several(self.compacted, "part", "shortened"))
        if self.archived:
            done.append(_several(self.archived, "message", "archived"))
        lines = [f"{self.before:,} -> {self.after:,} tokens: {', '.join(done)}"]
        lines += [f"warning: {warning}" for warning in self.warnings]
        return "\n".join(lines)


def _several(number: int, what: str, done: str) -> str:
    """Example: 2, "message", "kept" -> "2 messages kept" """
    return f"{number:,} {what}{'' if number == 1 else 's'} {done}"


def level_of(used: float, must_stay: float = 0.0) -> FillLevel:
    """How full a window is, and whether a refusal is near, from the shares of everything and of what must stay.

    A window that was filled by fitting is normal.

    Example: 0.8 -> "high"; 0.95 -> "full"; 0.95, of which 0.92 must stay -> "critical"
    """
    if must_stay >= FULL:
        return "critical"
    return "full" if used >= FULL else "high" if used >= HIGH else "ok"


def layer_uses(
    before: Sequence[int],
    after: Sequence[int],
    parts: Mapping[int, Mapping[str, tuple[int, int]]] | None = None,
) -> tuple[LayerUse, ...]:
    """Layer rows from two lists of five numbers, and the layers' parts before and after."""
    rows = []
    for layer, name in LAYERS.items():
        named = (parts or {}).get(layer, {})
        shown = tuple(LayerPart(part, *sizes) for part, sizes in named.items() if any(sizes))
        rows.append(LayerUse(layer, name, before[layer - 1], after[layer - 1], shown if len(shown) > 1 else ()))
    return tuple(rows)
