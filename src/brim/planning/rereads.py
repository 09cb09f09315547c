"""Results that came again: the newest copy stays, and older ones say what became of them.

An older copy says that a later call returned the same, or what has changed since, where that is much smaller. So it
costs a line instead of a file, and nobody works from what is out of date.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from brim.content import handle_of
from brim.content.delta import delta
from brim.content.types import Room
from brim.conversation import Message
from brim.planning.draft import Draft
from brim.planning.forms import TINY
from brim.planning.items import Item, grouped
from brim.planning.render import rebuilt
from brim.planning.reports.decisions import Decision
from brim.planning.request import PlanRequest

# A shorter result takes less than what would say that it came again.
LONG = 200
# Changes that take more than this share of the older copy say less than its own forms do.
CHANGED = 0.5
# So many older copies, the newest of them, are compared: each takes the time of reading two results.
COMPARED = 200
# A line of fewer characters stands in many results by chance.
TELLING = 20


@dataclass(frozen=True, slots=True)
class Copy:
    """A result: where it stands, and the call that it answers."""

    message: int
    part: int
    text: str
    call: str


@dataclass(slots=True)
class Later:
    """What the results after a place returned."""

    same: set[str] = field(default_factory=set)
    of_call: dict[str, str] = field(default_factory=dict)
    with_line: dict[str, str] = field(default_factory=dict)
    compared: int = 0

    def tells(self, copy: Copy, request: PlanRequest) -> str:
        """What became of an older copy; empty where nothing later says the same."""
        if copy.text in self.same:
            return "a later call returned the same"
        newer = self.of_call.get(copy.call)
        if newer is not None and self.compared < COMPARED:
            self.compared += 1
            changes = delta(copy.text, newer, request.counter.text)
            if changes and request.counter.text(changes) <= CHANGED * request.counter.text(copy.text):
                return f"the same call later returned this changed\n{changes}"
        around = self.with_line.get(_telling(copy.text))
        return "a later call returned this and more" if around and copy.text.strip() in around else ""

    def add(self, copy: Copy) -> None:
        self.same.add(copy.text)
        if copy.call:
            self.of_call.setdefault(copy.call, copy.text)
        for line in copy.text.split("\n"):
            if len(line) >= TELLING:
                self.with_line.setdefault(line, copy.text)


def without_rereads(request: PlanRequest, draft: Draft, steps: list[Decision], archive: dict[str, str]) -> Draft:
    """The draft with older copies of results in short; the results of the newest step stay as they are.

    Example: read_file(a.py), edit, read_file(a.py) -> the first result says which lines have changed since
    """
    messages = draft.messages
    copies = list(_copies(messages))
    if len(copies) < 2:
        return draft
    newest = grouped(messages)[-1][0]
    later, shown = Later(), dict[int, dict[int, str]]()
    for copy in reversed(copies):
        if copy.message < newest and copy.message not in draft.held:
            told = later.tells(copy, request)
            if told:
                shown.setdefault(copy.message, {})[copy.part] = _reference(request, copy.text, told)
                archive[handle_of(copy.text)] = copy.text
        later.add(copy)
    changed: dict[int, Message] = {}
    for index in sorted(shown):
        message = messages[index]
        items = [_item(request, message, index, number, text) for number, text in shown[index].items()]
        changed[index] = rebuilt(draft.conversation.api, message, items)
        steps += [_decision(request, draft, message, item) for item in items]
    return draft.showing_at(changed) if changed else draft


def _copies(messages: Sequence[Message]) -> Iterator[Copy]:
    calls: dict[str, str] = {}
    for index, message in enumerate(messages):
        if message.calls or message.answers:
            for number, part in enumerate(message.parts):
                if part.kind == "call":
                    calls[part.call] = _named(part.name, part.text)
                elif part.kind == "result" and not part.fixed and len(part.text) >= LONG:
                    yield Copy(index, number, part.text, calls.get(part.call, ""))


def _named(name: str, arguments: str) -> str:
    """A call whatever the order of its arguments; nothing for one without any, which may ask for the next of a list."""
    try:
        value = json.loads(arguments or "{}")
        return f"{name} {json.dumps(value, sort_keys=True)}" if value else ""
    except (ValueError, RecursionError):
        return f"{name} {arguments}"


def _telling(text: str) -> str:
    return max(text.strip().split("\n"), key=len)


def _reference(request: PlanRequest, text: str, told: str) -> str:
    what, _, changes = told.partition("\n")
    handle = handle_of(text) if request.recall or request.limit >= TINY else ""
    mark = Room(0, request.counter.text, handle, request.recall).mark(what)
    return f"{mark}\n{changes}" if changes else mark


def _item(request: PlanRequest, message: Message, index: int, number: int, text: str) -> Item:
    part = message.parts[number]
    tokens = request.counter.parts(message)[number]
    item = Item(index, number, part.text, tokens, "result", 4, name=part.name)
    item.shown, item.shown_tokens = text, request.counter.text(text)
    return item


def _decision(request: PlanRequest, draft: Draft, message: Message, item: Item) -> Decision:
    name, handle = f"{draft.name(item.message)}.parts[{item.part}]", handle_of(item.text)
    what = (item.shown or "").partition("\n")[0].removeprefix("[… ").partition(",")[0]
    preview = " ".join(item.text[:120].split())[:80]
    why, before, after = f"{what}: the newest stays", item.tokens, item.shown_tokens
    return Decision(name, message.role, 4, "result", before, after, "outline", why, handle, preview)
