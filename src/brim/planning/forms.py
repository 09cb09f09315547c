"""Shows items within their tokens: the best form of each that fits, archiving the originals."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from brim import incidents
from brim.apis.image_size import written_image_size
from brim.content import Compactor, Hint, handle_of
from brim.content import arguments as arguments_compactor
from brim.content.keyed import keyed, labelled, with_values, words_of
from brim.content.selection import shares
from brim.content.types import Room
from brim.count_text import CountText
from brim.head_tail import head_and_tail
from brim.planning.items import Item

# The least to keep of a block or result that may be shortened but not dropped: a mark with its handle.
STUB = 14
# The same without a handle, if what must stay is too much even at the usual floors.
SHORT_STUB = 3
# Arguments up to this size are never shortened; that would save less than the mark takes.
SMALL_CALL = 48
LEAST_CALL = 1
# Budgets below this have no room for handles.
TINY = 500
# A result this many times its room isn't re-encoded to see whether it fits: the best lossless form of the payloads
# in docs/benchmarks.md is a fifth of the original.
DENSE_FROM = 40
# Characters of a call's arguments to show in its line.
KEY_ARGUMENTS = 120
# Tokens of the JSON around shortened arguments.
ARGUMENTS = 8
# If the marks of gaps take more than the rest of this, a line is made again with more room.
GAPS = 0.9
_GAP = re.compile(r"\[… [^\[\]\n]{0,60}\]")
# Kinds of text whose extract begins with the values that calls need, in at most this share of its room: an extract
# works by whole lines, and would omit the identifiers of most records.
TEXTS, VALUES_SHARE = frozenset({"records", "text", "markdown", "prose"}), 0.25
FIELDS = frozenset({"json", "jsonl"})
ATTACHED = ("<context ", "<prior_context ")


class Forms:
    """Makes the forms of items. `archive` collects the originals of everything not shown whole."""

    def __init__(
        self,
        count: CountText,
        limit: int,
        original: Callable[[Item], str],
        recall: bool = False,
        query: str = "",
        used: frozenset[str] = frozenset(),
    ) -> None:
        self.count = count
        self.limit = limit
        self.recall = recall
        self.query = query
        self.used = used  # keys whose values calls are likely to need
        self.least = False  # whether what must stay is too much even at the usual floors
        self.archive: dict[str, str] = {}
        self._original = original
        self._made: dict[int, int] = {}  # the tokens for which each item was last shown
        self._compactors: dict[int, Compactor] = {}

    def show(self, item: Item) -> None:
        """Make an item's text for the tokens it was given."""
        if item.given >= item.tokens:
            item.shown, item.shown_tokens, item.fidelity = None, item.tokens, "lossless"
            return
        if item.kind == "thinking":
            item.given = 0  # thinking is signed, so it is kept whole or dropped
        if item.shown is not None and item.given == self._made.get(id(item)):
            return
        self._made[id(item)] = item.given
        if item.given <= 0:
            item.shown, item.shown_tokens, item.fidelity = "", 0, "recoverable"
            self._keep(item)
            return
        item.shown, item.fidelity = self._form(item)
        item.shown_tokens = self.count(item.shown)

    def shrink(self, item: Item, over: int) -> int:
        """Take about `over` tokens from an item; returns how many were freed."""
        before = item.shown_tokens
        item.given = max(self.bottom(item), before - over)
        self.show(item)
        return max(0, before - item.shown_tokens)

    def lossless(self, item: Item) -> int:
        """The tokens of an item's smallest form that loses nothing."""
        if item.kind != "result" or item.fixed or not item.text:
            return item.tokens
        try:
            compactor = self.compactor(item)
            dense = compactor.dense() if compactor.kind in FIELDS or compactor.kind == "text" else None
            return item.tokens if dense is None else min(item.tokens, self.count(dense.text))
        except Exception as problem:
            incidents.note("compactor", problem)
            return item.tokens

    def stretch(self, item: Item, left: int) -> None:
        """Show more of an item within `left` more tokens, if that adds anything."""
        most = item.shown_tokens + left
        for ask in (most, most + left // 2, most + left):  # many a form stays well below what it may take
            before, tokens = item.state, item.shown_tokens
            item.given = min(item.tokens, ask)
            self.show(item)
            if item.shown_tokens > most or (item.shown is not None and item.shown_tokens <= tokens):
                item.go_back(before)
                self._made[id(item)] = item.given

    def floor(self, item: Item) -> int:
        """The fewest tokens for an item of a kept group."""
        if item.kind == "text" and not item.must and not item.fixed:
            return 0
        if item.kind == "thinking":
            return 0 if item.droppable else item.tokens
        if item.kind == "media":
            return min(item.tokens, STUB)
        if item.kind == "call":
            return item.tokens if item.tokens <= SMALL_CALL or item.fixed else SMALL_CALL
        if item.fixed:
            return item.tokens
        return min(item.tokens, SHORT_STUB if self.least else STUB)

    def bottom(self, item: Item) -> int:
        """The fewest tokens it may be cut to; less than the floor for a call, if what must stay is too much."""
        return LEAST_CALL if self.least and item.kind == "call" and not item.fixed else self.floor(item)

    def line(self, calls: list[tuple[str, str]], results: list[tuple[Item, str]], tokens: int, said: set[str]) -> str:
        """A step on one line: tools, key arguments and outcome, without what newer lines (`said`) already say.

        Example: get_order(A-17): status: shipped; items sku: x, y
        """
        found = min(sum(item.tokens for item, _ in results), tokens // 2)
        for most in (KEY_ARGUMENTS, KEY_ARGUMENTS // 2, KEY_ARGUMENTS // 4):
            head = ", ".join(f"{name}({self._about(arguments, most)})" for name, arguments in calls)
            if self.count(head) + found <= tokens:
                break
        left = tokens - self.count(head) - 2
        said = said | self.words(head)
        parts = [outcome for item, _ in results if (outcome := self._outcome(item, left // len(results), said))]
        return f"{head}: {' | '.join(parts)}" if parts else head

    def words(self, text: str) -> set[str]:
        """The words of a text; empty if reading them fails, in which case lines may repeat what is shown."""
        try:
            return words_of(text)
        except Exception as problem:
            incidents.note("compactor", problem)
            return set()

    def _about(self, arguments: str, most: int) -> str:
        """What a call was about; the beginning of its arguments if reading them fails."""
        try:
            return key_arguments(arguments, most)
        except Exception as problem:
            incidents.note("compactor", problem)
            return " ".join(arguments[:most].split())

    def _outcome(self, item: Item, tokens: int, said: set[str]) -> str:
        """A result's outcome on one line within `tokens`."""
        if item.kind == "media":
            return item.name or "media"
        if tokens < 2:
            return ""
        if item.tokens > tokens or "\n" in item.text:
            text = self._in_short(item, tokens, said)
        else:
            text = item.text
        said_now = " ".join(text.split())
        return "" if said_now in ("…", "[…]") else said_now

    def _in_short(self, item: Item, tokens: int, said: set[str]) -> str:
        room = Room(tokens, self.count, query=self.query)
        try:
            for line_of in (keyed, labelled):
                text = line_of(item.text, tokens, self.count, said, self.used)
                if text is not None:
                    return text
            return with_values(
                item.text,
                tokens,
                self.count,
                self.used,
                said,
                lambda most: self._brief(item, replace(room, tokens=most)),
            )
        except Exception as problem:
            incidents.note("compactor", problem)
            return _ends(item, room)

    def _brief(self, item: Item, room: Room) -> str:
        """A compactor's extract with a bare sign for each gap, because the summary names the original once."""
        compactor = self.compactor(item)
        made = compactor.at(room).text
        brief = _GAP.sub("…", made)
        if len(brief) < GAPS * len(made):
            longer = _GAP.sub("…", compactor.at(replace(room, tokens=3 * room.tokens // 2)).text)
            brief = longer if room.fits(longer) else brief
        return brief

    def _form(self, item: Item) -> tuple[str, str]:
        """The form of an item; its beginning and end if the compactor fails."""
        handle = handle_of(item.text or self._original(item))
        room = Room(item.given, self.count, handle if self._named(item) else "", self.recall, self.query)
        try:
            return self._compacted(item, room)
        except Exception as problem:
            incidents.note("compactor", problem)
            self._keep(item)
            return _ends(item, room), "recoverable"

    def _compacted(self, item: Item, room: Room) -> tuple[str, str]:
        if item.kind == "media":
            self._keep(item)
            size = written_image_size(item.text or self._original(item))
            if size is not None:
                return room.mark(f"{item.name or 'image'} {size[0]}×{size[1]}, archived"), "recoverable"
            return room.mark(f"{item.name or 'media'}, about {item.tokens:,} tokens"), "recoverable"
        if item.kind == "call":
            self._keep(item)
            return arguments_compactor.extract(item.text, room), "recoverable"
        compactor = self.compactor(item)
        if compactor.kind in FIELDS or compactor.kind == "text":  # JSON inside other text, or truncated JSON
            dense = compactor.dense() if item.tokens < DENSE_FROM * item.given else None
            if dense is not None and room.fits(dense.text):
                return dense.text, "lossless"
            mark = room.mark(f"of {item.tokens:,} tokens") if self._named(item) else "[…]"
            text = keyed(item.text, item.given - self.count(mark) - 1, self.count, (), self.used)
            if text:
                self._keep(item)
                text = f"{text} {mark}"
                return (text, "recoverable") if room.fits(text) else (mark, "recoverable")
        form = compactor.at(room)
        if form.fidelity == "lossless":
            return form.text, form.fidelity
        self._keep(item)
        if compactor.kind not in TEXTS | FIELDS or item.kind != "result":
            return form.text, form.fidelity
        most = int(VALUES_SHARE * room.tokens)
        return with_values(
            item.text,
            room.tokens,
            self.count,
            self.used,
            (),
            lambda left: compactor.at(replace(room, tokens=left)).text,
            most,
        ), "recoverable"

    def _named(self, item: Item) -> bool:
        return self.recall or item.given >= 4 * STUB

    def compactor(self, item: Item) -> Compactor:
        found = self._compactors.get(id(item))
        if found is None:
            # Attached context is recognised by its tags, whatever is inside, so that they stay in pairs.
            kind = "xml" if item.layer in (2, 3) and item.text.startswith(ATTACHED) else None
            found = Compactor(item.text, self.count, kind, hint=Hint(tool=item.name))
            self._compactors[id(item)] = found
        return found

    def _keep(self, item: Item) -> None:
        """Archive the original of an item."""
        text = item.text or self._original(item)
        self.archive.setdefault(handle_of(text), text)


def _ends(item: Item, room: Room) -> str:
    """The beginning and end of an item; arguments become a JSON object."""
    if item.kind != "call" or not item.text.lstrip().startswith("{"):
        return head_and_tail(item.text, room.tokens, room.count, room.handle) or "…"
    text = head_and_tail(item.text, max(0, room.tokens - ARGUMENTS), room.count, room.handle)
    made = json.dumps({"shortened": text}, ensure_ascii=False)
    return made if text and room.count(made) <= room.tokens else "{}"


def key_arguments(arguments: str, most: int = KEY_ARGUMENTS) -> str:
    """What a call was about, in so many characters: long values are cut, so that the others are seen too.

    Example: {"path": "a.py", "limit": 5} -> path=a.py, limit=5; in 10 characters: a.py, 5
    """
    try:
        value: Any = json.loads(arguments)
    except (ValueError, RecursionError):
        value = arguments
    if isinstance(value, dict):
        named = [(key, text) for key, each in value.items() if (text := _plain(each))]
        labels = [f"{key}=" for key, _ in named] if len(named) > 1 else [""] * len(named)
        around = len("".join(labels)) + 2 * len(named)
        if around + len(named) > most // 2 and around + sum(len(text) for _, text in named) > most:
            labels, around = [""] * len(named), 2 * len(named)
        widths = shares([len(text) for _, text in named], max(0, most - around + 2))
        text = ", ".join(
            label + (text if len(text) <= width else f"{text[: max(1, width - 1)]}…")
            for label, (_, text), width in zip(labels, named, widths, strict=True)
        )
    else:
        text = _plain(value)
    return text if len(text) <= most else text[: most - 1] + "…"


def _plain(value: Any) -> str:
    """The values of an argument without its syntax. Example: [{"id": "A", "on": "May 5"}] -> A May 5"""
    waiting: list[Any] = [value]
    found: list[str] = []
    while waiting and len(found) < KEY_ARGUMENTS:
        inner = waiting.pop()
        if isinstance(inner, (dict, list)):
            waiting += reversed(list(inner.values() if isinstance(inner, dict) else inner))
        elif inner not in (None, ""):
            found.append(inner if isinstance(inner, str) else json.dumps(inner))
    return " ".join(" ".join(found)[: 4 * KEY_ARGUMENTS].split())
