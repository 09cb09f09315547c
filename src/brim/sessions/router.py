"""Finds the session of a request, by the client's own id or by what was sent before.

A limited number of sessions is live; the least recently used leave memory and are reloaded when needed.
"""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any, NamedTuple

from brim import apis
from brim.conversation import Conversation, Message
from brim.errors import NotFound
from brim.models import Model
from brim.sessions.session import Session
from brim.sessions.session_codec import opened
from brim.sessions.tenancy import bare, quoted, scoped, tenant_of
from brim.sessions.turn_writer import link, start
from brim.sessions.view import common_length
from brim.stores.protocol import LoadedSession, Store, Wanted
from brim.tokens.actuals import Actuals
from brim.tokens.counter import Counter

# Sessions to hold in memory: a bound, not a measured number; what leaves is loaded again from the store.
LIVE = 1_000
# Sessions with the same beginning to compare with a request, most recent first; beyond that, prefixes decide.
ALIKE = 8
# A change within this many messages of the end is an edit of the newest turn; earlier, it is a branch.
EDIT = 4
# Conversations with fewer common messages merely begin alike and are unrelated.
BRANCH = 3


class FoundSession(NamedTuple):
    """The key of sessions that may be the same: tenant, client id and beginning."""

    tenant: str
    client: str
    first: bytes


