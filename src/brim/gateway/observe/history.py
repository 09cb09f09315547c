"""Numbers over time: sums of turns per five minutes, model, client and tenant, stored by the hour.

Every process writes to its own slot, so that many gateways share a store without waiting for each other; readers add
the slots up. It contains no content.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec

from brim.gateway.observe.turns import GatewayTurn

BUCKET, HOUR, HALF, DAY = 300, 3_600, 43_200, 86_400
# The last minutes are also held in finer buckets, in memory, so that the dashboard shows what happens now.
FINE, FINE_SECONDS = 15, 900
# Seconds after which other gateways have surely written their numbers.
LATE = 60
# Older hours are deleted, a day at a time.
KEPT_DAYS = 31
# Rows per hour; further models and clients are added up under one name. A row
# takes about 120 bytes, so that an hour never takes more than 250 KB.
MOST_ROWS = 2_000
OTHERS = "(others)"
# Turns to collect before they are added.
MOST_TURNS = 256
# Processes per day that get a slot; further ones keep their numbers in memory.
MOST_SLOTS = 200

FIELDS: Final = (
    "requests", "failed", "tokens_before", "tokens_after", "overflows_avoided", "fitted", "refits", "recalls",
    "input", "cached", "output", "cost_usd", "saved_usd", "errors", "compared", "over_upper", "added_ms",
)  # fmt: skip
Key = tuple[int, str, str, str]  # start of the bucket, model, client, tenant
UseByKey = dict[Key, list[float]]


class ValueStore(Protocol):
    """The part of a store that the history needs."""

    def get_value(self, name: str) -> bytes | None: ...

    def put_value(self, name: str, value: bytes | None) -> None: ...

    def claim_value(self, name: str, value: bytes) -> bytes: ...


class Slots:
    """Assigns each process that writes on a day a number, always the same one."""

    def __init__(self, store: ValueStore, process: str) -> None:
        self._store = store
        self._process = process.encode()
        self._mine: dict[int, int] = {}

    def mine(self, day: int) -> int | None:
        """This process's slot of a day; None if all are taken."""
        if day not in self._mine:
            for slot in range(MOST_SLOTS):
                if self._store.claim_value(_slot(day, slot), self._process) == self._process:
                    self._mine[day] = slot
                    break
        return self._mine.get(day)

    def taken(self, day: int) -> int | None:
        """This process's slot of a day, if it has written on that day."""
        return self._mine.get(day)

    def count(self, day: int) -> int:
        """How many processes wrote on a day."""
        for slot in range(MOST_SLOTS):
            if self._store.get_value(_slot(day, slot)) is None:
                return slot
        return MOST_SLOTS


