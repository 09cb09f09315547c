"""How a session is used: say, attach, record, load, policies, refusals, stores that fail."""

from __future__ import annotations

import json
import logging
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import brim
from brim import apis, models
from brim.content import handle_of
from brim.sessions.session import Session
from brim.stores.inmemory import InMemoryStore
from brim.stores.protocol import Store
from brim.stores.resilient import open_store

HANDLE = re.compile(r"brim:[0-9a-f]{8,}")
REPLIES: dict[str, Any] = {
    "openai_chat": {
        "choices": [{"message": {"role": "assistant", "content": "Noted."}}],
        "usage": {"prompt_tokens": 27, "completion_tokens": 2},
    },
    "anthropic": {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "Noted."}],
        "usage": {"input_tokens": 20, "cache_read_input_tokens": 7, "output_tokens": 2},
    },
    "openai_responses": {
        "output": [
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Noted."}]},
        ],
        "usage": {"input_tokens": 27, "output_tokens": 2},
    },
    "gemini": {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "Noted."}]}}],
        "usageMetadata": {"promptTokenCount": 27, "candidatesTokenCount": 2},
    },
}
MODELS = {
    "openai_chat": "gpt-4o",
    "anthropic": "claude-sonnet-4-5",
    "openai_responses": "gpt-4.1",
    "gemini": "gemini-2.5-pro",
}


def orders(number: int, rows: int = 30) -> str:
    found = [{"id": number * 1000 + k, "code": f"ORD-{number}{k:03}", "state": "open"} for k in range(rows)]
    return json.dumps({"orders": found})