class SessionRouter:
    """The sessions of a store, found by requests. Thread-safe.

    Example: Sessions(store, budget=20_000).of(body, model="gpt-4o").fit(body)
    """

    def __init__(self, store: Store | str | Path | None = None, *, live: int = LIVE, **defaults: Any) -> None:
        self.store = opened(store)
        self._most = live
        self._defaults = defaults
        self._live: OrderedDict[str, Session] = OrderedDict()
        self._alike: dict[FoundSession, OrderedDict[str, None]] = {}
        self._places: dict[str, FoundSession] = {}
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return len(self._live)

    def of(
        self, request: Conversation | Any, client_id: str | None = None, *, tenant: str = "", **settings: Any
    ) -> Session:
        """The session that a request continues: a known one, a branch of one, or a new one.

        A client's id may cover sub-agents and side calls; how a conversation begins tells them apart. A branch finds
        the common part as it was sent. Those of another `tenant` are never found. `settings` are those of `Session`;
        they hold for a new or reloaded one.
        """
        conversation = request if isinstance(request, Conversation) else apis.parse(request, settings.get("api"))
        given = {"model": conversation.model, "api": conversation.api, **self._defaults, **settings}
        place = FoundSession(tenant, quoted(client_id or ""), _first(conversation.messages))
        with self._lock:
            session, common = self._nearest(conversation, place)
            found = None
            if session is None:
                found = self._asked(conversation, place, given)
                session, common = self._stored(conversation, place, given, found)
            if session is not None:
                if given["model"] and given["model"] not in (session.model, session.model.name):
                    session.switch_model(given["model"])
                lost = len(session.log) - common
                if not lost or lost <= min(EDIT, common):
                    return self._keep(session, place)
                if common >= BRANCH:
                    return self._keep(session.fork(common, _named(place, secrets.token_hex(8))), place)
            return self._keep(self._new(given, place, found), place)

    def get(self, id: str) -> Session:
        """The session with this id. Raises NotFound."""
        with self._lock:
            session = self.held(id) or self._loaded(id, self._defaults)
            if session is None:
                raise NotFound(f"there is no session {id!r}")
            known = self._places.get(id)
            return self._keep(session, known or FoundSession(tenant_of(id), _client(id), _first(session.log)))

    def held(self, id: str) -> Session | None:
        """The session with this id if it is in memory."""
        with self._lock:
            session = self._live.get(id)
            if session is not None and session.id != id:  # it parted from a session that others continued
                self._forget(id)
                return None
            return session

    def _nearest(self, conversation: Conversation, place: FoundSession) -> tuple[Session | None, int]:
        """The live session with the most common messages among those with the same beginning."""
        best: Session | None = None
        most = 0
        for id in list(reversed(self._alike.get(place, OrderedDict()))):
            session = self.held(id)
            if session is None or session.settings.api != conversation.api:
                continue
            common = common_length(session.log, conversation.messages)
            if common > most or (best is None and not session.log):
                best, most = session, common
            if common == len(session.log) >= len(conversation.messages) - 2:
                return session, common  # it continues this one exactly; none can be nearer
        return best, most

    def _asked(self, conversation: Conversation, place: FoundSession, given: dict[str, Any]) -> LoadedSession:
        """What the store knows of a client's session, or else of the longest prefix, with sizes: one call."""
        id = _named(place, place.first.hex()[:8]) if place.client else ""
        sizes: list[bytes] = []
        if self.store.remote and isinstance(given["model"], Model) and isinstance(given.get("actuals"), Actuals):
            counter = Counter(given["model"], conversation.api, given["actuals"])
            sizes = counter.wanted(conversation)
        found = self.store.load(Wanted(id, prefixes(conversation.messages, place.tenant)[:0:-1], sizes=sizes))
        known = found.session
        if known is None or (tenant_of(known.id), _client(known.id)) == (place.tenant, place.client):
            return found
        return LoadedSession()

    def _stored(
        self, conversation: Conversation, place: FoundSession, given: dict[str, Any], found: LoadedSession
    ) -> tuple[Session | None, int]:
        """The session in the store."""
        if found.session is None:
            return None, 0
        session = self.held(found.session.id)
        if session is None:
            session = Session.loaded(found, self.store, **_settings(given))
            session.storage.fresh = True
        if session.settings.api != conversation.api:
            return None, 0
        return session, common_length(session.log, conversation.messages)

    def _new(self, settings: dict[str, Any], place: FoundSession, found: LoadedSession | None) -> Session:
        """A new session; the store need not be asked for its id again where it has just said what it knows."""
        id = _named(place, place.first.hex()[:8])
        if found is None:
            taken = bool(place.client) and self.store.get_session(id) is not None
        else:
            taken = found.session is not None and found.session.id == id
        if id in self._live or taken:
            id = scoped(place.tenant, secrets.token_hex(16))
        session = Session(**{**settings, "id": id, "store": self.store})
        session.storage.fresh = True
        return session

    def _loaded(self, id: str, settings: dict[str, Any]) -> Session | None:
        try:
            return Session.load(id, store=self.store, **_settings(settings))
        except NotFound:
            return None

    def _keep(self, session: Session, place: FoundSession) -> Session:
        """Keep a session as the most recently used, and drop the least recently used."""
        self._live[session.id] = session
        self._live.move_to_end(session.id)
        self._places[session.id] = place
        alike = self._alike.setdefault(place, OrderedDict())
        alike[session.id] = None
        alike.move_to_end(session.id)
        if len(alike) > ALIKE:
            del alike[next(iter(alike))]
        while len(self._live) > self._most:
            self._forget(next(iter(self._live)))
        return session

    def _forget(self, id: str) -> None:
        del self._live[id]
        place = self._places.pop(id)
        alike = self._alike[place]
        alike.pop(id, None)
        if not alike:
            del self._alike[place]


def prefixes(messages: tuple[Message, ...], tenant: str = "") -> list[bytes]:
    """The digests of a tenant's conversation's first 0, 1, 2, … messages; neither ids nor cache breakpoints count."""
    chain = [start(tenant)]
    for message in messages:
        chain.append(link(chain[-1], message))
    return chain


def _settings(given: dict[str, Any]) -> dict[str, Any]:
    """The settings to apply again to an existing session."""
    return {key: value for key, value in given.items() if key not in ("api", "store", "id") and value}


def _first(messages: Any) -> bytes:
    """The beginning of a conversation: the digest of its first message besides instructions."""
    found = next((message.digest for message in messages if message.role != "system"), None)
    return found if found is not None else b""


def _named(place: FoundSession, what: str) -> str:
    """The id of a client's session, or a random one, scoped to the tenant."""
    return scoped(place.tenant, f"{place.client}.{what}" if place.client else secrets.token_hex(16))


def _client(id: str) -> str:
    """The client's id within a session's id. Example: "desk-7.0a1b2c3d" -> "desk-7" """
    return bare(id).rpartition(".")[0]
