"""Chats of a wanted size, and summarisers that tell what they were asked."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import brim
from brim import apis, models
from brim.conversation import Message
from brim.tokens.counter import Counter

MODEL = "gpt-4o"
SYSTEM = {"role": "system", "content": "You are a careful assistant."}
SUBJECTS = "fox wizard river lantern harbour violin orchard compass glacier baker meadow captain teapot owl".split()
VERBS = "watches carries follows paints forgets repairs greets borrows hides measures hears folds".split()
PLACES = "mountain library kitchen market bridge cellar garden tower station valley island workshop".split()


def words(characters: int, tag: str = "") -> str:
    """Prose of so many characters, no two sentences alike for long, that starts and ends with a tag."""
    order = random.Random(f"{characters} {tag}")
    made: list[str] = []
    size = 2 * len(tag)
    while size < characters:
        pick = order.choice
        made.append(f"The {pick(SUBJECTS)} {pick(VERBS)} the {pick(SUBJECTS)} near the {pick(PLACES)}. ")
        size += len(made[-1])
    return f"{tag}{''.join(made)[: max(0, characters - 2 * len(tag))]}{tag}"


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def chat(turns: int, characters: int, ask: str = "And what now?") -> list[dict[str, Any]]:
    """So many complete turns, each message tagged and of so many characters, and then the current message."""
    found: list[dict[str, Any]] = []
    for n in range(turns):
        found += [user(words(characters, f"[q{n}]")), assistant(words(characters, f"[a{n}]"))]
    return [*found, user(ask)]


def size(messages: Any, model: str = MODEL, api: str | None = None) -> int:
    conversation = apis.parse(messages, api, model=model)
    return Counter(models.find(model), conversation.api).total(conversation)


def texts(fitted: brim.Fitted) -> list[str]:
    return [message.text for message in fitted.conversation.messages]


class Stub:
    """A summariser that keeps what it was asked."""

    def __init__(self, reply: str = "They talked about foxes.") -> None:
        self.reply = reply
        self.asked: list[tuple[list[str], str, int]] = []

    def __call__(self, messages: Sequence[Message], previous: str, tokens: int) -> str:
        self.asked.append(([message.text for message in messages], previous, tokens))
        return self.reply


def failing(messages: Sequence[Message], previous: str, tokens: int) -> str:
    raise ConnectionError("the model is away")
