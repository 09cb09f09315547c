"""The sessions held in memory, bounded in number and size; the store has the rest."""

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
# Bytes of messages in all live sessions; parsed and in views they take about three times as much memory.
LIVE_BYTES = 4 << 20
# Bytes of messages in the sessions used last, which may hold search indexes of 20 to 30 times that size. The others
# drop theirs, and read their messages again when something is searched for in them.
AWAKE_BYTES = 1 << 20
# Longest wait of the event loop for a lock that is only ever held for a look-up.
ABANDON_SECONDS = 0.05


def apart(
    conversation: Conversation, model: Model, budget: int | None, policy: Policy, actuals: Actuals, recall: str
) -> Session:
    """A temporary session like a new conversation's, for dry runs; nothing of it is kept."""
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
    """Live sessions; the least recently used leave memory when there are too many or they are too large."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, live=MOST_LIVE)
        self._most_bytes = LIVE_BYTES
        self._awake_bytes = AWAKE_BYTES
        self._sizes: dict[str, tuple[int, int]] = {}  # per session: messages and their bytes
        self._bytes = 0
        self._awake: OrderedDict[str, int] = OrderedDict()  # sessions that may hold an index, with their bytes

    @property
    def size(self) -> int:
        """Bytes of messages in all live sessions."""
        return self._bytes

    def grown(self, session: Session) -> None:
        """Update the size of a session that took a request, and drop others if the total is too large."""
        with self._lock:
            if session.id in self._live:
                self._weigh(session)
                self._wake(session.id)
            while self._bytes > self._most_bytes and len(self._live) > 1:
                self._forget(next(iter(self._live)))

    def abandon(self, id: str) -> None:
        """Drop a session in which a thread is stuck, unless that thread also holds this lock."""
        if self._lock.acquire(timeout=ABANDON_SECONDS):
            try:
                if id in self._live:
                    self._forget(id)
            finally:
                self._lock.release()

    def _wake(self, id: str) -> None:
        """Mark a session as used, and have the least recently used ones drop their indexes."""
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
        """Add the growth of a session since its last use."""
        count, size = before = self._sizes.get(session.id, (0, 0))
        if len(session.log) < count:
            count = size = 0
        size += sum(len(message.raw) for message in session.log[count:])
        self._sizes[session.id] = len(session.log), size
        self._bytes += size - before[1]
