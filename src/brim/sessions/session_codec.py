"""How a session is written down: its log as records, its view as a small state that points into log and archive."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from brim import models
from brim.conversation import Message, encode
from brim.errors import BadInput, UnknownModel
from brim.models import Model
from brim.planning.attachments import Attachment
from brim.planning.policies.policy import Policy
from brim.sessions.state import SessionSettings
from brim.sessions.view import Entry, View
from brim.stores.inmemory import InMemoryStore
from brim.stores.protocol import SessionRecord, Store
from brim.stores.resilient import open_store

AS_IS = "as is"
# What lines of an export are called that are no messages: attached context, and how the log was last shown.
ATTACHED, SHOWN = "brim.attached", "brim.view"
# What a session may be made with, beside its model, its budget and its policy.
DEFAULTS: dict[str, Any] = {"reserve": None, "recall": "auto", "breakpoints": True, "system": None, "tools": None}


class Kept(msgspec.Struct, array_like=True):
    """Entries of a view: a run of messages of the log as they are, or one other text, by its digest in the archive."""

    start: int
    end: int
    kind: str
    tokens: int = 0
    digest: bytes = b""


class State(msgspec.Struct):
    """What is derived from a log, so that a reloaded session sends the bytes that it sent before."""

    entries: list[Kept]
    settled: int
    tight: bool
    compactions: int
    carried: list[tuple[str, str, str, bool]] = []
    summary: str = ""
    summarized: int = 0
    settings: bytes = b""  # the digest, in the archive, of what the session was made with; empty for the defaults
    pending: list[tuple[str, str, str, bool]] = []  # what is attached to the next message
    end: tuple[int, str] = (0, "")  # where what was sent last ended
    at: float = 0.0  # when the last request was made
    pins: list[str] = []  # digests of the messages that stay verbatim


class WrittenView:
    """A view as it is written down; what it grew by since the last turn is all that is looked at.

    `kept` are its entries, with messages that stand side by side as they are in one; `digests` those of the texts that
    stand in another form than in the log.
    """

    def __init__(self) -> None:
        self.kept: list[Kept] = []
        self.digests: dict[bytes, bytes] = {}
        self._entries: list[Entry] = []

    def follow(self, view: View) -> None:
        done, known = len(self._entries), self.digests
        if view.entries[:done] != self._entries:
            done, self.kept, self.digests = 0, [], {}
        self._entries = list(view.entries)
        for entry in self._entries[done:]:
            if entry.kind != AS_IS:
                raw = entry.message.raw
                self.digests[raw] = known.get(raw) or hashlib.sha256(raw).digest()
                self.kept.append(Kept(entry.start, entry.end, entry.kind, entry.tokens, self.digests[raw]))
            elif self.kept and self.kept[-1].kind == AS_IS and self.kept[-1].end == entry.start:
                self.kept[-1].end = entry.end
            else:
                self.kept.append(Kept(entry.start, entry.end, AS_IS))


def view_of(
    state: State,
    log: list[Message],
    blob: Callable[[bytes], bytes | None],
    read: Callable[[bytes, str], Message],
    size: Callable[[Message], int],
) -> View | None:
    """The view that a state describes; None if something that it points to is gone."""
    view = View(settled=state.settled)
    for kept in state.entries:
        if kept.kind == AS_IS:
            if kept.end > len(log):
                return None
            view.append(Entry(n, n + 1, log[n], size(log[n])) for n in range(kept.start, kept.end))
            continue
        raw = blob(kept.digest)
        if raw is None:
            return None
        kind: Any = kept.kind
        message = read(raw, "archive")
        view.append([Entry(kept.start, kept.end, message, size(message), kind)])  # another model may be asked now
    view.settle()
    return view


def restored(
    raw: bytes | None,
    blob: Callable[[bytes], bytes | None],
    log: list[Message],
    read: Callable[[bytes, str], Message],
    size: Callable[[Message], int],
) -> tuple[State, View | None, bytes]:
    """The state of a session as it was loaded, its view, and the bytes of both as they are written.

    Where something of it is gone there is no view: the log is shown as it is, to be planned anew.
    """
    state = msgspec.msgpack.decode(raw, type=State) if raw else None
    view = view_of(state, log, blob, read, size) if state else None
    if raw and state is not None and view is not None:
        return state, view, raw
    kept = State([], 0, False, 0)
    if state is not None:
        kept = msgspec.structs.replace(state, entries=[], settled=0, tight=False, compactions=0)
    return kept, None, b""


def attachments(rows: Iterable[tuple[str, str, str, bool]]) -> list[Attachment]:
    return [Attachment(*row) for row in rows]


def opened(given: Store | str | Path | None) -> Store:
    """A store as it was given, the one in a file, or one that lives as long as the process."""
    if given is None:
        return InMemoryStore()
    return open_store(given) if isinstance(given, (str, Path)) else given


@lru_cache(64)
def _changed(policy: Policy) -> dict[str, Any]:
    """The name of a policy, and what it says that policies of its name do not."""
    usual = Policy.named(policy.name).as_dict()
    return {key: value for key, value in policy.as_dict().items() if key == "name" or value != usual[key]}


def settings_of(settings: SessionSettings) -> dict[str, Any]:
    """What a session was made with, the defaults left out, so that it is the same after a reload.

    Example: the settings of Session(model="gpt-4o", policy=Policy.agent(compact_to=0.5)) ->
    {"policy": {"name": "agent", "compact_to": 0.5}}
    """
    given = {name: getattr(settings, name) for name in DEFAULTS}
    found = {name: value for name, value in given.items() if value != DEFAULTS[name]}
    policy = {} if settings.policy == Policy.agent() else {"policy": _changed(settings.policy)}
    return {**({} if settings.follows else own_model(settings.model)), **policy, **found}


def encoded_settings(settings: SessionSettings) -> bytes:
    """The same as JSON; empty for the defaults."""
    given = settings_of(settings)
    return encode(given) if given else b""


@lru_cache(64)
def own_model(model: Model) -> dict[str, Any]:
    """A model that the catalog does not have, or not so, to be kept with a session; nothing for any other."""
    try:
        known = models.find(model.name)
    except UnknownModel:
        known = None
    same = known is not None and (known.window, known.family) == (model.window, model.family)
    return {} if same else {"model": msgspec.to_builtins(model)}


def arguments(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What `settings_of` and `own_model` wrote, as arguments for a session."""
    found = {key: value for key, value in settings.items() if key in DEFAULTS}
    if "model" in settings:
        found["model"] = msgspec.convert(settings["model"], Model)
    if "policy" in settings:
        changed = dict(settings["policy"])
        found["policy"] = Policy.named(changed.pop("name"), changed)
    return found


