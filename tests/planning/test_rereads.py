"""The same file read again and again: only the newest copy takes room."""

from __future__ import annotations

import json
from typing import Any

import pytest

import brim

SOURCE = "\n".join(
    f"def handler_{n}(request, store):\n    return store.fetch('{n * 7919}', request.user_{n})" for n in range(60)
)


def read(number: int, path: str, content: str) -> list[dict[str, Any]]:
    function = {"name": "read_file", "arguments": json.dumps({"path": path})}
    return [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": f"c{number}", "content": content},
    ]


def other(number: int) -> str:
    return "\n".join(f"value_{number}_{n} = compute({n * number % 97}, '{n * 31 % 1009}')" for n in range(60))


def run() -> list[dict[str, Any]]:
    """One file read four times, and five others between."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Find out why handler_7 fails."}]
    for number in range(9):
        path, content = (
            ("src/handlers.py", SOURCE) if number % 2 == 0 and number < 8 else (f"o{number}.py", other(number))
        )
        messages += read(number, path, content)
    return messages


@pytest.mark.parametrize("share", [0.4, 0.5, 0.65])
def test_only_the_newest_copy_of_a_file_is_whole(share: float) -> None:
    messages = run()
    budget = int(share * brim.count(messages, model="gpt-4o").tokens)
    fitted = brim.fit(messages, model="gpt-4o", budget=budget)
    whole = [place for place, message in enumerate(fitted.messages) if message.get("content") == SOURCE]
    assert len(whole) <= 1
    last = max(place for place, message in enumerate(messages) if message.get("content") == SOURCE)
    if whole:
        assert fitted.messages[whole[0]]["tool_call_id"] == messages[last]["tool_call_id"]


def test_an_older_copy_says_that_it_came_again_and_can_be_recalled() -> None:
    messages = run()
    budget = int(0.65 * brim.count(messages, model="gpt-4o").tokens)
    session = brim.Session(model="gpt-4o", budget=budget)
    for end in range(3, len(messages) + 1, 2):
        sent = str(session.fit(messages[:end]).messages)
    assert session.compactions
    assert sent.count("def handler_7(") <= 2
    fitted = brim.fit(messages, model="gpt-4o", budget=budget)
    marks = [message["content"] for message in fitted.messages if "returned the same" in str(message.get("content"))]
    for mark in marks:
        assert SOURCE in fitted.archive.values()
        assert mark.startswith("[… a later call returned the same, brim:")


def result_at(fitted: brim.Fitted, call: str) -> str:
    return next(str(message["content"]) for message in fitted.messages if message.get("tool_call_id") == call)


@pytest.mark.parametrize("share", [0.65, 0.8])
def test_an_older_read_of_a_changed_file_says_what_changed(share: float) -> None:
    messages = run()
    for place in (2, 6, 10):
        messages[place]["content"] = SOURCE.replace("def handler_7(", "def handler_seven(")
    fitted = brim.fit(messages, model="gpt-4o", budget=int(share * brim.count(messages, model="gpt-4o").tokens))
    older, newest = result_at(fitted, "c4"), result_at(fitted, "c6")
    assert newest == SOURCE
    assert older.startswith("[… the same call later returned this changed, brim:")
    assert "-def handler_seven(request, store):\n+def handler_7(request, store):" in older
    assert len(older) < 400
    assert messages[10]["content"] in fitted.archive.values()
    assert result_at(fitted, "c0").startswith("[… a later call returned the same, brim:")


def test_the_report_says_what_became_of_an_older_read() -> None:
    messages = run()
    fitted = brim.fit(messages, model="gpt-4o", budget=int(0.8 * brim.count(messages, model="gpt-4o").tokens))
    older = [one for one in fitted.plan.decisions if one.item == "messages[2].parts[0]"]
    assert [one.reason for one in older] == ["a later call returned the same: the newest stays"]
    assert older[0].after < 40 < older[0].before


def test_a_part_of_a_file_that_was_read_whole_later_refers_to_that() -> None:
    lines = SOURCE.split("\n")
    messages = [{"role": "user", "content": "Find out why handler_7 fails."}]
    messages += read(0, "src/handlers.py", "\n".join(lines[20:60])) + read(1, "src/handlers.py", SOURCE)
    messages += read(2, "o.py", other(2))
    fitted = brim.fit(messages, model="gpt-4o", budget=int(0.9 * brim.count(messages, model="gpt-4o").tokens))
    assert result_at(fitted, "c0").startswith("[… a later call returned this and more, brim:")
    assert result_at(fitted, "c1") == SOURCE


def test_another_page_of_the_same_call_is_no_older_copy() -> None:
    """A result that has little in common with the next one of the same call is shortened like any other."""
    messages = [{"role": "user", "content": "Read all pages."}]
    for number in range(4):
        messages += read(number, "next", other(number))
    fitted = brim.fit(messages, model="gpt-4o", budget=int(0.8 * brim.count(messages, model="gpt-4o").tokens))
    assert "later returned" not in str(fitted.messages)


def test_the_results_of_the_newest_step_stay_whole_even_if_they_are_the_same() -> None:
    messages = run()[:-4]
    step = [read(number, "src/handlers.py", SOURCE) for number in (20, 21)]
    calls = [call for assistant, _ in step for call in assistant["tool_calls"]]
    messages += [{**step[0][0], "tool_calls": calls}, step[0][1], step[1][1]]
    fitted = brim.fit(messages, model="gpt-4o", budget=int(0.8 * brim.count(messages, model="gpt-4o").tokens))
    assert [message["content"] for message in fitted.messages[-2:]] == [SOURCE, SOURCE]


def test_a_pinned_read_stays_as_it_is() -> None:
    messages = run()
    messages[2] = brim.pin(messages[2])
    fitted = brim.fit(messages, model="gpt-4o", budget=int(0.8 * brim.count(messages, model="gpt-4o").tokens))
    assert result_at(fitted, "c0") == SOURCE


def test_a_session_leaves_what_it_sent_alone_until_a_compaction() -> None:
    """Reading a file again changes nothing of what the provider has cached; the compaction then shortens the copy."""
    messages, sent = run(), list[Any]()
    for place in (2, 6, 10):
        messages[place]["content"] = SOURCE.replace("def handler_7(", "def handler_seven(")
    budget = int(0.65 * brim.count(messages, model="gpt-4o").tokens)
    session = brim.Session(model="gpt-4o", budget=budget)
    for end in range(3, len(messages) + 1, 2):
        before, compactions = sent, session.compactions
        sent = session.fit(messages[:end]).messages
        if session.compactions == compactions:
            assert sent[: len(before)] == before
    assert session.compactions
    assert "later returned" in str(sent)
    handle = next(str(one["content"]).partition("brim:")[2][:8] for one in sent if "returned this" in str(one))
    assert "def handler_seven(" in session.recall(handle)
