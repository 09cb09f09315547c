"""A conformance test suite for stores.

Example, in a file that pytest or unittest collects:

    class TestMyStore(StoreConformance):
        def make(self, limits: Limits, now: Callable[[], float]) -> Store:
            return MyStore(fresh_database(), limits, now=now)
"""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from brim.stores.protocol import Limits, Store, Turn, Wanted, blob_digest
from brim.stores.retention import retain
from brim.tokens.actuals import UsageRecord

__all__ = ["Clock", "StoreConformance"]

DAY = 86_400.0


class Clock:
    """A clock that tests set; it advances a little with every reading."""

    def __init__(self) -> None:
        self.time = 1_700_000_000.0

    def __call__(self) -> float:
        self.time += 0.001
        return self.time


def record(number: int, size: int = 200) -> bytes:
    return f'{{"role":"user","content":"{number} {"word " * (size // 5)}"}}'.encode()


class StoreConformance:
    """Subclass this and define how to create your store; every method tests one promise."""

    def make(self, limits: Limits, now: Callable[[], float]) -> Store:
        """A new, empty store with these limits that takes its time from `now`."""
        raise NotImplementedError("say how your store is made: def make(self, limits, now)")

    def again(self, store: Store) -> Store | None:
        """A second instance on a store's data, as another process would open it; None if that is impossible."""
        return None

    def setup_method(self) -> None:
        self.clock = Clock()
        self._opened: list[Store] = []

    setUp = setup_method

    def teardown_method(self) -> None:
        for store in reversed(self._opened):
            store.close()

    tearDown = teardown_method

    def open(self, limits: Limits = Limits()) -> Store:  # noqa: B008, frozen
        self._opened.append(self.make(limits, self.clock))
        return self._opened[-1]

    def other(self, store: Store) -> Store:
        """A second instance on a store's data, or the store itself if that is impossible."""
        found = self.again(store)
        if found is None:
            return store
        self._opened.append(found)
        return found

    def test_records_come_back_in_order_with_their_numbers(self) -> None:
        store = self.open()
        numbers = [store.commit(Turn("a", records=[record(2 * n), record(2 * n + 1)])) for n in range(60)]
        assert numbers == list(range(0, 120, 2))
        assert list(store.records("a")) == [record(n) for n in range(120)]
        for start in (1, 15, 16, 17, 118, 119, 120, 500):
            assert list(store.records("a", start)) == [record(n) for n in range(start, 120)]
        assert list(store.records("unknown")) == []

    def test_large_records_and_blobs_come_back_whole(self) -> None:
        store = self.open()
        large = [random.Random(n).randbytes(50_000 * n) for n in range(1, 4)]
        store.commit(Turn("a", records=[record(0), *large], blobs=large))
        assert list(store.records("a")) == [record(0), *large]
        assert [store.get_blob(blob_digest(data)) for data in large] == large

    def test_a_turn_keeps_its_state_meta_and_prefixes(self) -> None:
        store = self.open()
        store.commit(Turn("a", [record(0)], state=b"one", prefixes=[(blob_digest(b"p1"), 1)], meta={"title": "Ä"}))
        store.commit(Turn("a", [record(1)], state=b"two", prefixes=[(blob_digest(b"p2"), 2)]))
        store.commit(Turn("b", [record(2)], prefixes=[(blob_digest(b"q1"), 1)]))
        assert store.get_state("a") == b"two"
        assert store.get_state("b") is None
        found = store.get_session("a")
        assert found is not None
        assert (found.meta, found.records) == ({"title": "Ä"}, 2)
        unknown = [blob_digest(b"x%d" % n) for n in range(1_200)]
        assert store.find_prefix([*unknown, blob_digest(b"p2"), blob_digest(b"p1")]) == ("a", 2)
        assert store.find_prefix([blob_digest(b"p1")]) == ("a", 1)
        assert store.find_prefix([blob_digest(b"q1"), blob_digest(b"p1")]) == ("b", 1)
        assert store.find_prefix(unknown) is None
        assert store.find_prefix([]) is None

    def test_a_turn_that_expects_another_length_is_not_written(self) -> None:
        store = self.open()
        assert store.commit(Turn("a", [record(0)], expected=1)) is None
        assert store.get_session("a") is None
        assert store.commit(Turn("a", [record(0)], expected=0)) == 0
        assert store.commit(Turn("a", [record(1)], expected=0)) is None
        assert store.commit(Turn("a", [record(1)], expected=1)) == 1
        assert list(store.records("a")) == [record(0), record(1)]

    def test_sessions_are_listed_newest_first_by_page_and_by_text(self) -> None:
        store = self.open()
        for number in range(5):
            store.put_session(f"s{number}", {"title": f"Trip_{number} 100%"})
        store.touch("s1")
        listed = store.sessions()
        assert [one.id for one in listed] == ["s1", "s4", "s3", "s2", "s0"]
        assert [one.id for one in store.sessions(2, before=listed[1].touched)] == ["s3", "s2"]
        assert [one.id for one in store.sessions(query="trip_3")] == ["s3"]
        assert [one.id for one in store.sessions(query="S4")] == ["s4"]
        assert len(store.sessions(query="100%")) == 5
        assert store.sessions(query="1_0") == []

    def test_a_deleted_session_leaves_nothing_and_others_keep_what_they_share(self) -> None:
        store = self.open()
        shared, own, small = b"shared " * 3_000, b"own " * 3_000, b"small"
        store.commit(Turn("a", [shared], [shared, own, small], prefixes=[(blob_digest(b"p"), 1)]))
        store.commit(Turn("b", [shared], [shared]))
        assert store.delete_session("a")
        assert not store.delete_session("a")
        assert store.get_session("a") is None
        assert list(store.records("a")) == []
        assert store.find_prefix([blob_digest(b"p")]) is None
        assert store.get_blob(blob_digest(own)) is None
        assert store.get_blob(blob_digest(small)) is None
        assert store.get_blob(blob_digest(shared)) == shared
        assert list(store.records("b")) == [shared]
        store.commit(Turn("a", [record(7)]))
        assert list(store.records("a")) == [record(7)]

    def test_a_fork_has_the_common_part_and_its_own_future(self) -> None:
        store = self.open()
        large = b"large " * 2_000
        for number in range(30):
            store.commit(Turn("a", [record(2 * number), record(2 * number + 1)], [b"blob %d" % number, large]))
        store.commit(Turn("a", meta={"title": "trip"}))
        assert store.fork_session("a", "b", 21)
        assert not store.fork_session("a", "b", 5)
        assert not store.fork_session("unknown", "c", 5)
        store.commit(Turn("b", [b"new"], expected=21))
        assert list(store.records("b")) == [*(record(n) for n in range(21)), b"new"]
        assert len(list(store.records("a"))) == 60
        assert store.delete_session("a")
        assert list(store.records("b", 20)) == [record(20), b"new"]
        assert store.find_blob(blob_digest(b"blob 3").hex()[:8], "b") == b"blob 3"
        assert store.get_blob(blob_digest(large)) == large
        found = store.get_session("b")
        assert found is not None
        assert found.meta == {"title": "trip"}

    def test_a_handle_finds_the_sessions_own_blob_and_never_that_of_another(self) -> None:
        store = self.open()
        (mine,) = store.put_blobs([b"mine"], "a")
        (theirs,) = store.put_blobs([b"theirs"], "b")
        (free,) = store.put_blobs([b"free"])
        assert store.find_blob(mine.hex()[:8], "a") == b"mine"
        assert store.find_blob(mine.hex()[:8].upper(), "a") == b"mine"
        assert store.find_blob(theirs.hex()[:8], "a") is None
        assert store.find_blob(theirs.hex()[:8], "unknown") is None
        assert store.find_blob(theirs.hex()[:8]) == b"theirs"
        assert store.find_blob(free.hex()[:8], "a") is None
        assert store.find_blob(free.hex()[:8]) == b"free"
        assert store.get_blob(mine, "a") == b"mine"
        assert store.get_blob(theirs, "a") is None
        assert store.get_blob(theirs, "unknown") is None
        assert store.get_blob(free, "a") is None
        assert store.get_blob(free) == b"free"
        assert store.find_blob(free.hex()[:-1] + "g", "a") is None
        assert store.find_blob("", "a") is None
        assert store.get_blob(bytes(32)) is None

    def test_an_ambiguous_handle_means_the_newest(self) -> None:
        store = self.open()
        digit = blob_digest(b"blob 0").hex()[0]
        alike = [data for data in (b"blob %d" % n for n in range(200)) if blob_digest(data).hex()[0] == digit]
        for data in alike:
            store.put_blobs([data], "a")
        assert store.find_blob(digit, "a") == alike[-1]

    def test_actuals_values_and_usage_are_kept(self) -> None:
        store = self.open()
        assert store.get_actual(b"k") is None
        store.put_actual(b"k", 5)
        store.put_actual(b"k", 7)
        assert store.get_actual(b"k") == 7
        store.put_value("last model", b"m")
        assert store.get_value("last model") == b"m"
        store.put_value("last model", None)
        assert store.get_value("last model") is None
        for name in ("spent.b.2", "spent.a.1", "spent", "spent.b.1", "spenu"):
            store.put_value(name, name.encode())
        assert list(store.values("spent.").items()) == [
            (n, n.encode()) for n in ("spent.a.1", "spent.b.1", "spent.b.2")
        ]
        assert store.values("nothing") == {}
        noon = 1_700_049_600.0
        for number in range(6):
            numbers = noon + DAY * (number // 4), "p", "x" if number % 2 else "y", 100, 110, 90, 10, 40
            store.add_usage(UsageRecord(f"r{number}", *numbers, "success" if number % 2 else "failed"))
        store.add_usage(UsageRecord("r1", noon, "p", "x", 100, 110, 95, 10, 0, "success"))
        assert [one.request for one in store.usage(limit=2)] in (["r5", "r4"], ["r4", "r5"])
        assert {one.request for one in store.usage(model="x")} == {"r1", "r3", "r5"}
        assert len(store.usage(since=noon + DAY)) == 2
        sums = store.usage_sums()
        assert [(one.day, one.model, one.requests, one.failed) for one in sums] == [
            ("2023-11-16", "x", 1, 0),
            ("2023-11-16", "y", 1, 1),
            ("2023-11-15", "x", 2, 0),
            ("2023-11-15", "y", 2, 2),
        ]
        assert (sums[2].actual_in, sums[2].cached, sums[2].estimated) == (185, 40, 200)

    def test_old_sessions_and_blobs_go_and_live_ones_stay(self) -> None:
        limits = Limits(max_age_days=30, live_seconds=60)
        store = self.open(limits)
        shared = b"shared " * 2_000
        store.commit(Turn("old", [record(0), shared], prefixes=[(blob_digest(b"old"), 1)]))
        (loose,) = store.put_blobs([b"loose"])
        (kept,) = store.put_blobs([shared])
        self.clock.time += 31 * DAY
        store.commit(Turn("new", [record(1)], [shared], prefixes=[(blob_digest(b"new"), 1)]))
        evicted = store.evict()
        assert evicted.sessions + (store.get_session("old") is None) >= 1
        assert [one.id for one in store.sessions()] == ["new"]
        assert store.get_blob(loose) is None
        assert store.get_blob(kept) == shared
        assert store.find_prefix([blob_digest(b"old"), blob_digest(b"new")]) == ("new", 1)

    def test_a_tenant_with_days_of_its_own_keeps_its_sessions_for_so_long(self) -> None:
        store = self.open(Limits(max_age_days=30))
        for tenant, days in (("short", 7), ("long", 90), ("gone", 1)):
            retain(store, tenant, days)
        retain(store, "gone", 0)
        for name in ("short~a", "long~a", "longer~a", "gone~a", "a"):
            store.commit(Turn(name, [record(0)]))
        kept = []
        for days in (6, 2, 24, 30, 31):  # 6, 8, 32, 62 and 93 days after the last turn
            self.clock.time += days * DAY
            store.evict()
            kept.append(sorted(one.id for one in store.sessions()))
        others = sorted(["a", "gone~a", "long~a", "longer~a"])
        assert kept == [sorted([*others, "short~a"]), others, ["long~a"], ["long~a"], []]

    def test_over_the_size_limit_the_oldest_go_first_and_live_ones_never(self) -> None:
        limits = Limits(max_bytes=1 << 20, live_seconds=100)
        store = self.open(limits)
        for number in range(40):
            self.clock.time += 10
            store.commit(Turn(f"s{number}", [random.Random(number).randbytes(100_000)]))
        store.evict()
        live = [f"s{number}" for number in range(39, 29, -1)]
        assert [one.id for one in store.sessions()][: len(live)] == live
        assert store.size() < 2 << 20
        assert store.get_session("s0") is None
        self.clock.time += 1_000
        store.evict()
        assert store.size() <= 1 << 20
        remaining = [one.id for one in store.sessions()]
        assert remaining == live[: len(remaining)]
        assert remaining

    def test_a_load_brings_all_that_a_request_needs_at_once(self) -> None:
        store = self.open()
        view, archived = b"what the view shows", b"what was archived"
        digests = [blob_digest(view)]
        turn = Turn("a", [record(0), record(1)], [view, archived], b"state", [(blob_digest(b"p"), 2)], shown=digests)
        store.commit(turn)
        for wanted in (Wanted("a"), Wanted("unknown", [blob_digest(b"x"), blob_digest(b"p")])):
            found = store.load(wanted)
            assert found.session is not None
            assert (found.session.id, found.session.records) == ("a", 2)
            assert list(found.records) == [record(0), record(1)]
            assert (found.state, dict(found.blobs)) == (b"state", {blob_digest(view): view})
            assert found.length == (2 if wanted.prefixes else 0)
        assert list(store.load(Wanted("a", start=1)).records) == [record(1)]
        assert store.load(Wanted("unknown", [blob_digest(b"x")])).session is None
        assert store.load(Wanted()).session is None

    def test_a_load_brings_nothing_that_is_at_hand(self) -> None:
        store = self.open()
        store.commit(Turn("a", [record(0)], [b"view"], b"state", shown=[blob_digest(b"view")], owner="me"))
        known = store.load(Wanted("a"))
        assert known.session is not None
        same = store.load(Wanted("a", start=1, epoch=known.session.epoch))
        assert same.session == known.session
        assert (list(same.records), same.state, dict(same.blobs)) == ([], None, {})
        store.commit(Turn("a", state=b"another", owner="you"))
        other = store.load(Wanted("a", start=1, epoch=known.session.epoch))
        assert (list(other.records), other.state, len(other.blobs)) == ([], b"another", 1)

    def test_sizes_that_one_holder_commits_another_loads(self) -> None:
        store = self.open()
        store.put_actual(b"key", 41)
        assert store.get_actual(b"key") == 41
        store.commit(Turn("a", [record(0)]))
        other = self.other(store)
        other.load(Wanted("a", sizes=[b"key", b"other key"]))
        assert other.get_actual(b"key") == 41
        assert other.get_actual(b"other key") is None

    def test_a_paused_writer_is_fenced_off_by_the_epoch(self) -> None:
        store = self.open()
        other = self.other(store)
        store.commit(Turn("a", [record(0)], expected=0, owner="first", epoch=0))
        mine = store.load(Wanted("a")).session
        assert mine is not None
        assert (mine.owner, mine.epoch) == ("first", 1)
        assert mine.until > mine.touched
        assert store.commit(Turn("a", state=b"s1", expected=1, owner="first", epoch=1)) == 1
        assert other.commit(Turn("a", state=b"s2", expected=1, owner="second", epoch=1)) == 1
        assert store.commit(Turn("a", state=b"s3", expected=1, owner="first", epoch=1)) is None
        assert store.get_state("a") == b"s2"
        found = store.get_session("a")
        assert found is not None
        assert (found.owner, found.epoch, found.records) == ("second", 2, 1)
        assert store.commit(Turn("a", [record(1)], expected=1, owner="first", epoch=2)) == 1

    def test_of_writers_at_one_position_one_succeeds(self) -> None:
        store = self.open()
        holders = [self.other(store) for _ in range(4)]
        with ThreadPoolExecutor(4) as threads:
            for position in range(10):

                def write(number: int, position: int = position) -> int | None:
                    return holders[number].commit(Turn("a", [b"%d" % number], expected=position))

                taken = list(threads.map(write, range(4)))
                assert sorted(taken, key=repr) == sorted([position, None, None, None], key=repr)
        assert len(list(store.records("a"))) == 10

    def test_many_writers_of_shared_content_and_counters_do_not_block_each_other(self) -> None:
        store = self.open()
        holders = [self.other(store) for _ in range(4)]
        shared = [b"shared %d " % n * 1_000 for n in range(6)]

        def write(number: int) -> None:
            dice = random.Random(number)
            for turn in range(8):
                some = dice.sample(shared, 4)
                for key in dice.sample(range(20), 8):
                    holders[number].put_actual(b"key %d" % key, 1 + turn)
                holders[number].commit(Turn(f"s{number}", [*some], some, prefixes=[(blob_digest(some[0]), turn)]))
                usages = [UsageRecord(f"r{n}", self.clock.time, "p", "m", 1, 1) for n in dice.sample(range(20), 8)]
                holders[number].add_usages(usages)

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(write, range(4)))
        assert all(len(list(store.records(f"s{number}"))) == 32 for number in range(4))
        assert all(store.get_blob(blob_digest(data)) == data for data in shared)

    def test_a_value_that_many_claim_is_one(self) -> None:
        store = self.open()
        holders = [self.other(store) for _ in range(4)]
        with ThreadPoolExecutor(4) as threads:
            claimed = set(threads.map(lambda n: holders[n].claim_value("key", b"%d" % n), range(4)))
        assert len(claimed) == 1
        assert store.get_value("key") in claimed

    def test_odd_names_and_bytes_come_back_as_they_were(self) -> None:
        store = self.open()
        for name in ("Ä~%_'\"; DROP TABLE sessions", "日本語", " ", "a" * 2_000):
            odd = bytes(range(256))
            store.commit(Turn(name, [odd, b""], [odd, b""], odd, meta={"title": name}))
            found = store.get_session(name)
            assert found is not None
            assert found.meta == {"title": name}
            assert list(store.records(name)) == [odd, b""]
            assert (store.get_state(name), store.find_blob(blob_digest(odd).hex(), name)) == (odd, odd)
            assert store.get_blob(blob_digest(b""), name) == b""

    def test_what_a_tenant_keeps_another_tenant_cannot_name(self) -> None:
        store = self.open()
        (secret,) = store.put_blobs([b"theirs " * 2_000], "theirs~a")
        store.commit(Turn("ours~a", [record(0)], prefixes=[(blob_digest(b"p"), 1)]))
        assert store.get_blob(secret, "ours~a") is None
        assert store.find_blob(secret.hex(), "ours~a") is None
        assert store.get_session("a") is None
        assert store.load(Wanted("theirs~b")).session is None
