"""Verifies that a summary may replace its messages: essential content is in it, or is added back verbatim."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from brim.conversation import Message
from brim.count_text import CountText
from brim.summaries.deterministic import facts, take_notes

PUT_BACK = "Also, verbatim:"
FACTS = "- named: "
# Sentences of a user that are instructions or open tasks.
_INSTRUCTION = re.compile(
    r"\b(?:must|never|always|do not|don't|only|make sure|remember|prefer|instead of|from now on|todo|to do|"
    r"not yet|still (?:need|open|to)|next step)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?\n。！？]+(?:[.!?。！？](?=\S)[^.!?\n。！？]*)*[.!?。！？]?")
_SPACE = re.compile(r"\s+")
# Small numbers in names, versions, percentages. Example: "berth 99", "v1.2", "50%"
_SMALL = re.compile(
    r"\b[^\W\d_]{3,}\.?[ \xa0](?:no\.? ?|#)?\d{1,2}\b(?![.,:/-]?\d|\s?%)|\bv\d+(?:\.\d+)*\b|\b\d+(?:[.,]\d+)?\s?%"
)
# Words before a number that don't make it a name.
_NO_NAME = frozenset(
    "the and for with from than about over under until after before within only least most last next first these those "
    "past into has have had was were are you your our their his her its all any some more less just per plus minus "
    "around nearly almost another every each between exactly took take takes needs need costs cost".split()
)
# Longer sentences, and sentences in longer messages, are content rather than instructions.
SENTENCE, READ = 240, 8_000
# How many identifiers, paths and numbers of one part must be in a summary: of a text, a call and a result. A result
# with more is data: its values are in the archive, and important ones were mentioned or used in calls.
SAID, CALLED, FOUND = 200, 24, 40
# How many small named numbers of one message must be in a summary.
NAMED = 24
# Limit of what is added back, as a share of the replaced messages or in tokens; facts from texts come first.
SHARE, LEAST = 0.5, 256


def essentials(messages: Sequence[Message], previous: str = "") -> list[str]:
    """The facts a summary of messages must contain: identifiers, paths, numbers, open tasks, explicit instructions.

    Facts from the previous summary come after others of their kind, so that older ones are dropped first.
    """
    parts = [part for message in messages for part in message.parts]
    said = [fact for part in parts if part.kind == "text" for fact in (*facts(part.text, SAID), *named(part.text))]
    called = [fact for part in parts if part.kind == "call" for fact in facts(part.text, CALLED)]
    found = [fact for part in parts if part.kind == "result" for fact in facts(part.text, FOUND)]
    told, known = _held(previous)
    lines = [*instructions(messages), *take_notes(messages).open, *told, *said, *called, *found, *known]
    return list(dict.fromkeys(line for line in lines if line))


def named(text: str) -> list[str]:
    """Small numbers with their names. Example: "Berth 99, of 12, at 50%" -> ["Berth 99", "50%"]"""
    found = (match.group() for match in _SMALL.finditer(text[:READ]))
    return [name for name in islice(found, 4 * NAMED) if name.split()[0].casefold() not in _NO_NAME][:NAMED]


def _held(summary: str) -> tuple[list[str], list[str]]:
    """The sentences that a summary must pass on, and its facts, with those added back last."""
    own, _, back = summary.partition(PUT_BACK)
    sentences = [match.group().strip(" -*") for match in _SENTENCE.finditer(own)]
    told = [text for text in sentences if 0 < len(text) <= SENTENCE and _INSTRUCTION.search(text)]
    known = [*facts(own, SAID), *named(own)]
    for line in back.splitlines():
        text = line.removeprefix("- ").strip()
        if line.startswith(FACTS):
            known += line.removeprefix(FACTS).split(", ")
        elif text:
            told.append(text)
    return told, known


def instructions(messages: Sequence[Message]) -> list[str]:
    """Explicit instructions from users. Example: "Use tabs. Never edit main.py." -> ["Never edit main.py."]"""
    found: list[str] = []
    for message in messages:
        if message.role != "user":
            continue
        for part in message.parts:
            if part.kind == "text" and len(part.text) <= READ:
                sentences = (match.group().strip() for match in _SENTENCE.finditer(part.text))
                found += [text for text in sentences if 0 < len(text) <= SENTENCE and _INSTRUCTION.search(text)]
    return found


def verified(summary: str, messages: Sequence[Message], count: CountText, previous: str = "") -> str | None:
    """The summary with missing facts added back; None if it is empty or as large as what it replaces.

    Example: "Login is fixed." for messages that name order 4417 -> "Login is fixed.\\nAlso, verbatim:\\n- named: 4417"
    """
    text = summary.strip()
    if not text:
        return None
    said = _SPACE.sub(" ", text).casefold()
    needed = essentials(messages, previous)
    missing = [line for line in needed if not holds(said, _SPACE.sub(" ", line.removesuffix("…")).casefold())]
    replaced = count(previous) + sum(count(message.text) for message in messages)
    if missing:
        missing = _within(missing, max(LEAST, int(SHARE * replaced)), count)
        lines = [line for line in missing if len(line) > 60 or line.count(" ") > 1]
        short = [line for line in missing if line not in lines]
        listed = [f"- {line}" for line in lines] + ([FACTS + ", ".join(short)] if short else [])
        text = "\n".join([text, PUT_BACK, *listed]) if listed else text
    return text if count(text) < replaced else None


def holds(text: str, what: str) -> bool:
    """Whether a text contains something as separate words. Example: holds("it was 144170", "4417") -> False"""
    place = text.find(what) if what else 0
    while place >= 0:
        end = place + len(what)
        if not _joins(text[max(0, place - 2) : place][::-1], what[:1]) and not _joins(text[end : end + 2], what[-1:]):
            return True
        place = text.find(what, place + 1)
    return not what


def _joins(beside: str, edge: str) -> bool:
    """Whether the characters beside a letter or digit (nearest first) make it part of another word or number."""
    if not _letter(edge) or not beside:
        return False
    return _letter(beside[0]) or (edge.isdigit() and beside[0] in ".," and beside[1:].isdigit())


def _letter(sign: str) -> bool:
    return sign.isascii() and (sign.isalnum() or sign == "_")


def _within(lines: list[str], tokens: int, count: CountText) -> list[str]:
    """The first lines that take at most this many tokens together."""
    taken = 0
    for number, line in enumerate(lines):
        taken += count(line) + 2
        if taken > tokens:
            return lines[:number]
    return lines