def remembered(found: SessionRecord, raw: bytes | None, blob: Callable[[bytes], bytes | None]) -> dict[str, Any]:
    """The arguments that a session was made with, from its row and its state."""
    meta = found.meta
    given = {"model": meta.get("model", ""), "budget": meta.get("budget"), "api": meta.get("api")}
    given["policy"] = Policy.named(str(meta.get("policy", "agent")))
    digest = msgspec.msgpack.decode(raw, type=State).settings if raw else b""
    kept = blob(digest) if digest else None
    return given | arguments(json.loads(kept)) if kept else given


def rows_in(text: str) -> list[str]:
    """The lines of a text that are not empty; what else ends a line for Python may stand inside JSON."""
    return [line for line in text.replace("\r\n", "\n").split("\n") if line]


def row_of(message: Message) -> str:
    """A message as one line: breaks in its JSON are the space between its values."""
    return message.raw.replace(b"\n", b" ").replace(b"\r", b" ").decode("utf-8", "surrogatepass")


def exported(
    head: dict[str, Any], settings: dict[str, Any], log: Iterable[Message], attached: Callable[[int], list[Attachment]]
) -> Iterator[str]:
    """A session as JSON lines: what it is, then each message of its log, after what is attached to it."""
    yield encode({**head, "settings": settings} if settings else head).decode()
    for number, message in enumerate(log):
        yield from (encode({ATTACHED: asdict(piece)}).decode() for piece in attached(number))
        yield row_of(message)


def shown_row(view: View, state: Mapping[str, Any], archive: Iterable[str]) -> str:
    """The last line of an export: the view of its log, and the originals that it names."""
    entries = [
        (entry.start, entry.end, entry.kind, None if entry.kind == AS_IS else row_of(entry.message))
        for entry in view.entries
    ]
    return encode({SHOWN: {**state, "entries": entries, "archive": list(archive)}}).decode()


def read_shown(
    row: str,
    at: str,
    log: list[Message],
    read: Callable[[bytes, str], Message],
    size: Callable[[Message], int],
) -> tuple[View, State, list[str]]:
    """What `shown_row` wrote, for the same log."""
    try:
        told = json.loads(row)[SHOWN]
        archive, entries = told.pop("archive"), told.pop("entries")
        view, state = View(settled=told["settled"]), msgspec.convert({**told, "entries": []}, State)
        for start, end, kind, raw in entries:
            message = log[start] if raw is None else read(raw.encode("utf-8", "surrogatepass"), at)
            view.append([Entry(start, end, message, size(message), kind)])
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, msgspec.ValidationError) as problem:
        raise BadInput(at, f"does not say how its log was shown ({problem})") from None
    view.settle()
    return view, state, archive


def imported(row: str, at: str) -> tuple[Attachment | None, bytes]:
    """What a line of an export after the first holds: a piece of context, or the bytes of a message."""
    raw = row.encode("utf-8", "surrogatepass")
    if not row.startswith(f'{{"{ATTACHED}":'):
        return None, raw
    try:
        return Attachment(**json.loads(row)[ATTACHED]), b""
    except (TypeError, ValueError) as problem:
        raise BadInput(at, f"is no attached context ({problem})") from None


def read_export(lines: Iterable[str] | Path) -> tuple[dict[str, Any], list[str]]:
    """The arguments for an exported session, and its messages as JSON."""
    rows = rows_in(lines.read_text("utf-8")) if isinstance(lines, Path) else list(lines)
    try:
        head = json.loads(rows[0])
        found = {key: head[key] for key in ("id", "model", "api")} | {"budget": head.get("budget")}
        found |= arguments(head.get("settings", {}))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as problem:
        raise BadInput("line 1", f"is not the head of an exported session ({problem})") from None
    return found, rows[1:]


def sessions(store: Store | str | Path, limit: int = 50, query: str = "") -> list[SessionRecord]:
    """The last used sessions of a store, newest first."""
    return opened(store).sessions(limit, query=query)
