"""Sizes of requests: the provider's own number where it is known, and the tokenizer's for the rest.

A count is a number, an upper bound and where it comes from. Sizes are kept for each message, so that only what
is new in a conversation is ever tokenized.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from math import ceil
from typing import Any, Final

from brim import apis
from brim.apis.framing import Framing, framing_for
from brim.conversation import Conversation, Message, Part, Role, changed, decode
from brim.count_text import CountText
from brim.models import Model
from brim.sized_lru import SizedLru
from brim.tokens.actuals import Actuals, shared_out
from brim.tokens.calibration import Calibration, Source
from brim.tokens.observations import Observation
from brim.tokens.plausible import TELLING, frames, plausible, plausible_unknown
from brim.tokens.tokenizers import tokenizer
from brim.tokens.visible import only_text, self_contained


@dataclass(frozen=True, slots=True)
class Count:
    """The tokens of a request: the best estimate, an upper bound, and where the number comes from."""

    tokens: int
    upper: int
    source: Source
    messages: tuple[int, ...] = ()
    head: int = 0

    def __int__(self) -> int:
        return self.tokens


# Fields besides messages, system and tools that the model gets to see.
SHOWN: Final = (
    "tool_choice", "function_call", "functions", "response_format", "text", "output_config", "output_format",
    "toolConfig", "tool_config", "generationConfig", "generation_config",
)  # fmt: skip
# Values of those fields that equal the default.
USUAL: Final = frozenset({None, b"null", b'"auto"', b'{"type":"auto"}'})
# Vocabularies whose framing published counts confirm; others merely use the same API format.
VERIFIED: Final = frozenset({"o200k", "cl100k"})
LIKELY: Final = "o200k"
MEDIA: Final = frozenset({"image", "audio", "file"})
# By what factor charges for requests with images or files may differ from their counts: models round differently.
MEDIA_APART: Final = 3.0
# Typical number of messages between one usage report and the next.
TOGETHER: Final = 4
# Bytes of cached messages and heads whose sizes are known.
SIZED_BYTES: Final = 8 << 20
HEAD_BYTES: Final = 4 << 20
Sizes = tuple[int, tuple[int, ...]]
# By framing and family: what a message takes, and each of its parts.
# By bytes: a message that was parsed anew is the same, and no parsed one is kept alive.
_sizes: dict[tuple[str, str], SizedLru[bytes, Sizes]] = {}
_heads: SizedLru[tuple[Any, ...], int] = SizedLru(HEAD_BYTES)


def _stands_alone(part: Part) -> bool:
    """Whether a part is a block without text: an image, a file, or something only its API can read."""
    return not part.text and part.kind not in ("call", "thinking") and isinstance((part.at or ("",))[-1], int)


class Counter:
    """Counts requests of one API for one model."""

    def __init__(self, model: Model, api: str, actuals: Actuals | None = None) -> None:
        self.model = model
        self.api = api
        self.actuals = actuals
        self.tokenizer = tokenizer(model.family)
        self.text: CountText = self.tokenizer.count
        self.framing: Framing = framing_for(api, model.name, self.text)
        known = self.framing.verified and model.family in VERIFIED
        self.source: Source = "estimated" if not self.tokenizer.exact else "exact" if known else "reconstructed"
        # If both models are only estimated, the charges of one say nothing about the other.
        self.kin: str = model.family if self.tokenizer.exact else f"{model.family}/{model.name}"
        # For an unknown vocabulary, a known one shows how the content divides into tokens.
        self._second = None if self.tokenizer.exact else Counter(replace(model, family=LIKELY), api)
        self._frames: dict[str, int] = {}
        self._inside: tuple[tuple[int, int], int] = (
            (0, 0),
            0,
        )  # the last limit asked for, in own tokens
        self._sizes = _sizes.setdefault((self.framing.key, model.family), SizedLru(SIZED_BYTES))

    def sizes(self, message: Message) -> Sizes:
        """The tokens of a message with its frame, and of each of its parts."""
        found = self._sizes.get(message.raw)
        return found or self._sizes.put(message.raw, self._measure(message), len(message.raw) + 200)

    def measure(self, messages: Sequence[Message]) -> None:
        """Count many messages at once, so that later questions about each are answered from the cache."""
        keys, measure = [message.raw for message in messages], self._measure
        known = zip(messages, keys, self._sizes.get_all(keys), strict=True)
        self._sizes.put_all([(raw, measure(message), len(raw) + 200) for message, raw, sizes in known if not sizes])

    def _measure(self, message: Message) -> Sizes:
        if message.plain:
            tokens = self.text(message.parts[0].text)
            return self._frame(message.role) + tokens, (tokens,)
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
        media = [n for n, part in enumerate(message.parts) if _stands_alone(part)]
        if media:
            # What they take is what is missing when an empty text stands there: their frame stays with it.
            blank = {message.parts[n].at: apis.APIS[self.api].text_block("") for n in media}
            rest = total - self.framing.message(changed(value, blank))
            for n in media:
                sizes[n] = max(0, rest) // len(media)
        return total, tuple(sizes)

    def _frame(self, role: Role) -> int:
        """The tokens of a message besides its text."""
        found = self._frames.get(role)
        if found is None:
            short = apis.APIS[self.api].text_message(role, "a")
            found = self._frames[role] = self.framing.message(short) - self.text("a")
        return found

    def message(self, message: Message) -> int:
        return self.sizes(message)[0]

    def parts(self, message: Message) -> tuple[int, ...]:
        return self.sizes(message)[1]

    def head(self, conversation: Conversation) -> int:
        """The tokens around the messages: the system field, tools, framing and the priming of the answer."""
        fields = conversation.fields
        leading = None
        if conversation.tools or "functions" in fields:  # these stand in the first system message
            leading = next((message for message in conversation.messages if message.role == "system"), None)
        key = (
            self.framing.key,
            self.model.family,
            conversation.system,
            conversation.tools,
            leading,
            self.framing.loaded(conversation) if self.framing.loaded else (),
            *map(fields.get, SHOWN),
        )
        found = _heads.get(key)
        if found is not None:
            return found
        system = conversation.system
        held = len(conversation.tools or b"") + (len(system.raw) if system else 0)
        return _heads.put(key, self.framing.head(conversation), held + 500)

    def total(self, conversation: Conversation) -> int:
        """The tokenizer's number for a whole request."""
        messages, size = conversation.messages, self.sizes
        known = self._sizes.get_all([message.raw for message in messages])
        sizes = [found or size(message) for message, found in zip(messages, known, strict=True)]
        return self.head(conversation) + sum([total for total, _ in sizes])

    def count(self, conversation: Conversation) -> Count:
        """The best number for a request, with its bound."""
        head = self.head(conversation)
        sizes = [self.sizes(message)[0] for message in conversation.messages]
        known, before = self._longest(conversation)
        least = 0 if self._learnt.learnt.settled else self._learnt.upper(self.source, head + sum(sizes))
        if self.actuals is not None and known == len(sizes) > 0:
            most = max(self._learnt.upper("actual", before), least)
            return _adding_up(Count(before, most, "actual", tuple(sizes), head))
        shares = self._shares(conversation.messages[known:])
        fresh = [message for message, share in zip(conversation.messages[known:], shares, strict=True) if share is None]
        old = sum(share for share in shares if share is not None)
        learnt, number = self._learnt, len(fresh)
        if known:
            new = self._rulers(fresh)
            tokens = ceil(before + old + learnt.rest(new))
            upper = learnt.upper_rest(self.source, new, number, before) + old + learnt.upper("actual", before)
        else:
            whole = head + sum(map(self.message, fresh))
            tokens = ceil(old + learnt.factor * whole)
            upper = float(old) + learnt.upper(self.source, whole, number) + self.framing.slack(conversation)
        bound = max(tokens, least, ceil(upper + self._unsure(conversation.messages[known:], shares)))
        weighed = [
            learnt.factor * size if share is None else share for size, share in zip(sizes[known:], shares, strict=True)
        ]
        counted = Count(tokens, bound, "actual" if known else self.source, tuple(sizes), head)
        return _adding_up(counted, known, before, weighed, learnt.factor)

    def likely(self, conversation: Conversation) -> int:
        """The number to show for a request: an estimate corrected by everything learned about the model."""
        return self.count(conversation).tokens if self.source == "estimated" else self.total(conversation)

    def corrected(self, tokens: int) -> int:
        """The most likely number of the provider's tokens for this many of the counter's."""
        return ceil(self._learnt.factor * tokens) if self.source == "estimated" else tokens

    def within(self, limit: int) -> int:
        """The most tokens of this counter whose upper bound is within a limit of the provider's.

        Example: an estimate that is twice too high, within 1_000 -> about 2_000
        """
        if limit <= 0:
            return limit
        key = (limit, self.actuals.version if self.actuals is not None else 0)
        if self._inside[0] != key:
            self._inside = key, self._within(limit)
        return self._inside[1]

    def _within(self, limit: int) -> int:
        low, high = 0, max(1, limit)
        while self.upper(high, 0) <= limit:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.upper(middle, 0) <= limit else (low, middle)
        # Rarely seen sizes have more headroom, so a smaller request may have a higher bound.
        below = [low * share // 50 for share in range(25, 51)]
        over = next((tokens for tokens in below if self.upper(tokens, 0) > limit), low + 1)
        return max(0, min(low, over - 1))

    def _rulers(self, messages: Sequence[Message]) -> tuple[int, int | None]:
        """What messages take by themselves, according to this counter and the second one."""
        second = None if self._second is None else sum(map(self._second.message, messages))
        return sum(map(self.message, messages)), second

    def upper(self, tokens: int, messages: int) -> int:
        """The most that a request with this count can take, according to what is known of the model."""
        return self._learnt.upper(self.source, tokens, messages)

    @property
    def _learnt(self) -> Calibration:
        return self.actuals.calibration(self.kin) if self.actuals is not None else Calibration()

    def _longest(self, conversation: Conversation) -> tuple[int, int]:
        """The longest prefix with a known number that agrees with what is known of the vocabulary."""
        if self.actuals is None:
            return 0, 0
        known, before = self.actuals.longest(self._line(conversation), conversation.prefix_digests())
        if not known:
            return 0, 0
        seen = self._observed(replace(conversation, messages=conversation.messages[:known]), before)
        return (known, before) if self._learnt.believes(seen) or not only_text(conversation) else (0, 0)

    def _observed(self, conversation: Conversation, actual: int) -> Observation:
        other = 0 if self._second is None else self._second.total(conversation)
        return Observation(self.total(conversation), other, len(conversation.messages), actual)

    def _line(self, conversation: Conversation) -> str:
        """What a prefix's number holds for: requests of this kin that show the model the same settings.

        Media are charged by model, not by vocabulary.
        """
        line = self.kin
        if any(part.kind in MEDIA for message in conversation.messages for part in message.parts):
            line += f"#{self.model.name}"
        fields = conversation.fields
        shown: list[tuple[str, object]] = [(name, fields[name]) for name in SHOWN if fields.get(name) not in USUAL]
        shown += self.framing.loaded(conversation) if self.framing.loaded else ()
        return f"{line}#{sha256(repr(shown).encode()).hexdigest()}" if shown else line

    def _shares(self, messages: tuple[Message, ...]) -> list[int | None]:
        """What each message took by itself, where a total could be divided."""
        if self.actuals is None:
            return [None] * len(messages)
        return [self.actuals.share(self._kin_of(message), message.digest) for message in messages]

    def _kin_of(self, message: Message) -> str:
        return f"{self.kin}#{self.model.name}" if any(part.kind in MEDIA for part in message.parts) else self.kin

    def _unsure(self, messages: Sequence[Message], shares: Sequence[int | None]) -> float:
        """What shares may be too low by where a total was shared out over messages that are not all here.

        Those stand next to a message that is new, or to the end of the known prefix.
        """
        if all(share is None for share in shares):
            return 0.0
        new = [-1, *(n for n, share in enumerate(shares) if share is None)]
        near = {n for at in new for n in range(at - TOGETHER, at + TOGETHER + 1)}
        unsure = [message for n, message in enumerate(messages) if n in near and shares[n] is not None]
        sizes, learnt = self._rulers(unsure), self._learnt
        likely = learnt.rest(sizes)
        return learnt.upper_rest(self.source, sizes, len(unsure), likely) - likely

    def wanted(self, conversation: Conversation) -> list[bytes]:
        """The keys of all the sizes that counting a request needs, so that one call can load them."""
        if self.actuals is None:
            return []
        messages = [(self._kin_of(message), message.digest) for message in conversation.messages]
        return self.actuals.keys(self.kin, self._line(conversation), conversation.prefix_digests(), messages)

    def refresh(self) -> None:
        """Load what was learned, if nothing was available before."""
        if self.actuals is not None:
            self.actuals.refresh(self.kin)

    def record(self, conversation: Conversation, actual: int) -> bool:
        """Keep the usage that the provider reported for this request, and learn from how far the count was off.

        Returns whether it was believed: only what a tokenizer can have made of the visible request is.
        """
        if self.actuals is None:
            self.actuals = Actuals()
        if not conversation.messages or not self.believable(conversation, actual):
            return False
        known, before = self._longest(conversation)
        line, chain = self._line(conversation), conversation.prefix_digests()
        if only_text(conversation):
            self._learn(conversation, actual, known, before)
            self.actuals.save(self.kin)
            sizes = [self.sizes(message)[0] for message in conversation.messages]
            digests = [(self._kin_of(message), message.digest) for message in conversation.messages]
            self.actuals.keep(line, chain, digests, sizes, self.head(conversation), actual)
        else:  # what images and files take is known of this prompt, and says nothing of any message by itself
            self.actuals.keep(line, chain, (), (), 0, actual)
        return True

    def believable(self, conversation: Conversation, actual: int) -> bool:
        """Whether everything charged for is in the request, and a tokenizer could produce that many tokens from it."""
        if not self_contained(conversation):
            return False
        seen = self._observed(conversation, actual)
        if not only_text(conversation):
            return seen.own / MEDIA_APART <= actual <= seen.own * MEDIA_APART + frames(seen.messages)
        size = sum(len(message.raw) for message in conversation.messages) + sum(map(len, _around(conversation)))
        if self._second is not None:
            return plausible_unknown(seen.other, seen.messages, size, actual)
        return plausible(self.model.family, seen.own, seen.messages, size, actual)

    def _learn(self, conversation: Conversation, actual: int, known: int, before: int) -> None:
        messages, learnt = conversation.messages, self._learnt
        whole = self._observed(conversation, actual)
        agrees = learnt.believes(whole)
        if whole.own >= TELLING:
            learnt.learn_whole((whole.own, whole.other or None), whole.messages, actual)
        if not agrees or not known:
            return
        if known == len(messages):
            learnt.learn_repeat(before, actual)
            return
        shares = self._shares(messages[known:])
        fresh = [message for message, share in zip(messages[known:], shares, strict=True) if share is None]
        old = sum(share for share in shares if share is not None)
        own, other = self._rulers(fresh)
        took, size = actual - before - old, sum(len(message.raw) for message in fresh)
        if other is None and plausible(self.model.family, own, len(fresh), size, took):
            learnt.learn_rest((own, None), len(fresh), took)
        elif other is not None and plausible_unknown(other, len(fresh), size, took):
            learnt.learn_rest((own, other), len(fresh), took)

    def text_message(self, api: str, role: Role, text: str) -> Message:
        return apis.text_message(api, role, text)


def _around(conversation: Conversation) -> list[bytes]:
    """The bytes of what a model sees besides the messages."""
    system, fields = conversation.system, conversation.fields
    shown = [fields[name] for name in SHOWN if name in fields]
    return [conversation.tools or b"", system.raw if system else b"", *shown]


def _adding_up(
    count: Count, known: int | None = None, before: int = 0, weighed: Sequence[float] = (), factor: float = 1.0
) -> Count:
    """A count whose head and messages add up to its tokens.

    The first `known` messages and the head took `before`; what the others are likely to take is `weighed`.
    """
    if count.head + sum(count.messages) == count.tokens:
        return count
    known = len(count.messages) if known is None else known
    front: list[float] = [count.head, *count.messages[:known]]
    if known:
        parts = _parted(before or count.tokens, front) + _parted(count.tokens - (before or count.tokens), weighed)
    else:
        parts = _parted(count.tokens, [factor * count.head, *weighed])
    return replace(count, head=parts[0], messages=tuple(parts[1:]))


def _parted(total: int, weights: Sequence[float]) -> list[int]:
    """Integers proportional to the weights that sum to the total; the first gets everything if all weights are 0."""
    return shared_out(total, weights) or [total, *([0] * (len(weights) - 1))][: len(weights)]
