"""The conversations that pass through, recognised by the client's own id or by what was sent before."""

from __future__ import annotations

import asyncio
import itertools
import secrets
import time
from bisect import insort
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator

import msgspec

from brim.conversation import Conversation
from brim.gateway.observe.turns import GatewayTurn
from brim.sessions.tenancy import quoted, scoped, tenant_of
from brim.summaries.awaited import AwaitedSummaries

MOST_SESSIONS = 1_000
MOST_TURNS = 200
# Turns remembered over all conversations, besides the last one of each.
MOST_REQUESTS = 2_000


class Live(msgspec.Struct, eq=False, gc=False):  # whatever leads back to it lets go of it
    """A conversation in memory: its turns, and what was archived."""

    id: str
    client: str = ""
    model: str = ""
    api: str = ""
    created: float = msgspec.field(default_factory=time.time)
    touched: float = 0.0
    requests: int = 0
    recalled: int = 0  # recalled passages in its prompt
    archive: dict[str, int] = msgspec.field(default_factory=dict)  # handles with the length of their content
    engaged: bool = False  # it didn't fit at some point, so a session in the store follows it
    large: bool = False  # a worker handles it, so its session isn't in this process
    turns: list[GatewayTurn] = msgspec.field(default_factory=list)  # the last ones
    summaries: AwaitedSummaries | None = None  # those that its requests waited for
    places: tuple[int, ...] = ()  # what its requests are recognised by
    _lock: asyncio.Lock | None = None

    @property
    def tenant(self) -> str:
        """Whose conversation it is."""
        return tenant_of(self.id)

    @property
    def lock(self) -> asyncio.Lock:
        """Keeps the fits of this conversation in order."""
        if self._lock is None:
            self._lock = asyncio.Lock()
        return self._lock

    def add(self, turn: GatewayTurn) -> None:
        """Take a turn as the newest, and number it."""
        self.requests += 1
        self.touched = turn.at
        turn.number = self.requests
        self.turns.append(turn)
        if len(self.turns) > MOST_TURNS:
            del self.turns[0]

    def put(self, turn: GatewayTurn) -> None:
        """Take a turn of another process at its place in time; those after it are numbered anew."""
        self.requests += 1
        self.touched = max(self.touched, turn.at)
        insort(self.turns, turn, key=lambda one: one.at)
        del self.turns[:-MOST_TURNS]
        for place, one in enumerate(reversed(self.turns)):
            one.number = self.requests - place


class Conversations:
    """Live conversations by id, the least used forgotten first."""

    def __init__(self, most: int = MOST_SESSIONS) -> None:
        self._most = most
        self._known: OrderedDict[str, Live] = OrderedDict()
        self._prefixes: dict[int, Live] = {}
        self._taken: deque[tuple[Live, GatewayTurn]] = deque()
        self._boot = secrets.token_hex(12)
        self._ids = itertools.count(1)

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[Live]:
        """The last used first."""
        return reversed(self._known.values())

    def get(self, id: str) -> Live | None:
        return self._known.get(id)

    def of(
        self,
        conversation: Conversation,
        client_id: str,
        tenant: str,
        otherwise: Callable[[Conversation], Live | None] | None = None,
    ) -> Live:
        """The conversation that a request belongs to.

        A client's id covers side calls and sub-agents too, so the first message tells them apart; without an id
        the longest prefix that was sent before does. Neither looks at cache_control. Where nothing is known by that,
        `otherwise` is asked. What another tenant sent is not there.
        """
        if client_id:
            first = next((message for message in conversation.messages if message.role != "system"), None)
            name = quoted(client_id)
            return self._open(scoped(tenant, f"{name}.{first.digest.hex()[:8]}" if first else name))
        chain = _chain(conversation, tenant)
        known = next((self._prefixes[place] for place in reversed(chain) if place in self._prefixes), None)
        if known is None and otherwise is not None:
            known = otherwise(conversation)
        mine = known is not None and known.tenant == tenant and known.id in self._known
        live = self._open(known.id if known is not None and mine else self._new_id(tenant))
        if self._prefixes.get(chain[-1]) is not live:
            self._prefixes[chain[-1]] = live
            live.places += (chain[-1],)
            if len(live.places) > MOST_TURNS:
                self._unplace(live, live.places[0])
                live.places = live.places[1:]
        return live

    def _unplace(self, live: Live, place: int) -> None:
        if self._prefixes.get(place) is live:
            del self._prefixes[place]

    def add(self, live: Live, turn: GatewayTurn) -> None:
        """Add a turn to a conversation; beyond MOST_REQUESTS, the oldest turns of any conversation are forgotten."""
        live.add(turn)
        self._taken.append((live, turn))
        if len(self._taken) > MOST_REQUESTS:
            live, turn = self._taken.popleft()
            if len(live.turns) > 1 and live.turns[0] is turn:
                del live.turns[0]

    def restore(self, turns: Iterable[GatewayTurn]) -> None:
        """Restore an earlier process's turns, oldest first: their numbers, not their content."""
        for turn in turns:
            if not turn.session or not turn.number:
                continue
            live = self._open(turn.session)
            number = max(turn.number, live.requests + 1)  # several processes number theirs from 1
            self.add(live, turn)
            live.requests = turn.number = number
            live.client, live.model, live.api = turn.client, turn.model, turn.api
            live.created = live.turns[0].at

    def follow(self, turns: Iterable[GatewayTurn]) -> None:
        """Take turns of other processes. They push nothing out that this one works on."""
        for turn in turns:
            live = self._known.get(turn.session)
            if not turn.session or (live is None and len(self._known) >= self._most):
                continue
            if live is None:
                live = self._known[turn.session] = Live(turn.session, created=turn.at)
                live.requests = turn.number - 1
                live.client, live.model, live.api = turn.client, turn.model, turn.api
            live.put(turn)
            self._taken.append((live, turn))

    def begin(self, tenant: str) -> Live:
        """Start a new conversation of a tenant."""
        return self._open(self._new_id(tenant))

    def known_as(self, id: str) -> Live:
        """The conversation that a worker knows under this id."""
        return self._open(id)

    def again(self, live: Live) -> bool:
        """Mark a conversation as used, and return whether it is still known."""
        if self._known.get(live.id) is not live:
            return False
        self._known.move_to_end(live.id)
        return True

    def behind(self, session: str, live: Live) -> Live:
        """The conversation of a session: the one it was matched to, or a new one if the session is a branch.

        It keeps an id that an earlier process knew it by.
        """
        if session != live.id:
            if live.engaged:
                live = self._open(session)
            else:
                self._known.pop(live.id, None)
                live.id = session
                self._known[session] = live
                for turn in live.turns:
                    turn.session = session
        live.engaged = True
        return live

    def _new_id(self, tenant: str) -> str:
        return scoped(tenant, f"{self._boot}{next(self._ids):08x}")

    def _open(self, id: str | None) -> Live:
        assert id
        live = self._known.get(id)
        if live is None:
            live = self._known[id] = Live(id)
            while len(self._known) > self._most:
                _, gone = self._known.popitem(last=False)
                gone.turns.clear()
                for place in gone.places:
                    self._unplace(gone, place)
        self._known.move_to_end(id)
        return live


def _chain(conversation: Conversation, tenant: str) -> list[int]:
    """A hash for each prefix of a tenant's conversation, meaningless outside this process.

    Like message digests, they ignore cache breakpoints.
    """
    system = conversation.system.digest if conversation.system else b""
    last = hash((tenant, conversation.api, conversation.tools, system))
    return [last := hash((last, message.digest)) for message in conversation.messages] or [last]
