"""Tokens by layer, with details for the history and the current message, and the tokens no plan can shorten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from brim.content.detect.blocks import blocks
from brim.conversation import Conversation, Message
from brim.planning.draft import ADDED, Draft
from brim.planning.items import SYSTEM, Itemizer, current
from brim.planning.plan import Plan
from brim.planning.policies import rolling
from brim.planning.reports.decisions import LayerUse, layer_uses
from brim.planning.request import PlanRequest
from brim.summaries.deterministic import HEADER
from brim.tokens.actuals import shared_out
from brim.tokens.counter import Counter

# Prefixes of messages in the user's role that aren't the user's: context, recalls and summaries.
BESIDE = ("<context ", "<prior_context ", rolling.CONTEXT[:20], "[Brim")
RECALLED = "[Brim recalls"
SUMMARIES = (rolling.PREFIX, HEADER, "[Brim's summary")


@dataclass(slots=True)
class _Sizes:
    """The tokens of the five layers, and of parts of some."""

    layers: list[int] = field(default_factory=lambda: [0] * 5)
    parts: dict[int, dict[str, int]] = field(default_factory=dict)

    def add(self, layer: int, tokens: int, name: str = "") -> None:
        self.layers[layer - 1] += tokens
        if name:
            named = self.parts.setdefault(layer, {})
            named[name] = named.get(name, 0) + tokens

    def adding_up(self, total: int) -> _Sizes:
        """The same, scaled to a total in other tokens."""
        layers = self.layers if sum(self.layers) == total else shared_out(total, self.layers) or self.layers
        parts = {}
        for layer, named in self.parts.items():
            shared = shared_out(layers[layer - 1], list(named.values())) or list(named.values())
            parts[layer] = dict(zip(named, shared, strict=True))
        return _Sizes(layers, parts)


def layer_rows(request: PlanRequest, given: Draft, plan: Plan, before: int, after: int) -> tuple[LayerUse, ...]:
    """The layers before and after, scaled to these totals."""
    known, sent = known_layers(plan), plan.conversation
    old = _sizes(request, given.conversation, given.layers, set()).adding_up(before)
    new = _sizes(request, sent, known, _made(plan), _pasted(plan)).adding_up(after)
    parts = {
        layer: {
            name: (old.parts.get(layer, {}).get(name, 0), new.parts.get(layer, {}).get(name, 0))
            for name in {**old.parts.get(layer, {}), **new.parts.get(layer, {})}
        }
        for layer in (4, 5)
    }
    return layer_uses(old.layers, new.layers, parts)


def known_layers(plan: Plan) -> dict[int, int]:
    """The layers of sent messages by index, as far as the plan knows them."""
    layers = plan.draft.layers if plan.draft is not None else {}
    places = plan.places or range(len(plan.conversation.messages)) if layers else ()
    return {number: layers[place] for number, place in enumerate(places) if place in layers}


def _made(plan: Plan) -> set[int]:
    """The sent messages that Brim wrote: its summary and the notice of what was dropped."""
    draft, messages = plan.draft, plan.conversation.messages
    places = plan.places or range(len(messages))
    if draft is None:
        return {number for number, place in enumerate(places) if place < 0}
    return {
        number
        for number, place in enumerate(places)
        if place < 0 or (place < len(draft.messages) and draft.place(place) == ADDED and place not in draft.layers)
    }


def _pasted(plan: Plan) -> int | None:
    """What is shown of pasted blocks in the current message, if the plan split them off."""
    groups = [group for group in plan.groups if group.layer == 5 and group.kept]
    if not groups:
        return None
    return sum(item.shown_tokens for group in groups for item in group.items if item.layer == 3)


def _sizes(
    request: PlanRequest,
    conversation: Conversation,
    known: Mapping[int, int],
    made: set[int],
    pasted: int | None = None,
) -> _Sizes:
    """Tokens by layer; `known` are those of some messages, `made` are messages that Brim wrote."""
    found = _Sizes()
    found.add(1, request.counter.head(conversation))
    messages = conversation.messages
    now = current(messages)
    this_turn = _begins(messages, now)
    tools = {part.call: part.name for message in messages for part in message.parts if part.kind == "call"}
    for number, message in enumerate(messages):
        size, text = request.counter.message(message), message.text
        if text.startswith(rolling.CONTEXT[:20]) and known.get(number, 3) == 3 and number != now:
            earlier = _earlier(request, text, size)
            found.add(2, earlier)
            found.add(3, size - earlier)
        elif number in known:
            found.add(known[number], size)
        elif number in made or (text.startswith(SUMMARIES) and number != now):
            found.add(4, size, "summary")  # though a system message carries it
        elif message.role == "system":
            found.add(1, size)
        elif number == now:
            _add_current(request, found, message, size, pasted)
        elif text.startswith("<prior_context ") or (text.startswith("<context ") and number < this_turn):
            found.add(2, size)
        elif text.startswith("<context "):
            found.add(3, size)
        elif text.startswith(RECALLED):
            found.add(4, size, "recalled")
        else:
            _add_history(request, found, message, size, tools)
    return found


def _add_history(request: PlanRequest, found: _Sizes, message: Message, size: int, tools: Mapping[str, str]) -> None:
    """Add a message of the history: results under their tools, everything else under the speaker."""
    name: str = message.role
    for part, tokens in zip(message.parts, request.counter.parts(message), strict=True):
        if part.kind == "result":
            tool = part.name or tools.get(part.call, "")
            result = f"results of {tool}" if tool else "tool results"
            name = result if message.role == "tool" else name
            found.add(4, tokens, result)
            size -= tokens
    if size:
        found.add(4, size, name)


def _add_current(request: PlanRequest, found: _Sizes, message: Message, size: int, pasted: int | None) -> None:
    """Add the current message: what the user wrote, what was pasted, and carried context that a client put there."""
    inside = {"words": 0, "pasted": 0, "carried": 0}
    for part in message.parts:
        if part.kind == "text" and part.name:
            inside["pasted"] += request.counter.text(part.text)
        for span in blocks(part.text) if part.kind == "text" and not part.name else ():
            tokens = request.counter.text(part.text[span.start : span.end])
            inside["carried" if span.name == "prior_context" else "pasted"] += tokens
    carried = min(inside["carried"], size)
    beside = min(inside["pasted"] if pasted is None else pasted, size - carried)
    if carried:
        found.add(2, carried)
    found.add(5, size - carried - beside, "words")
    if beside:
        found.add(5, beside, "pasted")


def _begins(messages: Sequence[Message], now: int) -> int:
    """The start of this turn: after the user's last request before the current message."""
    for number in range(now - 1, -1, -1):
        message = messages[number]
        if message.role == "user" and not message.answers and not message.text.startswith(BESIDE):
            return number
    return 0


