"""Tracks which items of a conversation were compacted or archived, counting each once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence

from brim.content.detect.hints import Hint, detect
from brim.conversation import Message
from brim.fitting import Fitted
from brim.replays.result import Change, ChangeForm, KindUse
from brim.replays.sums import MOST, by_room, by_size
from brim.sessions.session import Session
from brim.tokens.counter import Counter

# Maps the forms of a report to broader categories.
FORMS: dict[str, ChangeForm] = {
    "dense": "compacted",
    "outline": "compacted",
    "line": "compacted",
    "archived": "archived",
    "dropped": "archived",
    "summary": "archived",
}
SeenChanges = dict[str, Change]


class Changes:
    """Collects changes over many requests: the number of each kind, and the largest.

    An item counts once, in the form it was last sent in. A limited number of items is remembered for that; items of the
    least recently active conversations are forgotten first.
    """

    def __init__(self, items: int) -> None:
        self._most = items
        self._seen: OrderedDict[str, SeenChanges] = OrderedDict()
        self._items = 0
        self._kinds: dict[str, KindUse] = {}
        self._largest: dict[tuple[str, str], Change] = {}
        self.compacted = 0
        self.archived = 0

    def note(self, key: str, found: Callable[[SeenChanges], Iterator[Change]]) -> None:
        """Add the changes of a conversation's request, except those an earlier request already made in the same way."""
        seen = self._seen.setdefault(key, {})
        self._seen.move_to_end(key)
        known = len(seen)
        for change in found(seen):
            old = seen.get(change.item)
            if old is not None:
                self._add(old, -1)
            seen[change.item] = change
            self._add(change, 1)
            self._largest[key, change.item] = change
        self._items += len(seen) - known
        while self._items > self._most and len(self._seen) > 1:
            self._items -= len(self._seen.popitem(last=False)[1])
        if len(self._largest) > 8 * MOST:
            self._largest = dict(sorted(self._largest.items(), key=lambda one: -one[1].before)[: 2 * MOST])

    def _add(self, change: Change, times: int) -> None:
        archived = change.form == "archived"
        self.archived += times * archived
        self.compacted += times * (not archived)
        old = self._kinds.get(change.kind) or KindUse(change.kind)
        self._kinds[change.kind] = KindUse(
            change.kind,
            old.compacted + times * (not archived),
            old.archived + times * archived,
            old.before + times * change.before,
            old.after + times * change.after,
        )

    @property
    def kinds(self) -> tuple[KindUse, ...]:
        return by_room(self._kinds.values())

    @property
    def largest(self) -> tuple[Change, ...]:
        return by_size(self._largest.values())


def in_session(session: Session, counter: Counter, place: str, seen: SeenChanges) -> Iterator[Change]:
    """The messages of a session that are changed in this request for the first time."""
    shown = {entry.start: entry for entry in session.view.entries if entry.kind in ("as is", "compacted")}
    for number, message in enumerate(session.log):
        entry = shown.get(number)
        if entry is not None and entry.kind == "as is":
            continue
        form: ChangeForm = "archived" if entry is None else "compacted"
        item = f"messages[{number}]"
        if item in seen and seen[item].form == form:
            continue
        kind, name = kind_of(message, session.log)
        after = entry.tokens if entry is not None else 0
        yield Change(place, item, kind, name, form, counter.message(message), after)


def in_fitted(fitted: Fitted, messages: tuple[Message, ...], place: str, seen: SeenChanges) -> Iterator[Change]:
    """The changed items of a request that was fitted by itself."""
    for decision in fitted.plan:
        form = FORMS.get(decision.form)
        if form is None or (decision.item in seen and seen[decision.item].form == form):
            continue
        number = decision.item.partition("[")[2].partition("]")[0]
        found = messages[int(number)] if number.isdigit() and int(number) < len(messages) else None
        kind, name = kind_of(found, messages) if found is not None else (f"{decision.role} {decision.kind}", "")
        yield Change(place, decision.item, kind, name, form, decision.before, decision.after)


def kind_of(message: Message, messages: Sequence[Message]) -> tuple[str, str]:
    """The main content of a message, and its tool.

    Example: a tool message with a log -> ("log result", "run_tests"); a user's text -> ("user text", "")
    """
    part = max(message.parts, key=lambda part: len(part.text), default=None)
    if part is None:
        return f"{message.role} message", ""
    if part.kind == "result":
        tool = part.name or _called(part.call, messages)
        return f"{detect(part.text, Hint(tool=tool))} result", tool
    return f"{message.role} text" if part.kind == "text" else part.kind, part.name


def _called(call: str, messages: Sequence[Message]) -> str:
    """The tool of a call, because most APIs don't repeat it in the result."""
    calls = (part for message in messages if call in message.calls for part in message.parts)
    return next((part.name for part in calls if part.kind == "call" and part.call == call), "")
