"""What happened in a session from turn to turn: compactions, recalls, and why a prompt cache was lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from brim.gateway.observe.turns import GatewayTurn

# A provider keeps a prompt for five minutes after its last use unless more was paid for (Anthropic's docs).
CACHE_SECONDS = 300
# The smallest prompt that providers cache.
CACHED_FROM = 1_024


def events(turns: Sequence[GatewayTurn]) -> dict[int, list[dict[str, Any]]]:
    """By the number of a turn what happened in it, each with its kind and a sentence.

    A compaction always costs the prompt cache once, so that is told with it and not as a loss of its own.
    """
    found: dict[int, list[dict[str, Any]]] = {}
    before: GatewayTurn | None = None
    caches = False
    for turn in turns:
        told = []
        compacted = turn.changed and turn.archived > (before.archived if before else 0)
        if compacted:
            told.append(_event("compaction", _compaction(turn, before)))
        if turn.recalled:
            brought = _many(turn.recalled, "archived passage")
            told.append(_event("recall", f"Brim brought back {brought} for this question"))
        if turn.recalls:
            told.append(_event("recall", f"the model asked for archived content {_many(turn.recalls, 'time')}"))
        if turn.refits:
            told.append(
                _event("refit", f"the provider said “too long”, and Brim sent less {_many(turn.refits, 'time')}")
            )
        if before is not None and caches and not compacted and _lost(turn, before):
            told.append(_event("cache", f"the prompt cache was lost: {_cause(turn, before)}"))
        if turn.outcome not in ("done", "running", "gone") or turn.status >= 400:
            told.append(_event("fault", turn.note or f"{turn.outcome} {turn.status or ''}".strip()))
        caches = caches or bool(turn.usage and (turn.usage.cached or turn.usage.written))
        if told:
            found[turn.number] = told
        before = turn
    return found


def _compaction(turn: GatewayTurn, before: GatewayTurn | None) -> str:
    shortened = turn.archived - (before.archived if before else 0)
    share = 1 - turn.after / turn.before if turn.before else 0.0
    return (
        f"the history was compacted: {_many(shortened, 'more message')} shortened or archived, "
        f"{turn.before:,} → {turn.after:,} tokens (−{share:.0%}); the prompt cache starts anew"
    )


def _lost(turn: GatewayTurn, before: GatewayTurn) -> bool:
    """Whether a provider read much less from its cache than it was sent before."""
    if turn.usage is None or before.usage is None or before.after < CACHED_FROM:
        return False
    return turn.usage.cached < before.usage.input / 2


def _cause(turn: GatewayTurn, before: GatewayTurn) -> str:
    if (turn.model, turn.upstream) != (before.model, before.upstream):
        return f"the model changed from {before.model} to {turn.model}"
    if turn.at - before.at > CACHE_SECONDS:
        return f"{int((turn.at - before.at) / 60)} minutes passed, and providers forget a prompt after about 5"
    if (turn.went or turn.came) is not None and (before.went or before.came) is not None:
        changed = _first_change(turn, before)
        if changed is not None:
            return changed
    return "the beginning was the same, so the provider had dropped it"


def _first_change(turn: GatewayTurn, before: GatewayTurn) -> str | None:
    """Where what was sent begins to differ from what was sent before; None where it only grew."""
    now, then = turn.sent, before.sent
    if now is None or then is None:
        return None
    if now.tools != then.tools:
        return "the tools changed"
    if (now.system.digest if now.system else b"") != (then.system.digest if then.system else b""):
        return "the instructions changed"
    for place, (new, old) in enumerate(zip(now.messages, then.messages, strict=False), 1):
        if new.digest != old.digest:
            return f"message {place} ({new.role}) changed"
    return "messages were taken away" if len(now.messages) < len(then.messages) else None


def _event(kind: str, text: str) -> dict[str, Any]:
    return {"kind": kind, "told": text}


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
