"""The sessions that are held in memory, bounded by their number and by their size; the store has the others'."""

from __future__ import annotations

from collections import OrderedDict

from brim.conversation import Conversation
from brim.models import Model
from brim.planning.policies.policy import Policy
from brim.sessions.router import SessionRouter
from brim.sessions.session import Session
from brim.stores.inmemory import InMemoryStore
from brim.stores.protocol import Store
from brim.tokens.actuals import Actuals

MOST_LIVE = 64
# Bytes of messages in all live sessions; parsed and placed in views they take about three times that.
LIVE_BYTES = 4 << 20
# Bytes of messages in the sessions used last, which may hold search indexes: those take 20 to 30 times that. The others
# rest, and read their messages again when something is looked for in them.
AWAKE_BYTES = 1 << 20
# So long the event loop may wait for a lock that is held for a look-up at most.
ABANDON_SECONDS = 0.05


def apart(
    conversation: Conversation, model: Model, budget: int | None, policy: Policy, actuals: Actuals, recall: str
) -> Session:
    """A session like the one that a new conversation gets, of which nothing is kept: for what is only tried."""
    return Session(
        model=model,
        budget=budget,
        policy=policy,
        store=InMemoryStore(),
        api=conversation.api,
        actuals=actuals,
        recall=recall,
    )


class LiveSessions(SessionRouter):
    """Sessions of which the least used are let go when those in memory have become too many or too large."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, live=MOST_LIVE)
        self._most_bytes = LIVE_BYTES
        self._awake_bytes = AWAKE_BYTES
        self._sizes: dict[str, tuple[int, int]] = {}  # of each session: messages, and bytes in them
        self._bytes = 0
        self._awake: OrderedDict[str, int] = OrderedDict()  # those that may hold an index, with their bytes

    @property
    def size(self) -> int:
        """Bytes of messages in the sessions that are live."""
        return self._bytes

    def grown(self, session: Session) -> None:
        """A session has taken a request: weigh it, and let go of others if they are too large together."""
        with self._lock:
            if session.id in self._live:
                self._weigh(session)
                self._wake(session.id)
            while self._bytes > self._most_bytes and len(self._live) > 1:
                self._forget(next(iter(self._live)))

    def abandon(self, id: str) -> None:
        """Let go of a session that a thread is stuck in; where that thread holds this lock too, it stays."""
        if self._lock.acquire(timeout=ABANDON_SECONDS):
            try:
                if id in self._live:
                    self._forget(id)
            finally:
                self._lock.release()

    def _wake(self, id: str) -> None:
        """Note that a session was used, and let those rest that were not for longest."""
        self._awake[id] = self._sizes[id][1]
        self._awake.move_to_end(id)
        taken = sum(self._awake.values())
        while taken > self._awake_bytes and len(self._awake) > 1:
            idle, size = self._awake.popitem(last=False)
            self._live[idle].rest()
            taken -= size

    def _forget(self, id: str) -> None:
        self._awake.pop(id, None)
        super()._forget(id)
        self._bytes -= self._sizes.pop(id, (0, 0))[1]

    def _weigh(self, session: Session) -> None:
        """Add what a session has grown by since it was used last."""
        count, size = before = self._sizes.get(session.id, (0, 0))
        if len(session.log) < count:
            count = size = 0
        size += sum(len(message.raw) for message in session.log[count:])
        self._sizes[session.id] = len(session.log), size
        self._bytes += size - before[1]
