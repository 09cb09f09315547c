"""Whether a summary may stand for what it was made of: what it must not lose is in it, or is put back verbatim."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from brim.conversation import Message
from brim.summarize.deterministic import facts, take_notes

PUT_BACK = "Also, verbatim:"
# Sentences of a user that say how things are to be done, or that something is still to be done.
_INSTRUCTION = re.compile(
    r"\b(?:must|never|always|do not|don't|only|make sure|remember|prefer|instead of|from now on|todo|to do|"
    r"not yet|still (?:need|open|to)|next step)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?\n。！？]+(?:[.!?。！？](?=\S)[^.!?\n。！？]*)*[.!?。！？]?")
_SPACE = re.compile(r"\s+")
# Longer sentences, and sentences of longer messages, are content rather than instructions.
SENTENCE, READ = 240, 8_000
# So many identifiers, paths and numbers of one part have to be in a summary: of what was said, of a call, of a result.
# A result of more is data: its values are kept in the stash, and those that mattered were said or called with.
SAID, CALLED, FOUND = 200, 24, 40
# What is put back takes at most this share of what the summary stands for, or so many tokens; what was said is first.
SHARE, LEAST = 0.5, 256


def essentials(messages: Sequence[Message]) -> list[str]:
    """What a summary of messages must hold: identifiers, paths, numbers, open tasks, explicit instructions."""
    parts = [part for message in messages for part in message.parts]
    said = [fact for part in parts if part.kind == "text" for fact in facts(part.text, SAID)]
    called = [fact for part in parts if part.kind == "call" for fact in facts(part.text, CALLED)]
    found = [fact for part in parts if part.kind == "result" for fact in facts(part.text, FOUND)]
    lines = [*instructions(messages), *take_notes(messages).open, *said, *called, *found]
    return list(dict.fromkeys(line for line in lines if line))


def instructions(messages: Sequence[Message]) -> list[str]:
    """What users asked for in so many words. Example: "Use tabs. Never edit main.py." -> ["Never edit main.py."]"""
    found: list[str] = []
    for message in messages:
        if message.role != "user":
            continue
        for part in message.parts:
            if part.kind == "text" and len(part.text) <= READ:
                sentences = (match.group().strip() for match in _SENTENCE.finditer(part.text))
                found += [text for text in sentences if 0 < len(text) <= SENTENCE and _INSTRUCTION.search(text)]
    return found


def verified(summary: str, messages: Sequence[Message], count: Callable[[str], int], previous: str = "") -> str | None:
    """The summary with what it left out put back; None if it says nothing, or takes as much as what it replaces.

    Example: "Login is fixed." for messages that name order 4417 -> "Login is fixed.\\nAlso, verbatim:\\n- 4417"
    """
    text = summary.strip()
    if not text:
        return None
    said = _SPACE.sub(" ", text).casefold()
    missing = [line for line in essentials(messages) if _SPACE.sub(" ", line.removesuffix("…")).casefold() not in said]
    replaced = count(previous) + sum(count(message.text) for message in messages)
    if missing:
        missing = _within(missing, max(LEAST, int(SHARE * replaced)), count)
        lines = [line for line in missing if len(line) > 60 or " " in line]
        short = [line for line in missing if line not in lines]
        listed = [f"- {line}" for line in lines] + ([f"- {', '.join(short)}"] if short else [])
        text = "\n".join([text, PUT_BACK, *listed]) if listed else text
    return text if count(text) < replaced else None


def _within(lines: list[str], tokens: int, count: Callable[[str], int]) -> list[str]:
    """The first lines that take at most so many tokens together."""
    taken = 0
    for number, line in enumerate(lines):
        taken += count(line) + 2
        if taken > tokens:
            return lines[:number]
    return lines
