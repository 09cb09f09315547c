"""What a replay remembers of conversations does not grow with what they said, nor with how many there are."""

from __future__ import annotations

from collections.abc import Iterator

from brim import apis
from brim.models import find
from brim.replays.bills import Bills
from brim.replays.changes import Changes, SeenChanges
from brim.replays.result import MOST_TIMES, Change, Times
from brim.tokens.counter import Counter
from tests.replays.chats import claude


def test_a_bill_remembers_eight_bytes_a_message_and_none_of_the_tools() -> None:
    tools = [{"name": "read_log", "description": "Reads. " * 1_000, "input_schema": {"type": "object"}}]
    body = {**claude(6)[-1], "tools": tools}
    bills = Bills(5, 10)
    bills.bill("a", apis.parse(body), Counter(find("claude-sonnet-4-5"), "anthropic"), None, None)
    last = bills._last["a"]
    assert len(last.messages.tobytes()) == 8 * len(body["messages"])
    assert isinstance(last.head, int)


def test_changes_forget_the_items_of_the_conversations_that_went_on_least_lately() -> None:
    changes = Changes(items=5)

    def found(place: str) -> Iterator[Change]:
        return (Change(place, f"messages[{n}]", "log result", "", "archived", 10, 0) for n in range(3))

    for key in ("a", "b", "c"):
        changes.note(key, lambda seen, key=key: found(key))  # type: ignore[misc]
    known: dict[str, SeenChanges] = dict(changes._seen)
    assert list(known) == ["c"]
    assert changes.archived == 9


def test_the_times_of_many_requests_are_a_sample_with_the_same_percentiles() -> None:
    times = Times()
    for number in range(10 * MOST_TIMES):
        times.add(number % 1_000)
    assert len(times.kept) <= MOST_TIMES
    assert abs(times.percentile(0.5) - 500) <= 10
    assert abs(times.percentile(0.95) - 950) <= 10