def _earlier(request: PlanRequest, text: str, size: int) -> int:
    """The part of a context document that is from earlier turns."""
    held = [piece for piece in (*request.carried, *request.context) if not piece.recoverable and piece.text in text]
    pieces = [piece for piece in (*request.carried, *request.context) if piece in held or not held]
    every = sum(len(piece.text) for piece in pieces)
    return size * sum(len(piece.text) for piece in pieces if piece in request.carried) // every if every else 0


def must_stay(conversation: Conversation, counter: Counter) -> int:
    """The tokens of tools, instructions and the current message, without documents inside them.

    A request is near refusal when that alone nearly fills its limit.

    Example: 1,200 tokens of instructions around a <project_context> of 90,000, and a question of 15 -> 1,215
    """
    now = current(conversation.messages)
    fixed = [message for n, message in enumerate(conversation.messages) if n == now or message.role == "system"]
    short = Conversation(conversation.api, tuple(fixed), conversation.system, conversation.tools)
    groups = Itemizer(short, counter.sizes, counter.text).groups()
    tokens = counter.head(short)
    for group in groups:
        if group.members[0] == SYSTEM:  # counted in the head, whole
            tokens -= sum(item.tokens for item in group.items)
        tokens += group.frame + sum(item.tokens for item in group.items if item.must)
    return tokens
