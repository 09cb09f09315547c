"""`/v1/responses/compact` and `compaction_trigger`: the upstream's answer if it knows them, else Brim's own."""

from __future__ import annotations

import json
from typing import Any

from brim.testing import Fail, FakeProvider, Raw, Say
from tests.gateway.conftest import Got, Running

ASK = "Count the berths of every pier. The word is heliotrope."
NOT_FOUND = Fail(404, "Invalid URL (POST /v1/responses/compact)")
TRIGGER = {"type": "compaction_trigger"}


def user(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def steps(count: int, start: int = 0) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for number in range(start, start + count):
        said = "\n".join(f"berth {number}-{row}: {row * 7919 % 1013} cm free" for row in range(60))
        call = {"type": "function_call", "call_id": f"c{number}", "name": "shell", "arguments": f'{{"pier": {number}}}'}
        found += [call, {"type": "function_call_output", "call_id": f"c{number}", "output": said}]
    return found


def ask(gateway: Running, items: list[Any], path: str = "/v1/responses", **more: Any) -> Got:
    return gateway.ask("POST", path, {"model": "gpt-4o", "input": items, **more}, {"session-id": "s1"})


def item_of(answer: Got) -> dict[str, Any]:
    (found,) = [one for one in answer.json["output"] if one["type"] == "compaction"]
    return dict(found)


def test_brim_compacts_where_the_upstream_has_no_such_place(gateway: Running, fake: FakeProvider) -> None:
    fake.script(NOT_FOUND)
    answer = ask(gateway, [user(ASK), *steps(10)], "/v1/responses/compact")
    assert (answer.status, answer.json["object"]) == (200, "response.compaction")
    assert answer.json["output"][0] == user(ASK)
    assert item_of(answer)["encrypted_content"]
    assert answer.json["usage"]["output_tokens"] <= 0.6 * answer.json["usage"]["input_tokens"] + 50


def test_the_same_history_gives_the_same_item(gateway: Running, fake: FakeProvider) -> None:
    fake.script(NOT_FOUND)
    asked = [user(ASK), *steps(10)]
    first, again = (item_of(ask(gateway, asked, "/v1/responses/compact")) for _ in range(2))
    assert first == again
    assert len(fake.posts) == 1  # the upstream is asked once whether it knows the place


def test_a_trigger_that_the_upstream_ignores_is_answered_with_one_item(gateway: Running, fake: FakeProvider) -> None:
    fake.default = Say("I do not know what you want.")
    events = ask(gateway, [user(ASK), *steps(10), TRIGGER], stream=True).events
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert [one["type"] for one in done] == ["compaction"]
    assert events[-1]["type"] == "response.completed"
    assert [event["sequence_number"] for event in events] == list(range(len(events)))


def test_the_item_of_an_upstream_that_compacts_comes_through(gateway: Running, fake: FakeProvider) -> None:
    own = {"type": "compaction", "id": "cmp_1", "encrypted_content": "opaque"}
    told = {"id": "resp_1", "object": "response", "status": "completed", "output": [own]}
    fake.script(Raw((json.dumps(told).encode(),)))
    assert item_of(ask(gateway, [user(ASK), *steps(2), TRIGGER])) == own


def test_a_refused_key_is_not_taken_for_ignorance(gateway: Running, fake: FakeProvider) -> None:
    fake.script(Fail(401, "Incorrect API key provided"))
    assert ask(gateway, [user(ASK), TRIGGER]).status == 401


def test_the_upstream_reads_the_summary_in_words(gateway: Running, fake: FakeProvider) -> None:
    fake.script(NOT_FOUND)
    made = item_of(ask(gateway, [user(ASK), *steps(10)], "/v1/responses/compact"))
    assert ask(gateway, [user(ASK), made, user("And the last pier?")]).status == 200
    sent = json.loads(fake.posts[-1].body)["input"]
    assert [one["type"] for one in sent] == ["message"] * 3
    summary = sent[1]["content"][0]["text"]
    assert "shell(" in summary
    assert "berth 9-0" in summary
    assert sent[0] == user(ASK)


def test_a_second_compaction_holds_what_the_first_did_and_no_user_message_twice(
    gateway: Running, fake: FakeProvider
) -> None:
    fake.script(NOT_FOUND)
    asks = ASK + " Keep in mind:" + " every pier has its own berths." * 20
    first = item_of(ask(gateway, [user(asks), *steps(4)], "/v1/responses/compact"))
    again = [user(asks), first, *steps(4, 10), user("Go on.")]
    second = item_of(ask(gateway, again, "/v1/responses/compact"))
    ask(gateway, [user(asks), user("Go on."), second])
    sent = fake.posts[-1].body.decode()
    assert sent.count("every pier has its own berths. every pier has its own berths. every pier") < 20
    assert sent.count(asks) == 1
    assert '\\"pier\\": 0' in sent
    assert '\\"pier\\": 13' in sent


def test_a_changed_item_goes_on_as_it_came(gateway: Running, fake: FakeProvider) -> None:
    broken = {"type": "compaction", "encrypted_content": "brim-compaction:1:%%%"}
    assert ask(gateway, [user(ASK), broken]).status == 200
    assert json.loads(fake.posts[-1].body)["input"][1] == broken


def test_what_a_compaction_leaves_out_is_archived(gateway: Running, fake: FakeProvider) -> None:
    fake.script(NOT_FOUND)
    asked = [user(ASK), *steps(12)]
    answer = ask(gateway, asked, "/v1/responses/compact")
    live = gateway.gateway.fitter.conversations.get(answer.headers["x-brim-session"])
    assert live is not None
    assert live.archive
    kept = [gateway.gateway.fitter.archived(live, handle) for handle in live.archive]
    outputs = [one["output"] for one in asked if one["type"] == "function_call_output"]
    assert set(kept) & set(outputs)


def test_nothing_to_compact_is_said(gateway: Running, fake: FakeProvider) -> None:
    fake.script(NOT_FOUND)
    answer = ask(gateway, [], "/v1/responses/compact")
    assert (answer.status, answer.json["error"]["code"]) == (400, "nothing_to_compact")


def test_a_history_of_megabytes_is_compacted_too(gateway: Running, fake: FakeProvider) -> None:
    fake.script(NOT_FOUND)
    long = {"type": "function_call_output", "call_id": "c99", "output": "a long line of the harbour's log\n" * 30_000}
    call = {"type": "function_call", "call_id": "c99", "name": "shell", "arguments": "{}"}
    made = item_of(ask(gateway, [user(ASK), call, long, *steps(2), TRIGGER]))
    assert made["type"] == "compaction"
