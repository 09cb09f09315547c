"""Keeps the numbers of the last turns in the store, so that sessions and turns survive a restart.

Each process and day has a ring of small values: writes are proportional to the turns, and storage is bounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

import msgspec

from brim.gateway.observe.history import DAY, LATE, Slots, ValueStore
from brim.gateway.observe.turns import GatewayTurn

# Turns per value and values per ring: 2,048 turns per process and day, about 300 bytes each.
CHUNK, RING = 32, 64
# New fields go at the end, because turns of an earlier version lack them.
FIELDS = (
    "id", "number", "session", "at", "api", "model", "upstream", "client", "tenant", "streamed", "before", "after",
    "upper", "limit", "window", "archived", "changed", "refits", "recalls", "recalled", "status", "outcome", "note",
    "added_ms", "total_ms", "usage", "cost", "saved", "stays",
)  # fmt: skip


_row = attrgetter(*FIELDS)


class TurnLog:
    """Takes turns as they end. `flush` and `restore` wait for the store, so call them in a thread."""

    def __init__(self, store: ValueStore, process: str) -> None:
        self._store = store
        self._slots = Slots(store, process)
        self._waiting: list[GatewayTurn] = []
        self._day = 0
        self._number = 0  # of the chunk that is being filled
        self._open: list[Sequence[object]] = []
        # Of each day and slot the chunk that was read last, and how many of its turns.
        self._seen: dict[tuple[int, int], tuple[int, int]] = {}

    def add(self, turn: GatewayTurn) -> None:
        self._waiting.append(turn)
        if len(self._waiting) > CHUNK * RING:
            del self._waiting[0]

    def flush(self) -> None:
        """Write the turns since the last flush."""
        waiting = self._waiting[:]
        del self._waiting[: len(waiting)]  # further ones may have come meanwhile
        if not waiting:
            return
        day = int(waiting[-1].at) // DAY * DAY
        slot = self._slots.mine(day)
        if slot is None:
            return
        if day != self._day:
            self._begin(day, slot)
        for turn in waiting:
            if len(self._open) >= CHUNK:
                self._put(day, slot)
                self._number, self._open = self._number + 1, []
            turn.fixed()  # must be computed while the content is in memory
            self._open.append(_row(turn))
        self._put(day, slot)

    def _begin(self, day: int, slot: int) -> None:
        """Continue after what an earlier process wrote to this slot today."""
        known = [number for number, _ in self._chunks(day, slot)]
        self._day, self._number, self._open = day, max(known, default=-1) + 1, []

    def _put(self, day: int, slot: int) -> None:
        value = msgspec.json.encode([self._number, self._open])
        self._store.put_value(_name(day, slot, self._number % RING), value)
        old = day - 2 * DAY
        if not self._number:  # the first of a day replaces one that is no longer restored
            for place in range(RING):
                self._store.put_value(_name(old, slot, place), None)

    def _chunks(self, day: int, slot: int) -> list[tuple[int, list[list[object]]]]:
        found = []
        for place in range(RING):
            value = self._store.get_value(_name(day, slot, place))
            if value is None:
                break  # a ring is filled from the start
            number, rows = msgspec.json.decode(value)
            found.append((number, rows))
        return found

    def restore(self, now: float, most: int) -> list[GatewayTurn]:
        """The last turns of today and yesterday, of all processes, oldest first."""
        today = int(now) // DAY * DAY
        turns: list[GatewayTurn] = []
        for day in (today - DAY, today):
            for slot in range(self._slots.count(day)):
                for number, rows in self._chunks(day, slot):
                    turns += [_turn(row) for row in rows if len(row) <= len(FIELDS)]
                    self._seen[day, slot] = max(self._seen.get((day, slot), (0, 0)), (number, len(rows)))
        return sorted(turns, key=lambda turn: turn.at)[-most:]

    def follow(self, now: float) -> list[GatewayTurn]:
        """The turns that other processes have written since the last time, the oldest first."""
        today = int(now) // DAY * DAY
        turns: list[GatewayTurn] = []
        for day in (today - DAY, today) if now - today < LATE else (today,):
            mine = self._slots.taken(day)
            for slot in range(self._slots.count(day)):
                if slot != mine:
                    turns += [_turn(row) for row in self._newer(day, slot) if len(row) <= len(FIELDS)]
        self._seen = {place: seen for place, seen in self._seen.items() if place[0] >= today - DAY}
        return sorted(turns, key=lambda turn: turn.at)

    def _newer(self, day: int, slot: int) -> list[list[object]]:
        """The rows of a slot behind those that were read."""
        found: list[list[object]] = []
        number, known = self._seen.get((day, slot), (0, 0))
        while (value := self._store.get_value(_name(day, slot, number % RING))) is not None:
            written, rows = msgspec.json.decode(value)
            if written < number:
                break  # of the last time round: the chunk has not begun
            if written > number:  # the ring has gone round since: what it still holds
                held = sorted(one for one in self._chunks(day, slot) if one[0] >= number)
                found += [row for _, rows in held for row in rows]
                self._seen[day, slot] = held[-1][0], len(held[-1][1])
                return found
            found += rows[known:]
            known = len(rows)
            if known < CHUNK:
                break
            number, known = number + 1, 0
        self._seen[day, slot] = number, known
        return found


def _turn(row: list[object]) -> GatewayTurn:
    return msgspec.convert(dict(zip(FIELDS, row, strict=False)), GatewayTurn, strict=False)


def _name(day: int, slot: int, place: int) -> str:
    return f"turns.{day}.{slot}.{place}"