def tool_turns(turns: int) -> list[dict[str, Any]]:
    """A chat in which every turn calls a tool once."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You are a clerk."}]
    for number in range(turns):
        function = {"name": "orders", "arguments": json.dumps({"page": number})}
        call = {"id": f"c{number}", "type": "function", "function": function}
        messages += [
            {"role": "user", "content": f"Show page {number} of the orders."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": orders(number)},
            {"role": "assistant", "content": f"Page {number} has 30 open orders."},
        ]
    return messages


def request(number: int) -> str:
    return f"Request {number}: please move order ORD-{number:03} to the depot. " + "More words. " * 30


@pytest.mark.parametrize("api", sorted(REPLIES))
def test_a_conversation_that_brim_holds_grows_by_what_is_said_and_answered(api: str) -> None:
    session = Session(model=MODELS[api], api=api, budget=50_000)
    session.say("Hello, my order is A-1029.")
    session.record(REPLIES[api])
    fitted = session.say("Where is it?")
    texts = [message.text for message in fitted.conversation.messages]
    assert texts == ["Hello, my order is A-1029.", "Noted.", "Where is it?"]
    assert len(fitted.messages) == 3


@pytest.mark.parametrize("api", sorted(REPLIES))
def test_the_usage_of_a_response_is_the_size_of_what_was_sent(api: str) -> None:
    session = Session(model=MODELS[api], api=api, budget=50_000)
    sent = session.say("Hello, my order is A-1029.").conversation
    session.record(REPLIES[api])
    count = session.history.counter.count(sent)
    assert (count.tokens, count.source) == (27, "actual")


def test_a_number_or_a_usage_teaches_as_a_response_does() -> None:
    session = Session(model="gpt-4o", budget=50_000)
    sent = session.say("one").conversation
    session.record(11)
    assert session.history.counter.count(sent).tokens == 11
    session.record(apis.Usage(12))
    assert session.history.counter.count(sent).tokens == 12
    assert len(session.log) == 1


def test_attached_context_stands_before_the_message_and_stays_for_later_ones() -> None:
    session = Session(model="gpt-4o", budget=4_000)
    session.attach("The shop closes at 18:00.", source="hours.md")
    first = session.say("When do you close?").conversation.messages
    assert "<context source=" in first[0].text
    assert "18:00" in first[0].text
    session.record(REPLIES["openai_chat"])
    later = session.say("And on Sundays?").conversation.messages
    assert [message.raw for message in later[:2]] == [message.raw for message in first]


def test_attached_context_survives_a_re_plan_and_a_reload_in_short() -> None:
    store = InMemoryStore()
    session = Session(model="gpt-4o", budget=1_500, store=store, id="s")
    session.attach("# Hours\n" + "The shop closes at 18:00 on weekdays. " * 40, source="hours.md")
    session.say("When do you close?")
    for number in range(12):
        session.record(REPLIES["openai_chat"])
        session.say(f"Question {number}: " + "please look into this matter again " * 12)
    assert session.compactions
    again = Session.load("s", store=store)
    assert [entry.message.raw for entry in again.view.entries] == [e.message.raw for e in session.view.entries]
    fitted = again.say("thanks")
    assert fitted.tokens <= 1_500


def test_re_plans_are_rare_and_what_they_settle_stays() -> None:
    messages = tool_turns(40)
    session = Session(model="gpt-4o", budget=6_000)
    for end in range(4, len(messages) + 1, 4):
        fitted = session.fit(messages[:end])
        assert fitted.tokens <= 6_000
    assert 2 <= session.compactions <= 14


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_session_is_taken_up_where_it_was_left(kind: str, tmp_path: Path) -> None:
    store: Store = InMemoryStore() if kind == "memory" else open_store(tmp_path / "brim.db")
    messages = tool_turns(20)
    session = Session(model="gpt-4o", budget=4_000, store=store, id="s")
    for end in range(4, 64, 4):
        last = session.fit(messages[:end])
    assert session.compactions
    if kind == "sqlite":
        store.close()
        store = open_store(tmp_path / "brim.db")
    again, other = Session.load("s", store=store), Session.load("s", store=store)
    assert again.fit(messages[:end]).messages == last.messages
    assert again.fit(messages[: end + 4]).messages == other.fit(messages[: end + 4]).messages
    assert [record.id for record in brim.list_sessions(store)] == ["s"]
    store.close()


def test_a_session_whose_state_is_gone_is_planned_anew() -> None:
    store = InMemoryStore()
    messages = tool_turns(12)
    session = Session(model="gpt-4o", budget=3_000, store=store, id="s")
    session.fit(messages)
    store._sessions["s"].state = None
    fitted = Session.load("s", store=store).fit(messages)
    assert fitted.tokens <= 3_000


def test_originals_come_back_by_handle_and_by_search() -> None:
    messages = tool_turns(20)
    session = Session(model="gpt-4o", budget=3_000, recall="tool")
    fitted = session.fit(messages)
    text = "\n".join(message.text for message in fitted.conversation.messages)
    handles = HANDLE.findall(text)
    assert handles
    known = "\n".join(session.recall(handle) for handle in handles)
    assert all(code in known or code in text for code in ("ORD-0007", "ORD-5011", "ORD-11020"))
    number, found = session.search("ORD-5011")[0]
    assert found == messages[number]["content"]
    with pytest.raises(brim.NotFound, match="brim:00000000"):
        session.recall("brim:00000000")


def test_a_archived_message_comes_back_when_the_user_asks_about_it() -> None:
    session = Session(model="gpt-4o", budget=1_500)
    session.say("The vault code for the Lisbon office is 8813-KTX.")
    for number in range(30):
        session.record({"choices": [{"message": {"role": "assistant", "content": f"Noted, number {number}."}}]})
        session.say(f"Item {number}: the weather report mentions rain and wind over the northern hills again today.")
    session.record({"choices": [{"message": {"role": "assistant", "content": "Noted."}}]})
    fitted = session.say("What is the vault code for Lisbon?")
    assert "8813-KTX" in "\n".join(message.text for message in fitted.conversation.messages)


def test_moving_cache_breakpoints_edits_nothing() -> None:
    def body(turns: int, marked: int) -> dict[str, Any]:
        messages = []
        for number in range(turns):
            block: dict[str, Any] = {"type": "text", "text": f"turn {number} " + "word " * 60}
            if number == marked:
                block["cache_control"] = {"type": "ephemeral"}
            messages += [
                {"role": "user", "content": [block]},
                {"role": "assistant", "content": "ok"},
            ]
        return {"model": "claude-sonnet-4-5", "max_tokens": 10, "messages": messages[:-1]}

    session = Session(model="claude-sonnet-4-5", budget=1_500)
    for turns in range(2, 40):
        fitted = session.fit(body(turns, turns - 1))
        assert json.dumps(fitted.body).count("cache_control") == 1
        assert "cache_control" in json.dumps(fitted.body["messages"][-1])
    assert session.compactions < 20


def test_breakpoints_stand_at_the_stable_boundary_and_at_the_end_where_the_client_set_none() -> None:
    def body(turns: int) -> dict[str, Any]:
        messages = []
        for number in range(turns):
            messages += [
                {"role": "user", "content": f"turn {number} " + "word " * 60},
                {"role": "assistant", "content": "ok"},
            ]
        return {"model": "claude-sonnet-4-5", "max_tokens": 10, "messages": messages[:-1]}

    session, plain = (Session(model="claude-sonnet-4-5", budget=1_500, breakpoints=flag) for flag in (True, False))
    assert "cache_control" not in json.dumps(session.fit(body(3)).body)
    fitted = session.fit(body(40))
    marks = [n for n, message in enumerate(fitted.body["messages"]) if "cache_control" in json.dumps(message)]
    assert marks[-2:] == [session.view.settled - 1, len(fitted.body["messages"]) - 1]
    assert "cache_control" not in json.dumps(plain.fit(body(40)).body)


def test_a_client_keeps_its_newest_breakpoint_when_its_message_is_compacted() -> None:
    session = Session(model="claude-sonnet-4-5", budget=1_500)
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Look everything up."}]
    mark = {"type": "ephemeral", "ttl": "1h"}
    for number in range(12):
        call = {"type": "tool_use", "id": f"c{number}", "name": "orders", "input": {}}
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": orders(number)}
        sent = [
            *messages,
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [{**result, "cache_control": mark}]},
        ]
        system = [{"type": "text", "text": "Be brief.", "cache_control": mark}]
        fitted = session.fit({"model": "claude-sonnet-4-5", "max_tokens": 9, "system": system, "messages": sent})
        messages = [*sent[:-1], {"role": "user", "content": [result]}]
        assert fitted.messages[-1]["content"][0]["cache_control"] == mark
        assert 2 <= json.dumps(fitted.body).count("cache_control") <= 4
    assert session.compactions


@pytest.mark.parametrize("budget", [1_500, 5_000])
@pytest.mark.parametrize("model", ["gpt-4o", "claude-sonnet-4-5"])
def test_a_request_that_is_sent_again_has_the_same_bytes(model: str, budget: int) -> None:
    session = Session(model=model, api=next(api for api, name in MODELS.items() if name == model), budget=budget)
    messages: list[dict[str, Any]] = []
    for number in range(25):
        messages = [*messages, {"role": "user", "content": request(number)}]
        first, compactions = session.fit(messages).messages, session.compactions
        assert session.fit(messages).messages == first
        assert session.compactions == compactions
        messages = [*messages, {"role": "assistant", "content": f"Moved {number}. " + "Some words. " * 20}]


def test_a_list_is_of_the_api_that_the_session_was_made_for() -> None:
    session = Session(model="claude-sonnet-4-5", api="anthropic", budget=4_000)
    assert session.fit([{"role": "user", "content": "hi"}]).conversation.api == "anthropic"


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "gpt-4o"])
def test_instructions_and_tools_of_a_session_count_for_a_list_as_for_what_is_said(model: str) -> None:
    api = next(api for api, name in MODELS.items() if name == model)
    function = {"name": "orders", "description": "Lists orders. " * 30}
    tool = {"type": "function", "function": {**function, "parameters": {"type": "object"}}}
    tools = [tool] if api == "openai_chat" else [{**function, "input_schema": {"type": "object"}}]
    said, given = (Session(model=model, budget=4_000, system="Be brief. " * 40, tools=tools) for _ in range(2))
    by_list = given.fit([{"role": "user", "content": "hi"}])
    assert by_list.tokens == said.say("hi").tokens > 200
    assert by_list.messages == said.fit([{"role": "user", "content": "hi"}]).messages
    assert ("Be brief." in json.dumps(by_list.messages)) == (api == "openai_chat")


def test_another_budget_for_a_turn_counts_its_tools_and_instructions_too() -> None:
    tools = [{"type": "function", "function": {"name": "orders", "description": "Lists orders. " * 80}}]
    session = Session(model="gpt-4o", budget=3_000)
    old = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Some words. " * 400}]
    fitted = session.fit([*old, {"role": "user", "content": "and now?"}], tools=tools)
    again = fitted.at(900)
    assert again.tokens == int(brim.count(again.messages, model="gpt-4o", tools=tools)) <= 900
    held = Session(model="claude-sonnet-4-5", budget=3_000, system="Be brief. " * 100)
    held.attach("The shop closes at 18:00.", source="hours.md")
    smaller = held.say("When do you close?").at(600)
    assert smaller.conversation.system is not None
    assert "18:00" in json.dumps(smaller.messages)


def test_a_session_of_a_model_of_ones_own_is_loaded_and_imported_with_it() -> None:
    store = InMemoryStore()
    model = replace(models.find("gpt-4o"), name="harbour-1", window=8_000)
    session = Session(model=model, store=store, id="own")
    session.say("hello")
    assert Session.load("own", store=store).model == model
    assert Session.import_(list(session.export())).model == model


def test_a_store_that_cannot_be_used_is_named_when_a_session_is_not_found(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(brim.NotFound, match="store cannot be used"):
        Session.load("x", store=tmp_path / "file" / "brim.db")


@pytest.mark.parametrize("name", ["rolling", "concise", "layered"])
def test_every_policy_works_in_a_session_and_after_a_reload(name: str) -> None:
    store = InMemoryStore()
    policy = brim.Policy.named(name)
    session = Session(model="gpt-4o", budget=2_500, policy=policy, store=store, id="s")
    for number in range(30):
        fitted = session.say(request(number))
        assert fitted.tokens <= 2_500
        session.record({"choices": [{"message": {"role": "assistant", "content": f"- Moved ORD-{number:03}."}}]})
    again = Session.load("s", store=store)
    assert [e.message.raw for e in again.view.entries] == [e.message.raw for e in session.view.entries]
    assert again.say("And now?").messages == session.say("And now?").messages


def test_the_rolling_summary_is_a_system_message_that_later_ones_build_on() -> None:
    session = Session(model="gpt-4o", budget=1_200, policy=brim.Policy.rolling())
    for number in range(20):
        fitted = session.say(request(number))
        session.record({"choices": [{"message": {"role": "assistant", "content": f"- Moved ORD-{number:03}."}}]})
    summaries = [message for message in fitted.messages if message["role"] == "system"]
    assert len(summaries) == 1
    assert summaries[0]["content"].startswith("Conversation summary: ")
    assert "ORD-0" in summaries[0]["content"]


def test_a_refusal_leaves_the_session_as_it_was() -> None:
    events: list[brim.Event] = []
    session = Session(model="gpt-4o", budget=300, on_event=events.append)
    before = session.say("Hello.").messages
    session.attach("keep me", source="a.md")
    with pytest.raises(brim.BudgetTooSmall):
        session.say("word " * 450)
    assert events[-1].kind == "refused"
    assert len(session.log) == 1
    after = session.say("Shorter.")
    assert after.messages[:1] == before
    assert "keep me" in after.messages[1]["content"]


def test_a_refused_request_can_be_followed_by_one_that_fits() -> None:
    session = Session(model="gpt-4o", budget=300)
    with pytest.raises(brim.BudgetTooSmall):
        session.fit([{"role": "user", "content": "word " * 450}])
    assert session.fit([{"role": "user", "content": "Hello."}]).messages == [{"role": "user", "content": "Hello."}]


def test_a_store_that_cannot_be_written_costs_memory_and_not_the_turn(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = tmp_path / "folder"
    place.write_text("a file where a folder should be")
    with caplog.at_level(logging.WARNING):
        session = Session(model="gpt-4o", budget=2_000, store=place / "brim.db")
    assert "nothing will be remembered" in caplog.text
    assert session.store.degraded
    fitted = session.fit(tool_turns(12))
    assert fitted.tokens <= 2_000


def test_a_branch_keeps_the_common_part_as_it_was_sent() -> None:
    messages = tool_turns(30)
    session = Session(model="gpt-4o", budget=5_000)
    for end in range(4, len(messages) + 1, 4):
        session.fit(messages[:end])
    settled = [entry for entry in session.view.entries[: session.view.settled] if entry.kind != "summary"]
    branch = [*messages[:-4], {"role": "user", "content": "No: show me page 3 again."}]
    fitted = session.fit(branch)
    sent = [message.raw for message in fitted.conversation.messages]
    assert [entry.message.raw for entry in settled if entry.end <= len(messages) - 4][:3] == [
        raw for raw in sent if raw in {entry.message.raw for entry in settled}
    ][:3]
    assert [message.text for message in session.log][-1] == "No: show me page 3 again."


def test_tool_ids_that_change_are_an_edit() -> None:
    messages = tool_turns(2)
    session = Session(model="gpt-4o", budget=50_000)
    session.fit(messages)
    renamed = json.loads(json.dumps(messages).replace('"c1"', '"z1"'))
    assert session.fit(renamed).messages == renamed


def test_the_report_says_what_became_of_every_message() -> None:
    messages = tool_turns(20)
    session = Session(model="gpt-4o", budget=3_000)
    session.fit(messages[:-4])
    report = session.fit(messages).report
    assert report.after <= 3_000 < report.before
    assert len(report.decisions) == len(messages)
    assert report.archived + report.compacted > 0
    assert {decision.form for decision in report.decisions} <= {"full", "outline", "archived"}


def test_another_budget_can_be_tried_without_touching_the_session() -> None:
    messages = tool_turns(20)
    session = Session(model="gpt-4o", budget=3_000)
    fitted = session.fit(messages)
    view = list(session.view.entries)
    assert fitted.at(1_500).tokens <= 1_500
    assert session.view.entries == view


@pytest.mark.parametrize("lines", [[], ["{}"], ["not json"], ['{"id": "x"}']])
def test_what_is_no_export_is_refused_by_its_first_line(lines: list[str]) -> None:
    with pytest.raises(brim.BadInput, match="line 1"):
        Session.import_(lines)


def test_an_export_is_read_from_a_file(tmp_path: Path) -> None:
    session = Session(model="gpt-4o", budget=3_000, id="s")
    session.fit(tool_turns(3))
    place = tmp_path / "s.jsonl"
    place.write_text("\n".join(session.export()), "utf-8")
    again = Session.import_(place)
    assert (again.id, again.settings.budget, len(again.log)) == ("s", 3_000, len(session.log))


@pytest.mark.parametrize("way", ["load", "import"])
def test_what_a_session_was_made_with_comes_back_with_it(way: str) -> None:
    store = InMemoryStore()
    tools = [{"name": "berths", "input_schema": {"type": "object"}}]
    policy = brim.Policy.agent(compact_to=0.5)
    made = {"system": "Answer in one sentence.", "tools": tools, "policy": policy, "recall": "tool", "reserve": 500}
    session = Session(model="claude-sonnet-4-5", budget=3_000, store=store, id="s", **made)  # type: ignore[arg-type]
    session.say("Does a boat of ten metres fit into berth 12?")
    again = Session.load("s", store=store) if way == "load" else Session.import_(session.export())
    assert (again.settings.policy, again.settings.recall, again.settings.reserve) == (policy, "tool", 500)
    fitted, other = again.say("And one of twelve?"), session.fork(1).say("And one of twelve?")
    assert (fitted.body, fitted.tokens) == (other.body, other.tokens)
    assert fitted.conversation.fields == other.conversation.fields
    assert b"one sentence" in fitted.conversation.fields["system"]
    assert next(again.export()) == next(session.export())


def test_settings_that_are_given_on_loading_are_taken_before_those_that_were_kept() -> None:
    store = InMemoryStore()
    first = Session(model="claude-sonnet-4-5", budget=3_000, store=store, id="s", system="Be brief.", recall="off")
    first.say("Hello.")
    again = Session.load("s", store=store, recall="auto", system="Be kind.")
    assert again.settings.recall == "auto"
    assert again.say("Hello?").conversation.fields["system"] == b'"Be kind."'


@pytest.mark.parametrize("model", ["gpt-4o", "claude-sonnet-4-5", "gemini-2.5-pro", "gpt-5"])
def test_instructions_of_a_held_session_are_sent_whatever_the_api(model: str, tmp_path: Path) -> None:
    session = Session(model=model, budget=2_000, system="Be kind.", store=tmp_path / "s.db")
    first, second = session.say("Hello."), session.say("Again.")
    later = Session.load(session.id, store=tmp_path / "s.db").say("And again.")
    for request in (first, second, later):
        system = request.conversation.system
        texts = [system.text] if system else []
        assert [*texts, *(m.text for m in request.conversation.messages if m.role == "system")] == ["Be kind."]


def test_a_source_that_is_attached_again_is_carried_once() -> None:
    session = Session(model="gpt-4o", policy="layered")
    versions = [f"# Note {n}\n" + "The shop closes at 18:00. " * 80 for n in range(3)]
    for text in versions:
        session.attach(text, source="hours.md")
        session.attach("a selection", source="", type="selection", recoverable=False)
        fitted = session.say("When does it close?")
        assert "<prior_context" not in str(fitted.messages)
        session.record({"choices": [{"message": {"role": "assistant", "content": "At six."}}]})
    text = str(session.say("And on Sunday?").messages)
    assert text.count('<prior_context source="hours.md"') == 1
    assert "# Note 2" in text
    assert text.count("a selection") == 1
    assert session.recall(handle_of(versions[0])) == versions[0]


def test_a_session_is_not_imported_over_one_of_the_same_id() -> None:
    store = InMemoryStore()
    session = brim.Session(model="gpt-4o", budget=4_000, store=store, id="kept")
    session.say("Hello.")
    lines = list(session.export())
    with pytest.raises(brim.BadInput, match="already"):
        brim.Session.import_(lines, store=store)
    assert len(brim.Session.load("kept", store=store).log) == 1


def test_an_imported_session_sends_what_the_exported_one_would_and_knows_its_handles() -> None:
    session = Session(model="gpt-4o", budget=2_500)
    messages = tool_turns(14)
    session.fit(messages[:-4])
    session.attach("The shop closes at 18:00.", source="hours.md")
    other = Session.import_(list(session.export()), store=InMemoryStore())
    assert session.compactions
    for handle in session.view.handles():
        assert other.recall(handle) == session.recall(handle)
    assert other.fit(messages[:-2]).messages == session.fit(messages[:-2]).messages
    assert other.fit(messages).messages == session.fit(messages).messages


def test_an_export_that_does_not_say_how_its_log_was_shown_is_refused() -> None:
    session = Session(model="gpt-4o", budget=2_500)
    session.fit(tool_turns(14))
    *lines, last = session.export()
    with pytest.raises(brim.BadInput, match="how its log was shown"):
        Session.import_([*lines, last.replace('"entries"', '"others"')])
    assert len(Session.import_(lines).log) == len(session.log)
