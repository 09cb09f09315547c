"""Web pages and Electron apps as clients: preflights, CORS headers, and whom the gateway refuses."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from brim.errors import BadSetting
from brim.testing import Fail, FakeProvider, Raw

from .conftest import Got, Running, Start

HI = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}
OBSIDIAN = "app://obsidian.md"
PAGE = "http://localhost:3000"
TOKEN = "an-access-token-of-some-length"
ALLOWED = "access-control-allow-origin"


def allowing(start: Start, *origins: str, **given: Any) -> Running:
    return start(gateway={"allowed_origins": list(origins)}, **given)


def guarded(start: Start, *origins: str) -> Running:
    return start({"T": TOKEN}, gateway={"allowed_origins": list(origins), "access_token_env": "T"})


def post(running: Running, origin: str, **more: str) -> Got:
    headers = {"origin": origin, **{name.replace("_", "-"): value for name, value in more.items()}}
    return running.ask("POST", "/v1/chat/completions", HI, headers)


def asked_before(running: Running, origin: str, **more: str) -> Got:
    headers = {
        "origin": origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type,x-stainless-os",
        "sec-fetch-site": "cross-site",
        **{name.replace("_", "-"): value for name, value in more.items()},
    }
    return running.ask("OPTIONS", "/v1/chat/completions", None, headers)


@pytest.mark.parametrize("origin", [OBSIDIAN, PAGE])
def test_an_allowed_origin_may_ask_and_read_the_answer(start: Start, fake: FakeProvider, origin: str) -> None:
    running = allowing(start, OBSIDIAN, PAGE)
    before = asked_before(running, origin)
    assert before.status == 204
    assert before.body == b""
    assert before.headers[ALLOWED] == origin
    assert "POST" in before.headers["access-control-allow-methods"]
    assert before.headers["access-control-allow-headers"] == "authorization,content-type,x-stainless-os"
    assert int(before.headers["access-control-max-age"]) > 0
    assert "access-control-allow-credentials" not in before.headers
    assert "access-control-allow-private-network" not in before.headers
    answer = post(running, origin, sec_fetch_site="cross-site")
    assert answer.status == 200
    assert answer.headers[ALLOWED] == origin
    assert answer.headers["access-control-expose-headers"] == "*"
    assert "origin" not in fake.posts[-1].headers


def test_a_preflight_varies_by_what_it_was_asked(start: Start) -> None:
    running = allowing(start, PAGE)
    raw = running.raw(
        b"OPTIONS /v1/models HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\norigin: http://localhost:3000\r\n"
        b"access-control-request-method: GET\r\naccess-control-request-private-network: true\r\n\r\n"
    ).lower()
    assert raw.startswith(b"http/1.1 204")
    assert b"vary: origin\r\n" in raw
    assert b"vary: access-control-request-method, access-control-request-headers" in raw
    assert b"access-control-allow-private-network: true" in raw


def test_a_preflight_never_reaches_the_upstream(start: Start, fake: FakeProvider) -> None:
    running = allowing(start, PAGE)
    asked_before(running, PAGE)
    assert all(seen.method != "OPTIONS" for seen in fake.requests)


def test_answers_without_an_origin_vary_by_it_where_origins_are_named(start: Start) -> None:
    answer = allowing(start, PAGE).chat(HI)
    assert answer.headers["vary"] == "Origin"
    assert ALLOWED not in answer.headers


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:3001", "app://obsidian.md.evil"])
@pytest.mark.parametrize("guard", [False, True])
def test_other_origins_are_refused_also_with_a_token(
    start: Start, fake: FakeProvider, origin: str, guard: bool
) -> None:
    running = guarded(start, PAGE) if guard else allowing(start, PAGE)
    assert asked_before(running, origin).status == 403
    answer = post(running, origin, x_brim_token=TOKEN)
    assert answer.status == 403
    assert "gateway.allowed_origins" in answer.json["error"]["message"]
    assert ALLOWED not in answer.headers
    assert fake.posts == []


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_by_default_no_foreign_origin_may_change_anything(start: Start, fake: FakeProvider, method: str) -> None:
    running = start({"T": TOKEN}, gateway={"access_token_env": "T"})
    headers = {"origin": PAGE, "authorization": f"Bearer {TOKEN}"}
    assert running.ask(method, "/v1/files/f", {}, headers).status == 403
    assert all(seen.path != "/v1/files/f" for seen in fake.requests)


def test_the_gateways_own_pages_are_no_foreign_origin(start: Start) -> None:
    running = start({"T": TOKEN}, gateway={"access_token_env": "T"})
    basic = "Basic " + base64.b64encode(f"me:{TOKEN}".encode()).decode()
    body = {"text": "hi", "model": "gpt-4o"}
    own = {"authorization": basic, "origin": running.url}
    assert running.ask("POST", "/brim/v1/count", body, own).status == 200
    behind = {"authorization": basic, "origin": "https://brim.example", "sec-fetch-site": "same-origin"}
    assert running.ask("POST", "/brim/v1/count", body, behind).status == 200


def test_a_page_must_add_the_token_itself(start: Start) -> None:
    running = guarded(start, PAGE)
    basic = "Basic " + base64.b64encode(f"me:{TOKEN}".encode()).decode()
    assert asked_before(running, PAGE).status == 204  # a browser sends no token with that
    refused = post(running, PAGE, authorization=basic)
    assert refused.status == 401
    assert refused.headers[ALLOWED] == PAGE
    assert post(running, PAGE, authorization=f"Bearer {TOKEN}").status == 200


def test_errors_and_streams_can_be_read_by_an_allowed_origin(start: Start, fake: FakeProvider) -> None:
    running = allowing(start, PAGE)
    fake.script(Fail(429, "slow down"))
    assert (answer := post(running, PAGE)).status == 429
    assert answer.headers[ALLOWED] == PAGE
    streamed = running.ask("POST", "/v1/chat/completions", {**HI, "stream": True}, {"origin": PAGE})
    assert streamed.headers["content-type"].startswith("text/event-stream")
    assert streamed.headers[ALLOWED] == PAGE
    for path in ("/brim/v1/nothing", "/up/nobody/v1/models", "/v1/../x"):
        assert running.ask("GET", path, None, {"origin": PAGE}).headers[ALLOWED] == PAGE


def test_what_an_upstream_says_of_origins_is_not_repeated(start: Start, fake: FakeProvider) -> None:
    running = allowing(start, PAGE)
    theirs = (("content-type", "application/json"), (ALLOWED, "*"), ("access-control-allow-credentials", "true"))
    fake.script(Raw((b"{}",), headers=theirs))
    answer = post(running, PAGE)
    assert answer.headers[ALLOWED] == PAGE
    assert "access-control-allow-credentials" not in answer.headers


def test_a_star_allows_any_origin_but_lends_it_nothing(start: Start, fake: FakeProvider) -> None:
    running = allowing(start, "*")
    answer = post(running, "https://any.example")
    assert answer.status == 200
    assert answer.headers[ALLOWED] == "*"
    assert "access-control-allow-credentials" not in answer.headers
    assert running.ask("GET", "/brim/v1/sessions", None, {"origin": "https://any.example"}).status == 403
    upstreams = {"mine": {"base_url": f"{fake.url}/v1", "key_env": "MY_KEY"}}
    keyed = start({"MY_KEY": "k-1234"}, own=True, gateway={"allowed_origins": ["*"]}, upstreams=upstreams)
    posts = len(fake.posts)
    assert post(keyed, "https://any.example").status == 403
    assert keyed.ask("POST", "/v1/embeddings", {}, {"origin": "https://any.example"}).status == 403
    assert len(fake.posts) == posts
    assert keyed.chat(HI).status == 200


@pytest.mark.parametrize(
    "text", ["obsidian.md", "http://a/path", "http://u@a", "null", "", "http://", "https://*.a.b/"]
)
def test_what_is_no_origin_is_refused_as_a_setting(start: Start, text: str) -> None:
    with pytest.raises(BadSetting, match="allowed_origins"):
        allowing(start, text)


@pytest.mark.parametrize(("text", "sent"), [("http://LocalHost:80", "http://localhost"), ("file://", "file://")])
def test_origins_are_told_as_browsers_write_them(start: Start, text: str, sent: str) -> None:
    assert post(allowing(start, text), sent).headers[ALLOWED] == sent
