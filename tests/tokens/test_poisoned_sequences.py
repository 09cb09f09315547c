"""Random sequences of true and absurd usage reports: what is learnt must be what the true ones say.

`make poisoned` plays 500 sequences of every vocabulary; the suite plays a few. `BRIM_POISONED` is the number.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import brim
from brim import apis, models
from brim.models import Model
from brim.stores.resilient import ResilientStore, open_store
from brim.tokens.actuals import InMemory
from brim.tokens.counter import Counter
from tests.hidden_provider import CJK, CODE, Messages, Truth, prose, vocabulary

SEQUENCES = int(os.environ.get("BRIM_POISONED", "8"))
FILES = 8
# How far a fit may be from that of a gateway that saw only the true reports.
APART = 0.03


def known(family: str, window: int) -> Model:
    return Model("known-1", "acme", window, None, family, None, "openai_chat", "test")


@dataclass(frozen=True)
class Provider:
    """What Brim takes the model's vocabulary for, and what the provider charges."""

    family: str
    truth: Callable[[], Truth]


def framed(family: str, each: int) -> Truth:
    counter = Counter(known(family, 8_000), "openai_chat")
    return lambda messages: counter.total(apis.parse(messages)) + each * len(messages)


def noisy(most: float) -> Truth:
    """Claude as Brim counts it, each message up to so much above, as its content has it."""
    counter = Counter(models.find("claude-sonnet-4-5"), "openai_chat")

    def truth(messages: Messages) -> int:
        parsed = apis.parse(messages)
        sizes = (counter.message(one) * (1 + most * one.digest[0] / 255) for one in parsed.messages)
        return round(counter.head(parsed) + sum(sizes))

    return truth


PROVIDERS = {
    "exact": Provider("o200k", lambda: framed("o200k", 0)),
    "exact, 3 more a message": Provider("o200k", lambda: framed("o200k", 3)),
    "reconstructed, up to 3% more": Provider("claude-3", lambda: noisy(0.03)),
    "unknown, in truth llama-3": Provider("estimate", lambda: vocabulary("llama-3", 5)),
    "unknown, in truth 1.3 of o200k": Provider("estimate", lambda: vocabulary("o200k", 4, 1.3)),
    "unknown, in truth 0.6 of the estimate": Provider("estimate", lambda: vocabulary("estimate", 5, 0.6)),
}


def text(rnd: random.Random) -> str:
    kind = rnd.randrange(8)
    if kind == 0:
        return CODE * rnd.randrange(1, 6)
    return CJK * rnd.randrange(1, 4) if kind == 1 else prose(rnd, rnd.randrange(5, 120))


def chat(rnd: random.Random, messages: int) -> Messages:
    said: Messages = [{"role": ("user", "assistant")[n % 2], "content": text(rnd)} for n in range(messages)]
    return [*said, {"role": "user", "content": "And now?"}] if messages % 2 == 0 else said


def absurd(rnd: random.Random, true: int) -> tuple[dict[str, Any], int]:
    """What a report that is not about the visible text says, and what the request then had beside it."""
    hidden = rnd.choice(({}, {}, {"previous_response_id": "resp_1"}, {"plugins": [{"id": "web"}]}))
    if hidden:
        return hidden, round(true * rnd.uniform(0.5, 60))
    wild = rnd.choice((1, 0, -5, 60_000, 10**9, round(true * rnd.uniform(3, 900)), round(true * rnd.uniform(0, 0.3))))
    mild = rnd.choice((round(true * rnd.uniform(1.6, 3)), round(true * rnd.uniform(0.3, 0.62))))
    return {}, rnd.choice((wild, mild))


class Played:
    """One sequence: a poisoned set of numbers and one that only ever saw true reports, each on a store of its own."""

    def __init__(self, provider: Provider, seed: int, folder: Path) -> None:
        self.rnd = random.Random(seed)
        self.model = known(provider.family, self.rnd.choice((2_500, 4_000, 8_000)))
        self.truth = provider.truth()
        # A file takes most of the time: some sequences have one, the others a store that lives on.
        on_disk = seed % FILES == 0
        self.paths = [folder / f"{seed}-{name}.db" for name in ("poisoned", "clean")] if on_disk else []
        self.stores: list[Any] = [InMemory(), InMemory()]
        self.restart()

    def restart(self) -> None:
        if self.paths:
            self.close()
            self.stores = [open_store(path) for path in self.paths]
        self.poisoned, self.clean = (brim.Actuals(store, "upstream") for store in self.stores)

    def close(self) -> None:
        for store in self.stores if self.paths else ():
            if isinstance(store, ResilientStore):
                store.close()

    def report(self, share: float) -> None:
        """Report a request, or the next one of a chat that was reported before, truly or not."""
        messages = chat(self.rnd, self.rnd.choice((1, 3, 8, 20, 40)))
        for end in (len(messages), len(messages) + 2):
            said = messages if end == len(messages) else [*messages, *chat(self.rnd, 2)[:2]]
            true = self.truth(said)
            if self.rnd.random() < share:
                fields, told = absurd(self.rnd, true)
                self.record(self.poisoned, said, told, **fields)
            else:
                self.record(self.poisoned, said, true)
                self.record(self.clean, said, true)

    def record(self, actuals: brim.Actuals, messages: Messages, tokens: int, **fields: Any) -> None:
        body = {"messages": messages, **fields}
        Counter(self.model, "openai_chat", actuals).record(apis.parse(body, "openai_chat"), tokens)

    def fitted(self, actuals: brim.Actuals, messages: Messages) -> int:
        """What the provider makes of a chat as it is fitted to its window."""
        return self.truth(brim.fit(messages, model=self.model, actuals=actuals, reserve=0).messages)


@pytest.mark.parametrize("name", PROVIDERS)
def test_absurd_reports_change_no_fit_and_no_fit_passes_the_window(name: str, tmp_path: Path) -> None:
    for seed in range(SEQUENCES):
        played = Played(PROVIDERS[name], seed, tmp_path)
        rnd, window = played.rnd, played.model.window
        share = rnd.uniform(0.05, 0.4)
        for _ in range(rnd.randrange(8, 24)):
            played.report(share)
            if rnd.random() < 0.15:
                played.restart()
        messages = chat(rnd, 60 if window < 5_000 else 120)
        poisoned, clean = (played.fitted(actuals, messages) for actuals in (played.poisoned, played.clean))
        played.close()
        assert poisoned <= window, (seed, poisoned, window)
        assert abs(poisoned - clean) <= APART * window, (seed, poisoned, clean, window)
