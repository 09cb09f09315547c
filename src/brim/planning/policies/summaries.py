"""Summaries for policies: by the caller's summariser, or without a model if there is none or it fails."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from brim import apis
from brim.content import Compactor, handle_of, plain_text
from brim.content.types import Room
from brim.conversation import Message
from brim.count_text import CountText
from brim.planning.request import PlanRequest, Summarize, query_of
from brim.summaries import deterministic

log = logging.getLogger("brim")
# Characters of notes for each token of a summary's room. In LoCoMo's five chats under `rolling`, of the words of the
# turns that answer questions the summary holds .58 with 3 (it leaves a quarter of its room), .62 with 4 and with 5.
CHARS = 4


def summary(request: PlanRequest, messages: Sequence[Message], previous: str, tokens: int) -> str:
    """A summary of the messages, including an earlier summary, in at most `tokens` tokens."""
    count = request.counter.text
    text = asked(request, messages, previous, tokens)
    return plain_text.extract(text, Room(tokens, count)) if text else naive(messages, previous, tokens, count)


def asked(request: PlanRequest, messages: Sequence[Message], previous: str, tokens: int) -> str:
    """The caller's summariser's answer; empty if there is none or it fails."""
    return _asked(request.summarize, messages, previous, tokens) if request.summarize is not None else ""


def _asked(summarize: Summarize, messages: Sequence[Message], previous: str, tokens: int) -> str:
    """What a summariser says; nothing where it fails, which is told with its trace.

    All exceptions, since this is where Brim calls other people's code: the errors of model clients have no base in
    common (openai's, anthropic's and httpx's derive from Exception), and a fit raises nothing but its own.
    """
    try:
        return summarize(messages, previous, tokens).strip()
    except Exception as problem:
        told = (type(problem).__name__, problem)
        log.warning("the summariser failed (%s: %s); a summary without a model stands in", *told, exc_info=True)
        return ""


def block_summary(request: PlanRequest, text: str, tokens: int, chunk: int) -> str:
    """A large block in at most `tokens` tokens: by map and reduce if there is a summariser, otherwise by its compactor.

    A summariser gets at most `chunk` characters at once.
    """
    count = request.counter.text
    room = Room(tokens, count, handle_of(text), request.recall, query_of(request.conversation))
    if request.summarize is not None:
        head = room.mark(f"a summary of {len(text):,} characters")
        joined = _mapped(request, request.summarize, _chunks(text, chunk), max(16, tokens - count(head) - 1))
        if joined and count(f"{head}\n{joined}") <= tokens:
            return f"{head}\n{joined}"
    return Compactor(text, count).at(room).text


def _mapped(request: PlanRequest, summarize: Summarize, chunks: Sequence[str], tokens: int) -> str:
    """The summaries of a text's chunks, and their summary where they are too long together; "" if one fails."""
    done: list[str] = []
    for chunk in chunks:
        done.append(_asked(summarize, [_as_message(request, chunk)], "", max(16, tokens // len(chunks))))
        if not done[-1]:
            return ""
    joined = "\n".join(done)
    if request.counter.text(joined) <= tokens:
        return joined
    return _asked(summarize, [_as_message(request, joined)], "", tokens)


def _chunks(text: str, size: int) -> list[str]:
    """A text in pieces of at most `size` characters, cut at the ends of paragraphs, lines or words."""
    found: list[str] = []
    at = 0
    while len(text) - at > size:
        cuts = (text.rfind(sign, at + size // 2, at + size) + len(sign) for sign in ("\n\n", "\n", " "))
        end = next((cut for cut in cuts if cut > at + size // 2), at + size)
        found.append(text[at:end])
        at = end
    return [*found, text[at:]]


def _as_message(request: PlanRequest, text: str) -> Message:
    return apis.text_message(request.conversation.api, "user", text)


def naive(messages: Sequence[Message], previous: str, tokens: int, count: CountText) -> str:
    """A summary in the messages' own words, cut to size."""
    notes = deterministic.running(messages, max(200, tokens * CHARS))
    text = f"{previous}\n{notes}".strip()
    return plain_text.extract(text, Room(max(1, tokens), count))
