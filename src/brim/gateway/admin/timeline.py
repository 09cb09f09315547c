"""The events of a session, turn by turn: compactions, recalls, and why the prompt cache was lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from brim.gateway.observe.turns import GatewayTurn
from brim.models.caching import caching_of
from brim.planning.reports.decisions import CacheBreak
from brim.sessions.prompt_cache import SentTurn, cache_break
from brim.tokens.counter import Counter

# For unknown models: no provider keeps a prompt for less.
CACHE_SECONDS = 300
# The smallest prompt that providers cache.
CACHED_FROM = 1_024


def events(turns: Sequence[GatewayTurn]) -> dict[int, list[dict[str, Any]]]:
    """Maps turn numbers to their events, each with a kind and a sentence.

    A compaction always loses the prompt cache once, so that loss is reported with it rather than separately.
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
    """Whether the provider read much less from its cache than the previous request would have left there."""
    if turn.usage is None or before.usage is None or before.after < CACHED_FROM:
        return False
    return turn.usage.cached < before.usage.input / 2


def _cause(turn: GatewayTurn, before: GatewayTurn) -> str:
    if (turn.model, turn.upstream) != (before.model, before.upstream):
        return f"the model changed from {before.model} to {turn.model}"
    lasts = caching_of(turn.found).lasts if turn.found else CACHE_SECONDS
    if turn.at - before.at > lasts:
        passed, kept = int((turn.at - before.at) / 60), int(lasts / 60)
        return f"{passed} minutes passed, and the provider keeps a prompt for {kept} at most"
    broken = cache_break_of(before, turn)
    return broken.why if broken is not None else "the beginning was the same, so the provider had dropped it"


def cache_break_of(before: GatewayTurn | None, turn: GatewayTurn) -> CacheBreak | None:
    """Where a turn diverges from the previous one, and why; None if it doesn't, or if either is no longer in memory."""
    was, now = _sent(before), _sent(turn)
    return cache_break(was, now, Counter(was.model, turn.api).message) if was and now else None


def _sent(turn: GatewayTurn | None) -> SentTurn | None:
    given, sent = (None, None) if turn is None else (turn.original, turn.sent)
    return SentTurn(turn.found, given, sent) if turn and turn.found and given and sent else None


def _event(kind: str, text: str) -> dict[str, Any]:
    return {"kind": kind, "told": text}


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