class History:
    """Takes turns as they end. `flush` and the readers are thread-safe and may wait for the store."""

    def __init__(self, store: ValueStore | None, process: str) -> None:
        self._store = store
        self._slots = Slots(store, process) if store is not None else None
        self._lock = threading.Lock()
        self._ended: list[GatewayTurn] = []  # turns that aren't added yet
        self._own: dict[int, UseByKey] = {}  # by hour
        self._fine: UseByKey = {}
        self._before: dict[int, UseByKey] = {}  # what this process's slot held before it first wrote that hour
        self._past: dict[tuple[int, int], UseByKey] = {}  # past hours, by hour and slot
        self._wide: dict[tuple[int, int, int], UseByKey] = {}  # sums of past time, by start, length and width
        self._changed: set[int] = set()
        self._cleared = 0

    def add(self, turn: GatewayTurn) -> None:
        """Note an ended turn. Never blocks. Adding many at once takes a third of the time."""
        self._ended.append(turn)
        if len(self._ended) >= MOST_TURNS:
            self._settle()

    def _settle(self) -> None:
        """Add the ended turns to the sums."""
        with self._lock:
            turns = self._ended[:]
            del self._ended[: len(turns)]  # further ones may have come meanwhile
            alike: dict[tuple[int, str, str, str], list[GatewayTurn]] = {}
            for turn in turns:
                alike.setdefault((int(turn.at) // FINE * FINE, turn.model, turn.client, turn.tenant), []).append(turn)
            for (at, *names), some in alike.items():
                hour = at // HOUR * HOUR
                rows = self._own.setdefault(hour, {})
                key: Key = (at // BUCKET * BUCKET, *names)  # type: ignore[assignment]
                if key not in rows and len(rows) >= MOST_ROWS:
                    key = (key[0], OTHERS, OTHERS, "")
                values = _values(some)
                _add(rows, key, values)
                self._add_fine((at, *key[1:]), values)
                self._changed.add(hour)
                if hour + HOUR < time.time():  # a long answer ends after the hour in which it began
                    self._wide.clear()

    def _add_fine(self, key: Key, values: Sequence[float]) -> None:
        """Add to the last minutes, and let go what is older. The lock is held."""
        if key not in self._fine:
            self._fine = {known: row for known, row in self._fine.items() if known[0] > key[0] - FINE_SECONDS - FINE}
        if key in self._fine or len(self._fine) < MOST_ROWS:
            _add(self._fine, key, values)

    def alone(self, now: float) -> bool:
        """Whether no other process has written today, so that the last minutes are all there is."""
        return self._store is None or self._slots is None or self._slots.count(int(now) // DAY * DAY) <= 1

    def flush(self) -> None:
        """Write the hours that changed."""
        if self._store is None or self._slots is None:
            return
        self._settle()
        with self._lock:
            changed, self._changed = self._changed, set()
        try:
            for hour in sorted(changed):
                self._write(hour)
        except BaseException:
            with self._lock:
                self._changed |= changed  # for the next time
            raise
        self._clear(int(time.time()))

    def _write(self, hour: int) -> None:
        assert self._store is not None
        assert self._slots is not None
        slot = self._slots.mine(hour // DAY * DAY)
        if slot is None:
            return
        if hour not in self._before:
            self._before[hour] = _decoded(self._store.get_value(_name(hour, slot)))
        with self._lock:
            rows = _sum([self._before[hour], self._own.get(hour, {})])
        listed = [[*key, *(round(value, 6) for value in values)] for key, values in rows.items()]
        self._store.put_value(_name(hour, slot), msgspec.json.encode(listed))

    def _clear(self, now: int) -> None:
        """Drop written past hours from memory and, once a day, old hours from the store."""
        with self._lock:
            for hour in [hour for hour in self._own if hour < now - 2 * DAY and hour not in self._changed]:
                self._own.pop(hour, None)
                self._before.pop(hour, None)
        day = now // DAY * DAY
        if self._store is None or self._slots is None or self._cleared == day:
            return
        self._cleared = day
        with self._lock:
            oldest = day - KEPT_DAYS * DAY
            self._past = {place: rows for place, rows in self._past.items() if place[0] >= oldest}
            self._wide = {place: rows for place, rows in self._wide.items() if place[0] >= oldest}
        for old in (day - KEPT_DAYS * DAY, day - (KEPT_DAYS + 1) * DAY):
            for slot in range(self._slots.count(old)):
                for hour in range(old, old + DAY, HOUR):
                    self._store.put_value(_name(hour, slot), None)
                self._store.put_value(_slot(old, slot), None)

    def rows(self, since: float, until: float, width: int = BUCKET) -> Iterator[tuple[Key, Sequence[float]]]:
        """The sums over a time in buckets of at most `width` seconds, over all processes on the store.

        Below BUCKET they are those of this process alone, and of the last minutes. Past time is added up once per
        width, so that a month is read as fast as it can be drawn.
        """
        self._settle()
        if width < BUCKET:
            with self._lock:
                fine = [(key, list(values)) for key, values in self._fine.items()]
            yield from ((key, values) for key, values in fine if since - FINE < key[0] <= until)
            return
        first, now = int(since) // HOUR * HOUR, int(until)
        hour = first
        while hour <= now:
            whole_day = width >= HALF and not hour % DAY and hour + DAY + LATE < now
            part = self._over(hour, DAY if whole_day else HOUR, min(width, HALF if whole_day else HOUR), now)
            for key, values in part.items():
                if since - BUCKET < key[0] <= until:
                    yield key, values
            hour += DAY if whole_day else HOUR

    def _over(self, start: int, length: int, width: int, now: int) -> UseByKey:
        """The sums of an hour or a day in buckets of this width; cached once nothing more can come."""
        known = self._wide.get((start, length, width))
        if known is not None:
            return known
        found: UseByKey = {}
        for hour in range(start, start + length, HOUR):
            for (at, *names), values in self._hour(hour, now).items():
                _add(found, (at // width * width, *names), values)  # type: ignore[arg-type]
        if start + length + LATE < now:
            with self._lock:
                self._wide[start, length, width] = found
        return found

    def _hour(self, hour: int, now: int) -> UseByKey:
        with self._lock:
            parts = [{key: list(values) for key, values in self._own.get(hour, {}).items()}]
        if self._store is None or self._slots is None:
            return parts[0]
        day = hour // DAY * DAY
        mine = self._slots.mine(day) if parts[0] else None
        for slot in range(self._slots.count(day)):
            if slot == mine:
                if hour not in self._before:
                    self._before[hour] = _decoded(self._store.get_value(_name(hour, slot)))
                parts.append(self._before[hour])
                continue
            known = self._past.get((hour, slot))
            if known is None:
                known = _decoded(self._store.get_value(_name(hour, slot)))
                if hour + HOUR + LATE < now:
                    self._past[hour, slot] = known
            parts.append(known)
        return _sum(parts)


def summed(rows: Iterator[tuple[Key, Sequence[float]]] | Sequence[tuple[Key, Sequence[float]]]) -> dict[str, float]:
    """All rows added up, by field. Example: summed([])["requests"] -> 0"""
    whole = [0.0] * len(FIELDS)
    for _, values in rows:
        for place, value in enumerate(values):
            whole[place] += value
    return dict(zip(FIELDS, whole, strict=True))


def _values(turns: Sequence[GatewayTurn]) -> tuple[float, ...]:
    """The sums of turns, in the order of FIELDS."""
    told = [turn.usage for turn in turns if turn.usage is not None]
    errors = [abs(turn.error) for turn in turns if not turn.about and turn.error is not None]
    return (
        len(turns),
        sum([turn.outcome not in ("done", "gone") or turn.status >= 400 for turn in turns]),
        sum([turn.before for turn in turns]),
        sum([turn.after for turn in turns]),
        sum([turn.before > turn.limit > 0 and turn.outcome == "done" for turn in turns]),
        sum([turn.changed for turn in turns]),
        sum([turn.refits for turn in turns]),
        sum([turn.recalls + turn.recalled for turn in turns]),
        sum([usage.input for usage in told]),
        sum([usage.cached for usage in told]),
        sum([usage.output for usage in told]),
        sum([turn.cost or 0.0 for turn in turns]),
        sum([turn.saved or 0.0 for turn in turns]),
        sum(errors),
        len(errors),
        sum([turn.usage is not None and turn.usage.input > turn.upper > 0 for turn in turns]),
        sum([turn.added_ms for turn in turns]),
    )


def _sum(parts: Sequence[Mapping[Key, Sequence[float]]]) -> UseByKey:
    found: UseByKey = {}
    for part in parts:
        for key, values in part.items():
            _add(found, key, values)
    return found


def _add(rows: UseByKey, key: Key, values: Sequence[float]) -> None:
    known = rows.get(key)
    rows[key] = list(values) if known is None else [a + b for a, b in zip(known, values, strict=True)]


def _decoded(value: bytes | None) -> UseByKey:
    """The rows of an hour, without those that an earlier version wrote with other fields."""
    listed: list[list[Any]] = msgspec.json.decode(value) if value else []
    return {(row[0], row[1], row[2], row[3]): row[4:] for row in listed if len(row) == 4 + len(FIELDS)}


def _slot(day: int, slot: int) -> str:
    return f"history.{day}.slot.{slot}"


def _name(hour: int, slot: int) -> str:
    return f"history.{hour}.{slot}"
