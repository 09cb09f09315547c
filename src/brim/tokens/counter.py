"""Sizes of requests: the provider's own number where it is known, the tokenizer's for the rest.

A count is a number, an upper bound and where it comes from. Sizes are kept for each message, so that only what
is new in a conversation is ever tokenized.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Any

from brim import wire
from brim.catalog import Model
from brim.conversation import Conversation, Message, Role, decode
from brim.recent import Recent
from brim.tokens.actuals import MARGINS, Actuals, Source
from brim.tokens.frames import Framing, framing_for
from brim.tokens.tokenizers import tokenizer


@dataclass(frozen=True, slots=True)
class Count:
    """How many tokens a request takes: the best number, a bound that the truth does not pass, and the source."""

    tokens: int
    upper: int
    source: Source
    messages: tuple[int, ...] = ()
    head: int = 0

    def __int__(self) -> int:
        return self.tokens


# The fields beside messages, system and tools that a model is shown.
SHOWN = ("tool_choice", "function_call", "functions", "response_format", "text", "toolConfig", "tool_config")
Sizes = tuple[int, tuple[int, ...]]
# By framing and family: what a message takes, and each of its parts.
_sizes: dict[tuple[str, str], Recent[Message, Sizes]] = {}
_heads: Recent[tuple[Any, ...], int] = Recent(4096)


class Counter:
    """Counts requests of one API for one model."""

    def __init__(self, model: Model, api: str, actuals: Actuals | None = None) -> None:
        self.model = model
        self.api = api
        self.actuals = actuals
        self.tokenizer = tokenizer(model.family)
        self.text: Callable[[str], int] = self.tokenizer
        self.framing: Framing = framing_for(api, model.name, self.text)
        self.source: Source = (
            "estimated" if not self.tokenizer.exact else "exact" if self.framing.verified else "reconstructed"
        )
        self._frames: dict[str, int] = {}
        self._sizes = _sizes.setdefault((self.framing.key, model.family), Recent(400_000))

    def sizes(self, message: Message) -> Sizes:
        """What a message takes with its frame, and what each of its parts takes."""
        found = self._sizes.get(message)
        return found or self._sizes.put(message, self._measure(message))

    def _measure(self, message: Message) -> Sizes:
        if message.role == "system" and message.raw[:1] != b"{":  # a field of the request, counted in its head
            counts = tuple(self.text(part.text) for part in message.parts)
            return sum(counts), counts
        value = decode(message.raw)
        total = self.framing.message(value)
        texts = [part for part in message.parts if part.text]
        if len(message.parts) == 1 and texts and message.parts[0].kind == "text":
            # One text: what is not frame is text, and it need not be tokenized twice.
            return total, (max(0, total - self._frame(message.role)),)
        sizes = [self.text(part.text) if part.text else 0 for part in message.parts]
        rest = total - self._frame(message.role) - sum(sizes)
        media = [n for n, part in enumerate(message.parts) if not part.text and part.kind not in ("call", "thinking")]
        if media and rest > 0:
            for n in media:
                sizes[n] = rest // len(media)
        return total, tuple(sizes)

    def _frame(self, role: Role) -> int:
        """What a message takes that says nothing."""
        found = self._frames.get(role)
        if found is None:
            found = self._frames[role] = self.framing.message(wire.APIS[self.api].text_message(role, ""))
        return found

    def message(self, message: Message) -> int:
        return self.sizes(message)[0]

    def parts(self, message: Message) -> tuple[int, ...]:
        return self.sizes(message)[1]

    def head(self, conversation: Conversation) -> int:
        """What stands around the messages: the system field, tools, framing and the priming of the answer."""
        fields = conversation.fields
        leading = next((message for message in conversation.messages if message.role == "system"), None)
        key = (
            self.framing.key,
            self.model.family,
            conversation.system,
            conversation.tools,
            leading if conversation.tools or "functions" in fields else None,
            *(fields.get(name) for name in SHOWN),
        )
        found = _heads.get(key)
        return found if found is not None else _heads.put(key, self.framing.head(conversation))

    def total(self, conversation: Conversation) -> int:
        """The tokenizer's number for a whole request."""
        size = self.sizes
        return self.head(conversation) + sum([size(message)[0] for message in conversation.messages])

    def count(self, conversation: Conversation) -> Count:
        """The best number for a request, with its bound."""
        head = self.head(conversation)
        sizes = [self.sizes(message)[0] for message in conversation.messages]
        whole = head + sum(sizes)
        number = len(sizes) + 1
        if self.actuals is None:
            return self._count(whole, number, sizes, head, self.framing.slack(conversation))
        known, before = self.actuals.longest(self.model.family, conversation.prefix_digests())
        learnt = self.actuals.calibration(self.model.family)
        if not known:
            tokens = whole if self.tokenizer.exact else ceil(whole * learnt.factor)
            return self._count(tokens, number, sizes, head, self.framing.slack(conversation))
        rest = self._rest(conversation.messages[known:], sizes[known:])
        upper = learnt.upper("actual", before, 0)
        if len(sizes) > known:
            upper += learnt.upper(self.source, rest, len(sizes) - known)
        return Count(ceil(before + rest), upper, "actual", tuple(sizes), head)

    def _rest(self, messages: tuple[Message, ...], sizes: list[int]) -> float:
        """Messages after the known prefix: what a total was shared out to, else the tokenizer's number."""
        assert self.actuals is not None
        family = self.model.family
        factor = 1.0 if self.tokenizer.exact else self.actuals.calibration(family).factor
        shares = (self.actuals.share(family, message.digest) for message in messages)
        return sum(size * factor if share is None else share for share, size in zip(shares, sizes, strict=True))

    def _count(self, tokens: int, number: int, sizes: list[int], head: int, slack: int) -> Count:
        if self.actuals is None:
            upper = ceil(tokens * (1 + MARGINS[self.source]))
        else:
            upper = self.actuals.calibration(self.model.family).upper(self.source, tokens, number)
        return Count(tokens, upper + slack, self.source, tuple(sizes), head)

    def record(self, conversation: Conversation, actual: int) -> None:
        """Keep what the provider says this request took, and learn from how far the count was off."""
        if self.actuals is None:
            self.actuals = Actuals()
        family = self.model.family
        chain = conversation.prefix_digests()
        sizes = [self.sizes(message)[0] for message in conversation.messages]
        known, before = self.actuals.longest(family, chain)
        learnt = self.actuals.calibration(family)
        if known == len(sizes) and known:
            learnt.learn("actual", before, actual, 0)
        elif known:
            rest = self._rest(conversation.messages[known:], sizes[known:])
            learnt.learn(self.source, rest, actual - before, len(sizes) - known)
            learnt.learn("actual", before + rest, actual, len(sizes))
        else:
            whole = self.head(conversation) + sum(sizes)
            factor = 1.0 if self.tokenizer.exact else learnt.factor
            learnt.learn(self.source, whole * factor, actual, len(sizes) + 1)
        if not self.tokenizer.exact:
            learnt.correct(self.head(conversation) + sum(sizes), actual)
        self.actuals.keep(family, chain, [message.digest for message in conversation.messages], sizes, actual)

    def text_message(self, api: str, role: Role, text: str) -> Message:
        return wire.text_message(api, role, text)
