"""What a planner is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from brim.content.passages import guessed_tokens
from brim.conversation import Conversation, Message
from brim.errors import BudgetTooSmall
from brim.models import Model
from brim.pins import pinned
from brim.planning.attachments import Attachment
from brim.planning.items import current
from brim.planning.policies.policy import Policy
from brim.tokens.counter import Counter

# Makes a summary of messages in at most so many tokens; the earlier summary comes first. May raise.
Summarize = Callable[[Sequence[Message], str, int], str]
QUERY = 4_000
# So many messages are counted before it is asked whether they are too many.
TOGETHER = 64
# Texts of more characters are guessed before they are counted, and over the limit if they are so many times it.
HUGE, SURELY = 200_000, 2.0


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """A request, its limit, and the policy that brings it there."""

    conversation: Conversation
    counter: Counter
    model: Model
    policy: Policy
    limit: int
    own_limit: bool
    recall: bool = False
    summarize: Summarize | None = None
    context: tuple[Attachment, ...] = ()
    carried: tuple[Attachment, ...] = ()
    pins: frozenset[bytes] = frozenset()  # the digests of messages that stay verbatim
    # The limit as it was stated, in the provider's tokens, where `limit` is in those of an estimate.
    stated: int | None = None

    def at(self, limit: int) -> PlanRequest:
        return replace(self, limit=limit, own_limit=False)

    def by_estimate(self) -> PlanRequest:
        """The same request with a limit in the counter's own tokens, where those are only estimated.

        Planning then has one kind of token; the provider's come back where numbers are shown.
        """
        if self.counter.source != "estimated":
            return self
        return replace(self, limit=self.counter.within(self.limit), stated=self.limit)

    def pinned(self, messages: Sequence[Message]) -> frozenset[int]:
        """Which of some messages stay verbatim."""
        return pinned(messages, self.pins, self.policy.pin)

    @property
    def stated_limit(self) -> int:
        return self.limit if self.stated is None else self.stated

    def refusal(self, found: BudgetTooSmall) -> BudgetTooSmall:
        """A refusal in the provider's tokens."""
        if self.stated is None:
            return found
        must_stay = [(what, self.counter.corrected(tokens)) for what, tokens in found.must_stay]
        needed = self.counter.upper(found.needed, len(self.conversation.messages))
        return BudgetTooSmall(max(needed, self.stated + 1), self.stated, must_stay)

    def size(self, tokens: int) -> int:
        """What counts against the limit."""
        if self.stated is not None:
            return tokens
        return size_of(self.counter, tokens, len(self.conversation.messages), self.own_limit)

    def total(self, conversation: Conversation) -> int:
        return self.size(self.counter.total(conversation))

    def fits(self, conversation: Conversation) -> bool:
        """Whether a conversation is within the limit: it is counted from its end, and only until that is known."""
        messages, size = conversation.messages, self.counter.message
        if self._surely_over(conversation):
            return False
        tokens = self.counter.head(conversation)
        for end in range(len(messages), 0, -TOGETHER):
            tokens += sum([size(message) for message in messages[max(0, end - TOGETHER) : end]])
            if self.size(tokens) > self.limit:
                return False
        return self.size(tokens) <= self.limit

    def _surely_over(self, conversation: Conversation) -> bool:
        """Whether long texts alone are guessed to be twice the limit: counting millions of tokens takes seconds."""
        messages = (*conversation.messages, *([conversation.system] if conversation.system else []))
        texts = [part.text for message in messages for part in message.parts if len(part.text) > HUGE]
        if sum(map(len, texts)) <= SURELY * self.limit:
            return False
        return sum(guessed_tokens(text, self.counter.text) for text in texts) > SURELY * self.limit


def size_of(counter: Counter, tokens: int, messages: int, own_limit: bool) -> int:
    """What counts against a limit.

    A budget is a number of tokens as Brim counts them. The model's own window is the provider's: there, and
    where the tokenizer is only estimated, the upper bound counts.
    """
    return tokens if not own_limit and counter.source != "estimated" else counter.upper(tokens, messages)


def query_of(conversation: Conversation) -> str:
    """What the current message asks: its own words first, and not all of what was pasted into it."""
    messages = conversation.messages
    if not messages:
        return ""
    text = messages[current(messages)].text
    return text if len(text) <= QUERY else text[: QUERY // 2] + "\n" + text[-QUERY // 2 :]
