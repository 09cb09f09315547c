"""A provider whose true counts are hidden: Brim predicts, the provider charges, Brim learns.

A tool chat of sixty turns with two edits and a branch is played against it. Tests and the benchmark of counting use
the same one.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import brim
from brim import apis, models
from brim.models import Model
from brim.tokens.counter import Counter
from brim.tokens.tokenizers import tokenizer

Messages = list[dict[str, Any]]
Truth = Callable[[Messages], int]

TURNS = 60
WORDS = (
    "the order was shipped yesterday and customers in Berlin asked whether a refund is possible because their parcel "
    "arrived broken please check invoice status then tell me which of these accounts has been locked since Monday"
).split()
CODE = "def total(rows: list[Row]) -> int:\n    return sum(row.amount for row in rows if not row.cancelled)\n"
CJK = "注文は昨日発送されましたが、箱が壊れていたため返金を希望しています。"
SYSTEM = "You are the support assistant of a shop. Be brief, check facts with the tools, never guess. " * 5


def prose(rnd: random.Random, words: int) -> str:
    return " ".join(rnd.choices(WORDS, k=words)).capitalize() + "."


def result(rnd: random.Random, turn: int) -> str:
    """What a tool gives back: records, code, a log, or another script."""
    kind = rnd.choice(("records", "records", "code", "log", "script"))
    if kind == "records":
        rows = [
            {"id": rnd.randrange(10**6), "email": f"user{n}@example.com", "total": round(rnd.uniform(1, 900), 2)}
            for n in range(rnd.randrange(2, 40))
        ]
        return json.dumps({"turn": turn, "rows": rows})
    if kind == "code":
        return CODE * rnd.randrange(1, 12)
    if kind == "log":
        return "\n".join(
            f"2026-03-{rnd.randrange(1, 28):02} 12:00:0{n % 10} ERROR worker-{n}: {prose(rnd, 6)}"
            for n in range(rnd.randrange(2, 25))
        )
    return CJK * rnd.randrange(1, 10)


def turn_messages(rnd: random.Random, turn: int) -> list[Messages]:
    """One turn, as what each of its requests adds: the question; the call with its result; the answer comes last."""
    call = {
        "id": f"call_{turn}",
        "type": "function",
        "function": {"name": "look_up", "arguments": json.dumps({"query": prose(rnd, 4), "limit": turn})},
    }
    return [
        [{"role": "user", "content": prose(rnd, rnd.choice((3, 12, 60)))}],
        [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call_{turn}", "content": result(rnd, turn)},
        ],
        [{"role": "assistant", "content": prose(rnd, rnd.choice((8, 40, 150)))}],
    ]


def requests(seed: int, turns: int = TURNS) -> Iterator[tuple[int, Messages]]:
    """The requests of a chat with their turns: a third in, an early question is edited and all after it kept; at two
    thirds a tool result is edited; near the end the chat goes back to its middle and branches from there.
    """
    rnd = random.Random(seed)
    messages: Messages = [{"role": "system", "content": SYSTEM}]
    for turn in range(1, turns + 1):
        if turn == turns // 3:
            _edit(messages, "user", 3, prose(rnd, 30))
        elif turn == turns * 2 // 3:
            _edit(messages, "tool", turns // 3, result(rnd, turn))
        elif turn == turns * 5 // 6:
            del messages[1 + 4 * (turns // 2) :]
        for added in turn_messages(rnd, turn):
            messages.extend(added)
            if added[-1]["role"] != "assistant":
                yield turn, list(messages)


def _edit(messages: Messages, role: str, number: int, text: str) -> None:
    place = [n for n, message in enumerate(messages) if message["role"] == role][number]
    messages[place] = {**messages[place], "content": text}


@dataclass(frozen=True)
class Played:
    """How a chat went: predicted bounds below the truth, and the mean over-estimate after the third turn."""

    requests: int
    under: int
    worst_under: float
    mean_over: float


def play(model: Model, truth: Truth, seed: int, turns: int = TURNS) -> Played:
    """Play a chat against a provider that charges `truth`."""
    actuals = brim.Actuals()
    counter = Counter(model, "openai_chat", actuals)
    over: list[float] = []
    under: list[float] = []
    number = 0
    for turn, messages in requests(seed, turns):
        number += 1
        predicted, true = brim.count(messages, model=model, actuals=actuals), truth(messages)
        error = predicted.upper / true - 1
        if error < 0:
            under.append(error)
        if turn > 3:
            over.append(error)
        counter.record(apis.parse(messages), true)
    return Played(number, len(under), min(under, default=0.0), sum(over) / len(over))


def exact_with_offset(offset: int) -> tuple[Model, Truth]:
    """The vocabulary that Brim knows, and something before every prompt that it does not."""
    model = models.find("gpt-4o")
    counter = Counter(model, "openai_chat")
    return model, lambda messages: counter.total(apis.parse(messages)) + offset


def exact_with_overhead(each: int) -> tuple[Model, Truth]:
    """The vocabulary that Brim knows, and another frame around every message."""
    model = models.find("gpt-4o")
    counter = Counter(model, "openai_chat")
    return model, lambda messages: counter.total(apis.parse(messages)) + each * len(messages)


def reconstructed_with_noise(most: float) -> tuple[Model, Truth]:
    """Claude as Brim rebuilt it, with each message up to so much above, as its content has it."""
    model = models.find("claude-sonnet-4-5")
    counter = Counter(model, "openai_chat")

    def truth(messages: Messages) -> int:
        conversation = apis.parse(messages)
        noisy = (counter.message(one) * (1 + most * one.digest[0] / 255) for one in conversation.messages)
        return round(counter.head(conversation) + sum(noisy))

    return model, truth


def vocabulary(family: str, each: int, ratio: float = 1.0) -> Truth:
    """Counts with a vocabulary, every text finer or coarser by a ratio, and so many tokens around a message."""
    count = tokenizer(family)

    def truth(messages: Messages) -> int:
        texts = (
            (one.get("content") or "") + "".join(call["function"]["arguments"] for call in one.get("tool_calls", ()))
            for one in messages
        )
        return round(sum(each + ratio * count(text) for text in texts))

    return truth


def estimated(family: str, ratio: float) -> tuple[Model, Truth]:
    """A model whose vocabulary Brim does not have."""
    model = Model("acme-1", "acme", 200_000, 8_000, "estimate", None, "openai_chat", "test")
    return model, vocabulary(family, 5, ratio)


PROVIDERS: dict[str, tuple[Model, Truth]] = {}


def providers() -> dict[str, tuple[Model, Truth]]:
    """Every hidden provider by name."""
    if not PROVIDERS:
        PROVIDERS.update({f"exact, {n} tokens before every prompt": exact_with_offset(n) for n in (4, 20)})
        PROVIDERS.update({f"exact, {n:+} tokens a message": exact_with_overhead(n) for n in (-2, 2, 6)})
        PROVIDERS["reconstructed, up to 3% more by content"] = reconstructed_with_noise(0.03)
        PROVIDERS.update({f"estimated, {r} of o200k": estimated("o200k", r) for r in (0.8, 1.0, 1.3)})
        PROVIDERS.update({f"estimated, {r} of the estimate": estimated("estimate", r) for r in (0.6, 1.0)})
        PROVIDERS["estimated, in truth llama-3"] = estimated("llama-3", 1.0)
        # A server that says it is one model and counts as another.
        PROVIDERS["another vocabulary, llama-3"] = models.find("gpt-4o"), vocabulary("llama-3", 5)
    return PROVIDERS
