"""A bounded memory."""

from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as st

from brim.sized_lru import SizedLru


def test_what_is_put_is_found() -> None:
    memory: SizedLru[str, int] = SizedLru(10)
    assert memory.put("a", 1) == 1
    assert memory.get("a") == 1
    assert memory.get("b") is None


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9), st.booleans())))
def test_what_it_holds_is_never_larger_than_its_limit(steps: list[tuple[int, int, bool]]) -> None:
    memory: SizedLru[int, str] = SizedLru(40)
    for key, size, asks in steps:
        if asks:
            assert memory.get(key) in (None, str(key))
        else:
            memory.put(key, str(key), size)
        assert memory.size <= 40


def test_a_memory_that_is_full_stays_as_large_as_it_is() -> None:
    memory: SizedLru[int, int] = SizedLru(1_000)
    sizes = set()
    for number in range(10_000):
        memory.put(number, number, 10)
        if number >= 100:
            sizes.add(memory.size)
    assert sizes == {1_000}
    assert len(memory) == 100


def test_what_is_used_again_and_again_is_kept_while_the_rest_comes_and_goes() -> None:
    memory: SizedLru[str, int] = SizedLru(100)
    memory.put("kept", 1)
    for number in range(1_000):
        memory.put(f"other {number}", number)
        assert memory.get("kept") == 1
    assert memory.get("other 0") is None
    assert memory.get("other 999") == 999


def test_what_was_used_within_half_the_limit_is_still_there() -> None:
    memory: SizedLru[int, int] = SizedLru(100)
    for number in range(500):
        memory.put(number, number)
        assert all(memory.get(recent) == recent for recent in range(max(0, number - 49), number))


def test_all_that_has_room_is_found_in_its_order_again_and_again() -> None:
    memory: SizedLru[int, int] = SizedLru(100)
    for number in range(100):
        memory.put(number, number)
    for _ in range(3):
        assert [memory.get(number) for number in range(100)] == list(range(100))


def test_putting_a_key_again_replaces_its_value_and_its_size() -> None:
    memory: SizedLru[str, int] = SizedLru(100)
    memory.put("a", 1, 30)
    memory.put("a", 2, 10)
    assert (memory.get("a"), memory.size, len(memory)) == (2, 10, 1)


def test_one_that_is_larger_than_the_limit_is_held_alone_until_the_next() -> None:
    memory: SizedLru[str, int] = SizedLru(10)
    memory.put("small", 1, 5)
    memory.put("huge", 2, 50)
    assert (memory.get("huge"), memory.get("small")) == (2, None)
    memory.put("small", 1, 5)
    assert (memory.get("huge"), memory.get("small"), memory.size) == (None, 1, 5)


def test_a_memory_that_was_cleared_is_empty() -> None:
    memory: SizedLru[int, int] = SizedLru(10)
    for number in range(20):
        memory.put(number, number)
    memory.clear()
    assert (len(memory), memory.size, memory.get(19)) == (0, 0, None)


def test_several_threads_may_use_it_and_its_size_stays_true() -> None:
    memory: SizedLru[int, int] = SizedLru(64)

    def use(start: int) -> None:
        for number in range(3_000):
            key = (start + number * 7) % 200
            if memory.get(key) is None:
                memory.put(key, key, 1 + key % 3)

    threads = [threading.Thread(target=use, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    held = [key for key in range(200) if key in memory._young or key in memory._old]
    assert memory.size == sum(1 + key % 3 for key in held) <= 64


def test_many_entries_at_once_are_kept_and_found_as_one_by_one() -> None:
    one, many = SizedLru[int, int](100), SizedLru[int, int](100)
    for start in range(0, 120, 30):
        entries = [(number % 90, number, 1 + number % 3) for number in range(start, start + 30)]
        for entry in entries:
            one.put(*entry)
        many.put_all(entries)
        assert (many.size, list(many._young), list(many._old)) == (one.size, list(one._young), list(one._old))


def test_many_keys_at_once_are_found_in_both_queues() -> None:
    memory: SizedLru[int, int] = SizedLru(64)
    memory.put_all((number, number * 2, 1) for number in range(60))
    assert memory._old
    assert memory.get_all([*range(70), 3]) == [number * 2 for number in range(60)] + [None] * 10 + [6]
    assert 3 in memory._young
