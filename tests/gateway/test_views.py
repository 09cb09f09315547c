"""The JSON API, sessions, discovery, metrics and reloads."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

import brim
from brim import settings
from brim.gateway.fitting import session_cache as live
from brim.gateway.server.options import options_of
from brim.sessions.tenancy import bare
from brim.stores.inmemory import InMemoryStore
from brim.stores.resilient import open_store
from brim.testing import Fail, FakeProvider, Raw, Say

from .conftest import Running, Start, long_chat, words

HI = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}


def sessions(running: Running) -> list[str]:
    running.settled()
    return [row["id"] for row in running.get("/brim/v1/sessions")["sessions"]]


@pytest.mark.parametrize(
    "header", ["x-brim-session", "x-claude-code-session-id", "session-id", "thread-id", "x-session-id", "session_id"]
)
def test_a_client_that_names_its_session_is_believed(gateway: Running, header: str) -> None:
    for text in ("hi", "hi"):
        gateway.ask(
            "POST", "/v1/chat/completions", {**HI, "messages": [{"role": "user", "content": text}]}, {header: "abc"}
        )
    assert len(sessions(gateway)) == 1
    assert bare(sessions(gateway)[0]).startswith("abc.")
    gateway.ask(
        "POST", "/v1/chat/completions", {**HI, "messages": [{"role": "user", "content": "a title"}]}, {header: "abc"}
    )
    assert len(sessions(gateway)) == 2


def test_a_conversation_without_an_id_is_recognised_by_what_was_sent_before(gateway: Running) -> None:
    chat = long_chat(6, 30)
    for length in (4, 6, 8):
        gateway.chat({"messages": chat[:length]})
    gateway.chat({"messages": [{"role": "user", "content": "something else"}]})
    assert len(sessions(gateway)) == 2
    assert gateway.get(f"/brim/v1/sessions/{sessions(gateway)[1]}")["requests"] == 3


def test_moving_cache_control_does_not_make_another_session(gateway: Running) -> None:
    first = {"role": "user", "content": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}]}
    plain = {"role": "user", "content": [{"type": "text", "text": "a"}]}
    answer = {"role": "assistant", "content": [{"type": "text", "text": "b"}]}
    for messages in ([first], [plain, answer, first]):
        gateway.ask("POST", "/v1/messages", {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": messages})
    assert len(sessions(gateway)) == 1


def agent_run(steps: int) -> list[dict[str, Any]]:
    """A task with so many tool calls, each with a result of some 400 tokens."""
    found: list[dict[str, Any]] = [{"role": "user", "content": "Find the cheapest item of every page."}]
    for step in range(steps):
        function = {"name": "page", "arguments": json.dumps({"number": step})}
        found.append(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"c{step}", "type": "function", "function": function}],
            }
        )
        found.append({"role": "tool", "tool_call_id": f"c{step}", "content": words(400, f"p{step}-")})
    return found


def test_the_next_turn_only_extends_the_prefix_already_sent(gateway: Running, fake: FakeProvider) -> None:
    run = agent_run(40)
    bodies = []
    for length in range(33, 81, 2):
        gateway.chat({"messages": run[:length]}, x_brim_budget="9000", x_brim_session="s")
        bodies.append(fake.posts[-1].json["messages"])
    kept = [later[: len(earlier)] == earlier for earlier, later in itertools.pairwise(bodies)]
    assert sum(kept) >= len(kept) / 3


def test_a_session_goes_on_after_a_restart_with_the_prefix_it_had(
    start: Start, fake: FakeProvider, tmp_path: Path
) -> None:
    chat = long_chat(40)
    before = start(store=open_store(tmp_path / "b.db"))
    before.chat({"messages": chat[:76]}, x_brim_budget="9000")
    first = fake.posts[-1].json["messages"]
    session = sessions(before)[0]
    after = start(store=open_store(tmp_path / "b.db"))
    after.chat({"messages": chat[:78]}, x_brim_budget="9000")
    assert fake.posts[-1].json["messages"][: len(first)] == first
    assert sessions(after) == [session]


@pytest.mark.parametrize(("limit", "most"), [("MOST_LIVE", 1), ("LIVE_BYTES", 10_000)])
def test_an_idle_session_is_left_to_the_store_and_taken_up_again(
    start: Start, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    monkeypatch.setattr(live, limit, most)
    gateway = start()
    chat = long_chat(40)
    gateway.chat({"messages": chat[:76]}, x_brim_budget="9000", x_brim_session="one")
    first = fake.posts[-1].json["messages"]
    gateway.chat({"messages": long_chat(40, 300)[:76]}, x_brim_budget="9000", x_brim_session="two")
    assert len(gateway.gateway.fitter.sessions) == 1
    gateway.chat({"messages": chat[:78]}, x_brim_budget="9000", x_brim_session="one")
    assert fake.posts[-1].json["messages"][: len(first)] == first


def test_sessions_that_are_idle_hold_no_index_and_go_on_as_if_they_had(
    start: Start, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sent(awake: int) -> list[Any]:
        monkeypatch.setattr(live, "AWAKE_BYTES", awake)
        gateway = start()
        held = gateway.gateway.fitter.sessions
        for end in (70, 74, 78):
            for name, each in (("one", 400), ("two", 300)):
                gateway.chat({"messages": long_chat(40, each)[:end]}, x_brim_budget="3000", x_brim_session=name)
        indexed = [bool(session.history.recollection._segments) for session in held._live.values()]
        assert indexed == ([True, True] if awake > 10_000 else [False, True])
        return [post.json["messages"] for post in fake.posts[-6:]]

    assert sent(10_000) == sent(1 << 30)


def test_count_fit_and_compact_answer(gateway: Running) -> None:
    counted = gateway.ask("POST", "/brim/v1/count", {"model": "gpt-4o", "text": "hello world"}).json
    assert counted["tokens"] == 2
    counted = gateway.ask("POST", "/brim/v1/count", {"request": HI}).json
    assert counted["tokens"] == 8
    fitted = gateway.ask(
        "POST", "/brim/v1/fit", {"request": {"model": "gpt-4o", "messages": long_chat(20)}, "budget": 2_000}
    ).json
    assert fitted["tokens"] <= 2_000
    assert fitted["report"]["before"] > 6_000
    text = json.dumps([{"id": number, "state": "open"} for number in range(50)])
    compacted = gateway.ask("POST", "/brim/v1/compact", {"text": text}).json
    assert compacted["fidelity"] == "lossless"
    assert compacted["kept"] < 0.7


def test_a_model_of_the_settings_is_known_where_only_the_request_names_it(start: Start) -> None:
    gateway = start(models={"our-own": {"window": 8_000, "max_output": 500, "family": "o200k"}})
    request = {"model": "our-own", "messages": long_chat(40)}
    assert gateway.ask("POST", "/brim/v1/count", {"request": request}).json["tokens"] > 8_000
    fitted = gateway.ask("POST", "/brim/v1/fit", {"request": request}).json
    assert fitted["tokens"] <= 7_500


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("count", {"text": "a", "request": {}}, 422, "bad_input"),
        ("count", {"text": "a", "model": "no-such-model-at-all-x", "strict": True}, 404, "unknown_model"),
        ("count", {"request": {"messages": 5}, "model": "gpt-4o"}, 422, "bad_input"),
        (
            "fit",
            {"request": [{"role": "user", "content": "hi"}], "model": "gpt-4o", "budget": 1},
            409,
            "budget_too_small",
        ),
        ("fit", {"request": [], "model": "gpt-4o", "policy": "nope"}, 422, "bad_setting"),
        ("compact", {}, 422, "bad_input"),
        ("sessions/nobody/turns/1/plan", {"budget": 5}, 404, "not_found"),
    ],
)
def test_the_json_api_says_what_is_wrong(gateway: Running, path: str, body: object, status: int, code: str) -> None:
    answer = gateway.ask("POST", f"/brim/v1/{path}", body)
    assert (answer.status, answer.json["error"]["code"]) == (status, code)


def test_a_turn_can_be_looked_at_and_planned_at_another_budget(start: Start) -> None:
    gateway = start(gateway={"log_content": True})
    gateway.chat({"messages": long_chat(30)}, x_brim_budget="6000", x_brim_session="s")
    session = sessions(gateway)[0]
    turn = gateway.get(f"/brim/v1/sessions/{session}/turns/1")
    assert turn["tokens_after"] <= 6_000 < turn["tokens_before"]
    assert len(turn["before"]) == 62 > len([one for one in turn["after"] if one["text"] in str(turn["before"])])
    assert {decision["form"] for decision in turn["report"]["decisions"]} & {"archived", "outline", "line"}
    assert sum(layer["after"] for layer in turn["report"]["layers"]) == turn["tokens_after"]
    planned = gateway.ask("POST", f"/brim/v1/sessions/{session}/turns/1/plan", {"budget": 3_000}).json
    assert planned["tokens"] <= 3_000
    assert gateway.ask("GET", f"/brim/v1/sessions/{session}/turns/9").status == 404


@pytest.mark.parametrize("budget", [0, 4_000])
def test_a_turn_says_what_broke_the_cache_of_the_one_before(gateway: Running, budget: int) -> None:
    headers = {"x-brim-session": "one"} | ({"x-brim-budget": str(budget)} if budget else {})
    chat = long_chat(8)
    edited = [*chat[:5], {"role": "user", "content": "Forget it."}, *chat[6:16]]
    for messages in (chat[:12], chat[:14], edited, edited[:12]):
        gateway.ask("POST", "/v1/chat/completions", {"model": "gpt-4o", "messages": messages}, headers)
    place = sessions(gateway)[0]
    told = [gateway.get(f"/brim/v1/sessions/{place}/turns/{number}")["cache_break"] for number in range(1, 5)]
    whys = [one and one["why"] for one in told]
    if not budget:
        assert whys == [None, None, "message 5 was edited by the client", None]
        assert told[2]["at"] == "messages[5]"
        assert 0 < told[2]["byte"] < len(json.dumps(edited))
    else:
        assert whys[2] == "message 5 was edited by the client"


def test_the_live_view_adds_up(gateway: Running, fake: FakeProvider) -> None:
    gateway.chat({"messages": long_chat(30)}, x_brim_budget="6000")
    gateway.chat(HI)
    fake.script(Fail(500, "broken"))
    gateway.chat(HI)
    gateway.settled()
    live = gateway.get("/brim/v1/live")
    assert (live["requests"], live["overflows_avoided"], live["fitted"]) == (3, 1, 1)
    assert live["tokens_before"] > live["tokens_after"] > 0
    assert live["over_upper"] == 0
    assert [turn["status"] for turn in live["turns"]] == [500, 200, 200]
    assert live["saved_usd"] > 0


def test_models_and_usage_are_listed(start: Start, fake: FakeProvider) -> None:
    store = InMemoryStore()
    running = start(store=store)
    running.chat(HI)
    running.settled()
    running.call(running.gateway.journal.close())
    row = next(row for row in running.get("/brim/v1/models")["models"] if row["model"] == "gpt-4o")
    assert (row["window"], row["requests"], row["over_upper"]) == (128_000, 1, 0)
    day = running.get("/brim/v1/usage")["days"][0]
    assert (day["model"], day["requests"], day["actual_in"]) == ("gpt-4o", 1, 8)


def test_windows_are_discovered_and_remembered_for_the_next_start(start: Start, fake: FakeProvider) -> None:
    store = InMemoryStore()
    fake.window, fake.models = 7_000, ("house-model-1",)
    first = start(store=store)
    first.ask("GET", "/v1/models")
    first.settled()
    first.call(first.gateway.journal.close())
    fake.models = ()
    second = start(store=store)
    body = {"model": "house-model-1", "messages": long_chat(30)}
    assert second.chat(body).number("tokens-after") <= 7_000
    assert second.last.window == 7_000


def test_the_last_model_of_a_client_is_remembered(start: Start) -> None:
    store = InMemoryStore()
    running = start(store=store)
    headers = {"user-agent": "claude-cli/2.0.14 (external, cli)"}
    running.ask("POST", "/v1/chat/completions", HI, headers)
    running.settled()
    running.call(running.gateway.journal.close())
    tenant = running.last.tenant
    assert store.get_value(f"{tenant}~client.claude-cli.model") == b"gpt-4o"
    again = start(store=store)
    assert again.call(again.gateway.fitter.last_models.find("client", "claude-cli", tenant)) == "gpt-4o"
    assert again.call(again.gateway.fitter.last_models.find("client", "claude-cli", "another")) == ""


def test_metrics_are_prometheus_text(gateway: Running) -> None:
    gateway.chat({"messages": long_chat(30)}, x_brim_budget="6000")
    gateway.settled()
    text = gateway.ask("GET", "/metrics").body.decode()
    assert 'brim_requests_total{api="openai_chat",status="2xx",outcome="done"} 1' in text
    assert 'brim_fitted_total{model="gpt-4o"} 1' in text
    assert 'brim_added_seconds_bucket{api="openai_chat",le="+Inf"} 1' in text
    assert "brim_requests_running 0" in text


def test_settings_are_reloaded_and_bad_ones_are_not(start: Start, fake: FakeProvider, tmp_path: Path) -> None:
    running = start()
    loaded = settings.load(tmp_path, {}, gateway={"port": 0}, policy={"name": "agent", "budget": 3_000})
    running.call(running.gateway.reload(options_of(loaded, upstream=fake.url)))
    assert running.chat({"messages": long_chat(20)}).number("tokens-after") <= 3_000


def test_context_management_is_switched_on_for_the_models_named(start: Start, fake: FakeProvider) -> None:
    running = start(clear_tool_uses=("claude-sonnet-*",))
    body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    running.ask("POST", "/v1/messages", body, {"anthropic-beta": "other-1"})
    assert fake.posts[-1].json["context_management"]["edits"][0]["type"] == "clear_tool_uses_20250919"
    assert fake.posts[-1].headers["anthropic-beta"] == "other-1,context-management-2025-06-27"
    running.ask("POST", "/v1/messages", {**body, "model": "claude-haiku-4-5"})
    assert "context_management" not in fake.posts[-1].json
    running.ask("POST", "/v1/messages", {**body, "context_management": {"edits": []}})
    assert fake.posts[-1].json["context_management"] == {"edits": []}


def test_context_management_is_set_model_by_model(start: Start, fake: FakeProvider) -> None:
    wanted = {"trigger": 30_000, "keep": 5, "clear_at_least": 5_000, "exclude_tools": ["memory"], "keep_thinking": 2}
    running = start(models={"claude-sonnet-4-5": {"context_management": wanted}})
    body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    running.ask("POST", "/v1/messages", body)
    assert fake.posts[-1].json["context_management"] == {
        "edits": [
            {"type": "clear_thinking_20251015", "keep": {"type": "thinking_turns", "value": 2}},
            {
                "type": "clear_tool_uses_20250919",
                "trigger": {"type": "input_tokens", "value": 30_000},
                "keep": {"type": "tool_uses", "value": 5},
                "clear_at_least": {"type": "input_tokens", "value": 5_000},
                "exclude_tools": ["memory"],
            },
        ]
    }
    assert running.gateway.fitter.models.find("claude-sonnet-4-5", "upstream").window == 200_000  # type: ignore[union-attr]


def test_a_providers_own_compaction_is_switched_on_in_its_own_form(start: Start, fake: FakeProvider) -> None:
    wanted = {"compact_threshold": 90_000, "clear_tool_uses": False}
    running = start(models={name: {"context_management": wanted} for name in ("claude-sonnet-4-5", "gpt-5")})
    said = [{"role": "user", "content": "hi"}]
    running.ask("POST", "/v1/messages", {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": said})
    trigger = {"type": "input_tokens", "value": 90_000}
    assert fake.posts[-1].json["context_management"] == {"edits": [{"type": "compact_20260112", "trigger": trigger}]}
    assert fake.posts[-1].headers["anthropic-beta"] == "context-management-2025-06-27,compact-2026-01-12"
    running.ask("POST", "/v1/responses", {"model": "gpt-5", "input": "hi"})
    assert fake.posts[-1].json["context_management"] == [{"type": "compaction", "compact_threshold": 90_000}]
    own = [{"type": "compaction", "compact_threshold": 5_000}]
    running.ask("POST", "/v1/responses", {"model": "gpt-5", "input": "hi", "context_management": own})
    assert fake.posts[-1].json["context_management"] == own


def test_what_a_provider_has_compacted_counts_no_more_and_passes_as_it_is(start: Start, fake: FakeProvider) -> None:
    running = start(models={"claude-sonnet-4-5": {"window": 8_000}})
    long = [{"role": role, "content": "the crane was moved " * 2_000} for role in ("user", "assistant")]
    summary = {"type": "compaction", "content": "The crane was moved."}
    after = [{"role": "assistant", "content": [summary, {"type": "text", "text": "Yes."}]}]
    body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [*long, *after, long[0] | {"content": "When?"}]}
    answer = running.ask("POST", "/v1/messages", body)
    assert fake.posts[-1].json["messages"] == body["messages"]
    assert answer.number("tokens-before") < 200
    failed = [{"role": "assistant", "content": [{**summary, "content": None}]}]
    answer = running.ask("POST", "/v1/messages", {**body, "messages": [*long, *failed, body["messages"][-1]]})
    assert answer.number("tokens-before") > 8_000


def test_tools_that_are_loaded_later_pass_as_they_are(start: Start, fake: FakeProvider) -> None:
    schema = {"type": "object", "properties": {"q": {"type": "string"}}}
    search = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
    tools = [search, *({"name": f"t{n}", "input_schema": schema, "defer_loading": True} for n in range(30))]
    found = {
        "type": "tool_search_tool_search_result",
        "tool_references": [{"type": "tool_reference", "tool_name": "t3"}],
    }
    asked = {"type": "server_tool_use", "id": "s1", "name": "tool_search_tool_bm25", "input": {"query": "crane"}}
    said = [asked, {"type": "tool_search_tool_result", "tool_use_id": "s1", "content": found}]
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": said},
        {"role": "user", "content": "go"},
    ]
    running = start()
    body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": messages, "tools": tools}
    assert running.ask("POST", "/v1/messages", body).status == 200
    assert fake.posts[-1].json == body


@pytest.mark.parametrize("edited", [True, False])
def test_a_prompt_that_the_provider_cleared_itself_teaches_nothing(
    gateway: Running, fake: FakeProvider, edited: bool
) -> None:
    """Its usage is that of what was left: taken as the whole, the next count would be too low."""
    messages = [{"role": "user", "content": words(300)}]
    body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": messages}
    told = brim.count({**body}, api="anthropic").tokens - 9
    edits = [{"type": "clear_tool_uses_20250919", "cleared_input_tokens": 900}] if edited else []
    answer = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "hi"}],
        "usage": {"input_tokens": told, "output_tokens": 2},
        "context_management": {"applied_edits": edits},
    }
    fake.script(Raw((json.dumps(answer).encode(),)))
    gateway.ask("POST", "/v1/messages", body)
    gateway.settled()
    actuals = gateway.gateway.fitter.learned.of(gateway.last.upstream, gateway.last.tenant)
    counted = brim.count({**body}, api="anthropic", actuals=actuals).tokens
    assert (counted == told) is not edited


def test_the_openapi_document_names_every_route(gateway: Running) -> None:
    document = gateway.get("/brim/v1/openapi.json")
    for path, operations in document["paths"].items():
        for method in operations:
            answer = gateway.ask(method.upper(), path.replace("{number}", "1"), {} if method == "post" else None)
            assert answer.status not in (405, 500), path


def test_an_upstream_that_tells_no_usage_is_counted_as_such(gateway: Running, fake: FakeProvider) -> None:
    fake.script(Say("x"))
    gateway.chat({**HI, "stream": True})
    gateway.settled()
    assert 'brim_usage_missing_total{api="openai_chat"} 1' in gateway.ask("GET", "/metrics").body.decode()
    assert gateway.last.usage is None


def test_text_of_many_words_is_counted_off_the_loop(gateway: Running) -> None:
    body = {**HI, "messages": [{"role": "user", "content": words(20_000)}]}
    assert gateway.chat(body).number("tokens-before") > 15_000


def test_count_and_fit_use_what_the_gateway_has_learnt(start: Start, fake: FakeProvider) -> None:
    gateway = start(models={"acme-1": {"window": 40_000, "max_output": 500, "family": "estimate"}})
    code = "def total_{0}(rows: list[Row]) -> int:\n    return sum(row.amount_{0} for row in rows)\n"
    for number in range(12):
        text = "".join(code.format(number * 100 + line) for line in range(20 + 4 * number))
        gateway.chat({"model": "acme-1", "messages": [{"role": "user", "content": text}]})
    request = {"model": "acme-1", "messages": [{"role": "user", "content": "".join(map(code.format, range(90)))}]}
    truth = brim.count(request["messages"], model="gpt-4o").tokens
    assert brim.count(request, model=gateway.gateway.fitter.models.catalog.find("acme-1")).tokens > 1.4 * truth
    counted = gateway.ask("POST", "/brim/v1/count", {"request": request}).json
    fitted = gateway.ask("POST", "/brim/v1/fit", {"request": request}).json
    assert abs(counted["tokens"] - truth) < 0.1 * truth
    assert abs(fitted["tokens"] - truth) < 0.1 * truth
    assert counted["head"] + sum(counted["messages"]) == counted["tokens"]


def test_fit_takes_every_setting_of_a_policy_and_names_the_one_that_is_wrong(gateway: Running) -> None:
    request = {"model": "gpt-4o", "messages": long_chat(20)}
    policy: dict[str, Any] = {"name": "rolling", "max_prompt_tokens": 3_000, "reserved_response_tokens": 1_000}
    fitted = gateway.ask("POST", "/brim/v1/fit", {"request": request, "policy": policy}).json
    assert fitted["report"]["limit"] == 2_000
    for wrong, place in (
        ({"name": "rolling", "max_promt_tokens": 1}, "policy.max_promt_tokens"),
        ({"name": "unknown"}, "policy.name"),
        ({"recent": "much"}, "policy.recent"),
        ({"compact_at": 7}, "policy.compact_at"),
    ):
        refused = gateway.ask("POST", "/brim/v1/fit", {"request": request, "policy": wrong})
        assert refused.status == 422
        assert place in refused.json["error"]["message"]


def test_fit_goes_on_with_a_session(gateway: Running) -> None:
    messages = long_chat(60)
    ask: dict[str, Any] = {"budget": 3_000, "session": "desk"}
    first = gateway.ask("POST", "/brim/v1/fit", {"request": {"model": "gpt-4o", "messages": messages}, **ask}).json
    more = [*messages, {"role": "assistant", "content": "Noted."}, {"role": "user", "content": "Go on."}]
    second = gateway.ask("POST", "/brim/v1/fit", {"request": {"model": "gpt-4o", "messages": more}, **ask}).json
    before, after = first["request"]["messages"], second["request"]["messages"]
    assert len(before) < len(messages)
    assert after[: len(before)] == before
