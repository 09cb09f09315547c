"""The journal: the last turns, running totals, and what goes to the store."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from brim import incidents
from brim.gateway.observe.history import History, ValueStore
from brim.gateway.observe.logs import tell
from brim.gateway.observe.metrics import Metrics
from brim.gateway.observe.turn_log import TurnLog
from brim.gateway.observe.turns import GatewayTurn
from brim.tokens.actuals import UsageRecord

MOST_TURNS = 2_000
# Turns whose messages stay in memory for the dashboard's diff and slider.
MOST_CONTENTS, MOST_BYTES = 200, 4 << 20
# Turns whose plan stays in memory with everything it was made from.
MOST_PLANS = 8
FLUSH_SECONDS = 0.5
# Usage records that may wait for a store that is failing.
MOST_WAITING = 50_000


class Keeper(ValueStore, Protocol):
    """The part of a store that the journal needs."""

    def add_usages(self, records: Sequence[UsageRecord]) -> None: ...


class Journal:
    """Takes finished turns, and writes them to the store in batches from a thread."""

    def __init__(self, metrics: Metrics, keeper: Keeper | None = None, process: str = "") -> None:
        self.metrics = metrics
        self.history = History(keeper, process)
        self._turn_log = TurnLog(keeper, process) if keeper is not None else None
        self.recent: deque[GatewayTurn] = deque(maxlen=MOST_TURNS)
        self.hooks: list[Callable[[GatewayTurn], None]] = []
        self.before_flush: Callable[[], None] = lambda: None
        self._keeper = keeper
        self._contents: deque[tuple[GatewayTurn, int]] = deque()
        self._held = 0
        self._most = MOST_CONTENTS, MOST_BYTES
        self._plans: deque[GatewayTurn] = deque()
        self._waiting: list[GatewayTurn | UsageRecord] = []
        self._values: dict[str, bytes | None] = {}
        self._watchers: set[asyncio.Queue[GatewayTurn | None]] = set()
        self._task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()

    def start(self) -> None:
        if self._keeper is not None and self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._write())

    def hold(self, turns: int, size: int) -> None:
        """Set how many turns, and how many bytes, of messages stay in memory for the dashboard."""
        self._most = turns, size

    def opened(self, turn: GatewayTurn, size: int) -> None:
        """Note that a turn with a body of this size began; its content stays in memory while it is among the last."""
        self._contents.append((turn, size))
        self._held += size
        self._let_go()

    def _let_go(self) -> None:
        """Drop the oldest contents while there are too many or the total is too large."""
        turns, size = self._most
        while len(self._contents) > turns or (self._held > size and len(self._contents) > 1):
            old, freed = self._contents.popleft()
            self._held -= freed
            old.forget()

    def planned(self, turn: GatewayTurn) -> None:
        """Note that a turn was changed to fit. For old turns only the report stays, not what the plan was made from.

        That content is as large as the original request, which may be many times what was sent.
        """
        self._plans.append(turn)
        if self._contents and self._contents[-1][0] is turn and turn.original is not None:
            _, size = self._contents.pop()
            came = sum(len(message.raw) for message in turn.original.messages)
            self._contents.append((turn, max(size, came)))
            self._held += max(size, came) - size
            self._let_go()

    def finish(self, turn: GatewayTurn) -> None:
        """Note that a turn ended, whatever the outcome."""
        self.recent.append(turn)
        while len(self._plans) > MOST_PLANS:
            self._plans.popleft().let_go()
        self.metrics.ended(turn)
        self.history.add(turn)
        if self._turn_log is not None:
            self._turn_log.add(turn)
            self._wake.set()
        if turn.changed or turn.outcome not in ("done", "gone"):
            self._log(turn)
        if self._keeper is not None and turn.model:
            self._waiting.append(turn)
            self._wake.set()
        for hook in self.hooks:
            hook(turn)
        self._tell_watchers(turn)

    def _tell_watchers(self, turn: GatewayTurn) -> None:
        for queue in self._watchers:
            if not queue.full():
                queue.put_nowait(turn)

    def keep_usage(self, record: UsageRecord) -> None:
        """Write the usage of a call that isn't a turn with the next flush."""
        if self._keeper is not None:
            self._waiting.append(record)
            self._wake.set()

    def keep_value(self, name: str, value: bytes | None) -> None:
        """Write a small value with the next flush; None deletes it."""
        if self._keeper is not None:
            self._values[name] = value
            self._wake.set()

    def wake(self) -> None:
        """Flush a moment from now."""
        self._wake.set()

    def watch(self) -> asyncio.Queue[GatewayTurn | None]:
        """A queue of turns as they finish, ending with None; pass it to `unwatch` when done."""
        queue: asyncio.Queue[GatewayTurn | None] = asyncio.Queue(1_000)
        self._watchers.add(queue)
        return queue

    def unwatch(self, queue: asyncio.Queue[GatewayTurn | None]) -> None:
        self._watchers.discard(queue)

    def end_watching(self) -> None:
        """Tell all watchers that it is over."""
        for queue in self._watchers:
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(None)

    async def _write(self) -> None:
        while True:
            await self._wake.wait()
            await asyncio.sleep(FLUSH_SECONDS)
            self._wake.clear()
            self.before_flush()
            try:
                await asyncio.to_thread(self._flush)
            except Exception as problem:  # the task's outermost handler: one bad write must not end all later ones
                incidents.note("store", problem)
                self.metrics.add("brim_faults_total", ("store",))

    def _flush(self) -> None:
        assert self._keeper is not None
        waiting = self._waiting[:]
        del self._waiting[: len(waiting)]  # further ones may have come meanwhile
        records = [_record(one) if isinstance(one, GatewayTurn) else one for one in waiting]
        values, self._values = self._values, {}
        try:
            if records:
                self._keeper.add_usages(records)
        except BaseException:
            self._waiting[:0] = records[-MOST_WAITING:]  # for the next time
            raise
        for name, value in values.items():
            self._keeper.put_value(name, value)
        if self._turn_log is not None:
            self._turn_log.flush()
        self.history.flush()

    def restore(self, now: float) -> list[GatewayTurn]:
        """Load the last turns from the store; call it in a thread, before any new turn."""
        if self._turn_log is None:
            return []
        turns = self._turn_log.restore(now, MOST_TURNS)
        self.recent.extend(turns)
        return turns

    def follow(self, now: float) -> list[GatewayTurn]:
        """The turns that other processes have ended since the last time; to be called in a thread."""
        return self._turn_log.follow(now) if self._turn_log is not None else []

    def took(self, turns: Sequence[GatewayTurn]) -> None:
        """Note turns of other processes, for all who look or watch."""
        ordered = sorted([*self.recent, *turns], key=lambda turn: turn.at)
        self.recent.clear()
        self.recent.extend(ordered)
        for turn in turns:
            self._tell_watchers(turn)

    async def close(self) -> None:
        """Write everything that is waiting, and stop."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        if self._keeper is not None:
            await asyncio.to_thread(self._flush)

    def _log(self, turn: GatewayTurn) -> None:
        kind = {"done": "fitted", "gone": "client_gone"}.get(turn.outcome, turn.outcome)
        fields: dict[str, Any] = {
            "session": turn.session,
            "turn": turn.number,
            "model": turn.model,
            "upstream": turn.upstream,
            "before": turn.before,
            "after": turn.after,
            "limit": turn.limit,
            "archived": turn.archived,
            "refits": turn.refits,
            "recalls": turn.recalls,
            "status": turn.status,
            "added_ms": round(turn.added_ms, 2),
        }
        if turn.note:
            fields["note"] = turn.note
        tell(kind, logging.INFO if turn.outcome == "done" else logging.WARNING, **fields)


def _record(turn: GatewayTurn) -> UsageRecord:
    usage = turn.usage
    return UsageRecord(
        request=turn.id,
        at=turn.at,
        provider=turn.upstream,
        model=turn.model,
        estimated=turn.after,
        upper=turn.upper,
        actual_in=usage.input if usage else None,
        actual_out=usage.output if usage else None,
        cached=usage.cached if usage else 0,
        status="success" if turn.outcome == "done" and turn.status < 400 else "failed",
    )
