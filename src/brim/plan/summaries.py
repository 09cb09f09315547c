"""Summaries inside policies: by the caller's summariser if there is one, else, or if that fails, without a model."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from brim import wire
from brim.conversation import Message
from brim.ladders import Ladder, handle_of, plain
from brim.ladders.rung import Room
from brim.plan.work import Work
from brim.summarize import deterministic

log = logging.getLogger("brim")
SPEAKER = {"user": "User", "assistant": "Assistant", "tool": "Tool", "system": "System"}


def summary(work: Work, messages: Sequence[Message], previous: str, tokens: int) -> str:
    """At most `tokens` tokens on what the messages said, the summary before them included."""
    count = work.counter.text
    if work.summarize is not None:
        text = _asked(work.summarize, messages, previous, tokens)
        if text and count(text) <= tokens:
            return text
    return naive(messages, previous, tokens, count)


def _asked(summarize: Callable[..., str], messages: Sequence[Message], previous: str, tokens: int) -> str:
    try:
        return summarize(messages, previous, tokens).strip()
    except Exception as problem:  # the caller's own code, or a model behind it: anything may go wrong there
        log.warning(
            "the summariser failed (%s: %s); a summary without a model stands in", type(problem).__name__, problem
        )
        return ""


def block_summary(work: Work, text: str, tokens: int) -> str:
    """A large block in at most `tokens` tokens: by map and reduce where there is a summariser, else by its ladder."""
    count = work.counter.text
    if work.summarize is not None:
        size = work.policy.block_chars
        chunks = [text[start : start + size] for start in range(0, len(text), size)]
        share = max(16, tokens // len(chunks))
        done = [_asked(work.summarize, [_as_message(work, chunk)], "", share) for chunk in chunks]
        joined = "\n".join(part for part in done if part)
        if joined and count(joined) > tokens:
            joined = _asked(work.summarize, [_as_message(work, joined)], "", tokens)
        if joined and all(done) and count(joined) <= tokens:
            return joined
    return Ladder(text, count).at(Room(tokens, count, handle_of(text), work.recall)).text


def _as_message(work: Work, text: str) -> Message:
    return wire.text_message(work.conversation.api, "user", text)


def naive(messages: Sequence[Message], previous: str, tokens: int, count: Callable[[str], int]) -> str:
    """A summary made of the messages' own words, cut to size."""
    notes = deterministic.ledger(messages, max(200, tokens * 3))
    text = f"{previous}\n{notes}".strip()
    return plain.extract(text, Room(max(1, tokens), count))


def serialized(messages: Sequence[Message]) -> str:
    """Messages as a transcript. Example: "User: hi\\nAssistant: hello" """
    return "\n".join(f"{SPEAKER[message.role]}: {message.text}" for message in messages)
