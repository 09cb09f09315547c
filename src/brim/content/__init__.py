"""Compactors: smaller and smaller renditions of a content, depending on its kind.

    full -> dense (lossless, decodes back) -> extracts (recoverable, marked) -> stub

A new kind is one file here with `dense`, `decode` and `extract` (whichever apply) and one row in KINDS.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Iterable, Iterator, MutableMapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from brim import incidents, tokens
from brim.content import plain_text
from brim.content.code.recognition import defines, is_source
from brim.content.detect import Hint, Told, told_with
from brim.content.record_list import is_record_list
from brim.content.selection import is_escaped
from brim.content.types import ContentForm, Fidelity, Room
from brim.count_text import CountText
from brim.errors import BadInput, BadSetting, MissingExtra, NotDecodable
from brim.head_tail import head_and_tail
from brim.sized_lru import SizedLru

__all__ = ["KINDS", "Compacted", "Compactor", "ContentForm", "Hint", "Room", "compact", "decode", "forms", "handle_of"]

KINDS: dict[str, str] = {
    "json": "json",
    "jsonl": "json",
    "csv": "tables.csv",
    "log": "logs.lines",
    "test": "test_output",
    "build": "commands.build",
    "history": "commands.history",
    "matches": "commands.matches",
    "blame": "commands.blame",
    "table": "commands.columns",
    "manual": "commands.manual",
    "trace": "logs.traces",
    "html": "documents.html",
    "code": "code.source",
    "diff": "diffs",
    "tree": "listings",
    "markdown": "documents.markdown",
    "xml": "documents.xml_blocks",
    "snapshot": "tables.snapshot",
    "records": "record_list",
    "binary": "binary",
    "prose": "documents.prose",
    "text": "general",
}
_FORM = "#brim "
# Prefix for a text that begins like one of our forms but isn't one.
_QUOTED = "#brim text\n"
Archive = MutableMapping[str, str]
# In a text longer than this many characters, only the ends and the informative lines are worth the time.
LARGEST = 50_000_000
# If an extract for a query fills less of its room than this, it is made again without the query.
FILLED = 0.7


@dataclass(frozen=True, slots=True)
class Compacted:
    """A content in fewer tokens: its text and size, whether it decodes back, and where the original is."""

    text: str
    tokens: int
    fidelity: Fidelity
    kind: str
    handle: str
    kept: float  # its share of the original's tokens
    confidence: float = 1.0  # confidence in the kind, from 0 to 1: how often the same sign was right in tests

    @property
    def lossless(self) -> bool:
        """Whether `decode(text)` gives the original back: its JSON value, or its text."""
        return self.fidelity == "lossless"


def module_of(kind: str) -> ModuleType:
    """The module of a kind, imported the first time a content of that kind turns up."""
    if kind not in KINDS:
        raise BadSetting("kind", f"{kind!r} is not one of {', '.join(KINDS)}")
    return importlib.import_module(f"brim.content.{KINDS[kind]}")


def handle_of(text: str | Iterable[bytes], digits: int = 8) -> str:
    """The archive name of a content, given as text or pieces of its UTF-8. Example: "…" -> "brim:3f2a9c01" """
    state = hashlib.sha256()
    for piece in [text.encode("utf-8", "surrogatepass")] if isinstance(text, str) else text:
        state.update(piece)
    return "brim:" + state.hexdigest()[:digits]


def content_kind(text: str, hint: Hint | None) -> Told:
    """The kind of a content. A printed object with escaped line breaks is never prose, whatever its words are.

    If detection fails, the content is plain text.
    """
    try:
        found = told_with(text, hint)
        kind = found.kind
        quoted = kind == "html" and text.lstrip()[:1] != "<"  # HTML in a program that generates a page
        if (quoted or kind in ("prose", "markdown", "text", "csv")) and is_source(text):
            return replace(found, kind="code")
        if kind in ("prose", "markdown", "text", "code") and is_record_list(text) and not is_source(text):
            return found if kind == "code" and defines(text) else replace(found, kind="records")
        quoted = kind in ("prose", "code", "markdown") and len(text) > 1_000 and is_escaped(text)
        return replace(found, kind="text") if quoted else found
    except Exception as problem:
        incidents.note("detector", problem)
        return Told("text", 0.0)


class Compactor:
    """The forms of one content, created on demand and cached."""

    def __init__(self, text: str, count: CountText, kind: str | None = None, hint: Hint | None = None) -> None:
        self.text = text
        told = Told(kind, 1.0) if kind else content_kind(text, hint)
        self.kind, self.confidence = told.kind, told.confidence
        self._name = hint.path if hint else ""
        self._count = count
        self._module = module_of(self.kind)
        self._tokens: int | None = None
        self._dense: ContentForm | None = None
        self._tried_dense = False

    @property
    def tokens(self) -> int:
        if self._tokens is None:
            self._tokens = self._count(self.text)
        return self._tokens

    def dense(self) -> ContentForm | None:
        """The lossless form, if it is smaller than the content."""
        if not self._tried_dense:
            self._tried_dense = True
            text = self._make_dense()
            if text is not None and self._count(text) < self.tokens:
                self._dense = ContentForm(text, "lossless", f"{self.kind}, re-encoded without loss")
        return self._dense

    def _make_dense(self) -> str | None:
        make = getattr(self._module, "dense", None)
        if make is None or len(self.text) > LARGEST:
            return None
        try:
            made: str | None = make(self.text)
        except Exception as problem:
            incidents.note("compactor", problem)
            return None
        return made

    def at(self, room: Room) -> ContentForm:
        """The best form that fits the room."""
        if self.tokens <= room.tokens:
            return ContentForm(self.text, "lossless", "whole")
        dense = self.dense() if self.tokens < 40 * room.tokens else None
        if dense is not None and room.fits(dense.text):
            return dense
        text = self._extract(room)
        if room.query and self._count(text) < FILLED * room.tokens:
            # The query matches little, so fill the rest of the room with other content.
            text = max(text, self._extract(replace(room, query="")), key=self._count)
        return ContentForm(text, "recoverable", f"{self.kind}, extract of {self.tokens:,} tokens")

    def _extract(self, room: Room) -> str:
        """The extract by the kind's compactor, or the beginning and end if that fails."""
        extract = getattr(self._module, "extract", plain_text.extract)
        room = replace(room, name=room.name or self._name)
        try:
            try:
                return str(extract(self.text, room))
            except MissingExtra:
                return plain_text.extract(self.text, room)
        except Exception as problem:
            incidents.note("compactor", problem)
            return head_and_tail(self.text, room.tokens, room.count, room.handle)

    def forms(self, room: Room) -> Iterator[ContentForm]:
        """Forms from the whole content down to one line, each at most half the size of the one before."""
        yield ContentForm(self.text, "lossless", "whole")
        dense = self.dense()
        last = self.tokens
        if dense is not None:
            yield dense
            last = self._count(dense.text)
        while last > 24:
            form = self.at(Room(last // 2, room.count, room.handle, room.recall, room.query))
            taken = self._count(form.text)
            if taken >= last:
                return
            last = taken
            yield form


_seen: SizedLru[tuple[Any, ...], Compacted] = SizedLru(16 << 20)


def compact(
    text: str,
    budget: int | None = None,
    kind: str | None = None,
    *,
    model: str = "gpt-4o",
    hint: Hint | None = None,
    archive: Archive | None = None,
    recall: bool = False,
    query: str = "",
) -> Compacted:
    """Return `text` in fewer tokens: losslessly, or within `budget` tokens with marks where something is missing.

    With an `archive`, the original is kept there under the handle in the marks; `recall` says that the reader
    has a tool to fetch it.

    Example: brim.compact('[{"id": 1, "ok": true}, {"id": 2, "ok": true}]').fidelity -> "lossless"
    """
    if not isinstance(text, str):
        raise BadInput("text", f"must be text, not {type(text).__name__}: decode bytes, and dump values as JSON")
    if budget is not None and (not isinstance(budget, int) or budget < 0):
        raise BadSetting("budget", f"{budget!r} is not a number of tokens: give 0 or more, or leave it out")
    key = (text, budget, kind, model, hint, archive is not None, recall, query)
    found = _seen.get(key)
    if found is None:
        found = _seen.put(key, _compact(text, budget, kind, model, hint, archive is not None, recall, query), len(text))
    if archive is not None and found.fidelity == "recoverable":
        archive.setdefault(found.handle, text)
    return found


def _compact(
    text: str, budget: int | None, kind: str | None, model: str, hint: Hint | None, kept: bool, recall: bool, query: str
) -> Compacted:
    count = tokens.text_counter(model)
    steps = Compactor(text, count, kind, hint)
    if budget is None:
        form = steps.dense() or ContentForm(text, "lossless", "whole")
    else:
        handle = handle_of(text) if kept else ""
        form = steps.at(Room(budget, count, handle, recall and kept, query))
    if form.text == text and text.startswith(_FORM):
        # It looks like one of our forms, but decode must return it unchanged.
        whole = ContentForm(_QUOTED + text, "lossless", "whole, quoted")
        fits = budget is None or count(whole.text) <= budget
        form = whole if fits else replace(form, fidelity="recoverable")
    size = count(form.text)
    handle = handle_of(text) if form.fidelity == "recoverable" else ""
    return Compacted(form.text, size, form.fidelity, steps.kind, handle, size / max(1, steps.tokens), steps.confidence)


def forms(
    text: str, kind: str | None = None, *, model: str = "gpt-4o", hint: Hint | None = None
) -> Iterator[ContentForm]:
    """All forms of a content, from the whole content down to one line."""
    count = tokens.text_counter(model)
    return Compactor(text, count, kind, hint).forms(Room(0, count))


def decode(text: str) -> Any:
    """Undo a lossless form: returns the JSON value for JSON and the text for everything else, even if unchanged.

    Example: brim.decode(brim.compact(text).text) -> the value of text
    """
    if text.startswith(_QUOTED):
        return text[len(_QUOTED) :]
    if text.startswith(_FORM):
        name = text[6:].split(maxsplit=1)[0].rstrip(":") if len(text) > 6 else ""
        if name in KINDS and hasattr(module_of(name), "decode"):
            return module_of(name).decode(text)
        raise NotDecodable(f"no lossless form is called {name!r}: it is one of {', '.join(KINDS)}")
    if text.lstrip("\ufeff \t\r\n")[:1] not in ("{", "["):
        return text
    try:
        return module_of("json").decode(text)
    except NotDecodable:
        return text
