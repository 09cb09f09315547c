"""Who sees what of Brim's own addresses: a client its own tenant, the operator all."""

from __future__ import annotations

import pytest

from .conftest import Running, Start

OPERATOR = "the-token-of-the-operator"
ACCESS = "the-token-of-all-clients"
ANN, BOB = {"authorization": "Bearer ann"}, {"x-api-key": "bob"}
HI = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}


def talked(running: Running, **more: str) -> None:
    for key in (ANN, BOB):
        asked = {**key, **more, "x-session-id": "desk", "user-agent": f"tool-of-{'ann' if key is ANN else 'bob'}/1"}
        assert running.ask("POST", "/v1/chat/completions", HI, asked).status == 200
    running.settled()


def ids(running: Running, headers: dict[str, str]) -> list[str]:
    return [row["id"] for row in running.ask("GET", "/brim/v1/sessions", None, headers).json["sessions"]]


def test_a_client_sees_its_own_sessions_and_whoever_brings_no_key_all(gateway: Running) -> None:
    talked(gateway)
    assert len(ids(gateway, {})) == 2
    (of_ann,), (of_bob,) = ids(gateway, ANN), ids(gateway, BOB)
    assert of_ann != of_bob
    assert gateway.ask("GET", f"/brim/v1/sessions/{of_ann}", None, ANN).status == 200
    theirs = gateway.ask("GET", f"/brim/v1/sessions/{of_ann}", None, BOB)
    none = gateway.ask("GET", f"/brim/v1/sessions/{of_ann[:-1]}x", None, BOB)
    assert theirs.status == none.status == 404
    assert theirs.json["error"]["code"] == none.json["error"]["code"] == "not_found"


def test_numbers_and_last_models_are_those_of_the_tenant(gateway: Running) -> None:
    talked(gateway)
    assert gateway.get("/brim/v1/live")["requests"] == 2
    live = gateway.ask("GET", "/brim/v1/live", None, ANN).json
    assert live.keys() == gateway.get("/brim/v1/live").keys()
    assert (live["requests"], [turn["client"] for turn in live["turns"]]) == (1, ["tool-of-ann"])
    status = gateway.ask("GET", "/brim/v1/status", None, ANN).json
    assert (status["requests"], list(status["last_models"])) == (1, ["tool-of-ann"])


@pytest.mark.parametrize("path", ["/brim/v1/usage", "/brim/v1/settings", "/brim/", "/metrics"])
def test_what_tells_of_all_tenants_is_not_for_a_client(gateway: Running, path: str) -> None:
    assert gateway.ask("GET", path, None, ANN).status == 403


def test_with_an_operator_token_nobody_else_sees_all(start: Start) -> None:
    tokens = {"ACCESS": ACCESS, "OPERATOR": OPERATOR}
    running = start(tokens, gateway={"access_token_env": "ACCESS", "operator_token_env": "OPERATOR"})
    client, operator = {"x-brim-token": ACCESS}, {"x-brim-token": OPERATOR}
    talked(running, **client)
    assert ids(running, client) == []
    assert len(ids(running, {**ANN, **client})) == 1
    assert len(ids(running, operator)) == 2
    assert running.ask("GET", "/metrics", None, client).status == 401
    assert running.ask("GET", "/metrics", None, operator).status == 200
    assert running.ask("POST", "/v1/chat/completions", HI, operator).status == 401


def test_events_are_those_of_the_tenant(gateway: Running) -> None:
    views = gateway.gateway.views
    assert views.shows("anyone")
    talked(gateway)
    turns = {turn.client: turn.tenant for turn in gateway.gateway.journal.recent}
    mine = type(views)(gateway.gateway, turns["tool-of-ann"])
    assert [mine.shows(turns[name]) for name in ("tool-of-ann", "tool-of-bob")] == [True, False]
