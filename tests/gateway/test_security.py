"""Who may come in, what may go out, and that no key is ever kept or shown."""

from __future__ import annotations

import base64
import logging
from pathlib import Path

import pytest

from brim.errors import BadSetting
from brim.gateway.observe.logs import Lines, Redaction, Words, set_up
from brim.stores.resilient import open_store
from brim.testing import FakeProvider, Raw

from .conftest import Running, Start, long_chat
from .test_faults import until

HI = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}
TOKEN = "an-access-token-of-some-length"


@pytest.mark.parametrize(
    "path",
    [
        "/v1/../admin",
        "/v1/%2e%2e/admin",
        "/v1//evil.example/x",
        "/v1/files/..%2f..%2fetc",
        "/v1/a\\b",
        "/v1/x%0d%0aset-cookie:1",
        "/up/../v1/models",
    ],
)
def test_paths_that_climb_or_break_lines_are_refused(gateway: Running, fake: FakeProvider, path: str) -> None:
    answer = gateway.raw(f"GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 40")
    assert all("admin" not in seen.path and "etc" not in seen.path for seen in fake.requests)


def test_an_address_in_the_request_line_does_not_choose_the_upstream(gateway: Running, fake: FakeProvider) -> None:
    head = b"GET http://169.254.169.254/v1/models HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    assert b"200 OK" in gateway.raw(head)
    assert fake.requests[-1].headers["host"] == fake.url.removeprefix("http://")


def test_redirects_of_an_upstream_are_handed_back_and_not_followed(gateway: Running, fake: FakeProvider) -> None:

    fake.script(Raw((b"",), status=302, headers=(("location", "http://169.254.169.254/"),)))
    answer = gateway.chat(HI)
    assert answer.status == 302
    assert len(fake.posts) == 1


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8787", "10.0.0.5"])
def test_other_host_names_are_refused_without_a_token(gateway: Running, host: str) -> None:
    assert gateway.ask("GET", "/brim/v1/live", None, {"host": host}).status == 403


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:1", "[::1]:9", "gw.localhost"])
def test_loopback_names_are_served(gateway: Running, host: str) -> None:
    assert gateway.ask("GET", "/brim/v1/live", None, {"host": host}).status == 200


def test_pages_of_other_sites_cannot_use_the_gateway(gateway: Running, fake: FakeProvider) -> None:
    answer = gateway.ask("POST", "/v1/chat/completions", HI, {"sec-fetch-site": "cross-site"})
    assert answer.status == 403
    assert fake.posts == []


def test_listening_away_from_loopback_needs_a_token(start: Start) -> None:
    with pytest.raises(BadSetting, match="access token"):
        start(gateway={"host": "0.0.0.0"})


@pytest.mark.parametrize("path", ["/v1/models", "/brim/v1/live", "/metrics", "/brim/", "/"])
def test_with_a_token_everything_but_the_health_checks_asks_for_it(start: Start, path: str) -> None:
    running = start({"MY_TOKEN": TOKEN}, gateway={"host": "0.0.0.0", "access_token_env": "MY_TOKEN"})
    assert running.ask("GET", path).status == 401
    assert running.ask("GET", path, None, {"x-brim-token": TOKEN + "x"}).status == 401
    assert running.ask("GET", path, None, {"x-brim-token": TOKEN}).status != 401
    assert running.ask("GET", "/healthz").status == 200


def test_a_balancer_without_the_token_is_told_whether_the_gateway_takes_requests_and_no_more(start: Start) -> None:
    running = start({"MY_TOKEN": TOKEN}, gateway={"host": "0.0.0.0", "access_token_env": "MY_TOKEN"})
    assert running.ask("GET", "/readyz").json == {"ready": True}
    assert "store" in running.ask("GET", "/readyz", None, {"x-brim-token": TOKEN}).json
    running.gateway.leaving = True
    answer = running.ask("GET", "/readyz")
    assert (answer.status, answer.json) == (503, {"ready": False})


def test_the_token_may_come_as_the_key_and_never_reaches_the_upstream(start: Start, fake: FakeProvider) -> None:
    running = start({"MY_TOKEN": TOKEN}, gateway={"host": "0.0.0.0", "access_token_env": "MY_TOKEN"})
    basic = base64.b64encode(f"me:{TOKEN}".encode()).decode()
    spelt = [f"{scheme} {basic}" for scheme in ("Basic", "basic", "BASIC", "bAsIc ")]
    for header in (f"Bearer {TOKEN}", f"bearer {TOKEN}", *spelt):
        assert running.ask("POST", "/v1/chat/completions", HI, {"authorization": header}).status == 200
        assert "authorization" not in fake.posts[-1].headers
    assert running.ask("POST", "/v1/messages", {**HI, "max_tokens": 5}, {"x-api-key": TOKEN}).status == 200
    assert "x-api-key" not in fake.posts[-1].headers


def test_the_token_leaves_in_no_header_and_no_query(start: Start, fake: FakeProvider) -> None:
    running = start({"MY_TOKEN": TOKEN}, gateway={"host": "0.0.0.0", "access_token_env": "MY_TOKEN"})
    headers = {"x-brim-token": TOKEN, "authorization": "Bearer client-key", "x-team": f"me:{TOKEN}"}
    for path in ("/v1/chat/completions", "/v1/embeddings"):
        assert running.ask("POST", f"{path}?a=1&key={TOKEN}&b=2", HI, headers).status == 200
        seen = fake.posts[-1]
        assert TOKEN not in str(seen.headers)
        assert seen.query == "a=1&b=2"
        assert seen.headers["authorization"] == "Bearer client-key"


def test_the_token_does_not_go_out_with_a_question_for_models_either(start: Start, fake: FakeProvider) -> None:
    running = start({"MY_TOKEN": TOKEN}, gateway={"host": "0.0.0.0", "access_token_env": "MY_TOKEN"})
    headers = {"authorization": f"Bearer {TOKEN}"}
    assert running.ask("POST", "/v1/chat/completions", {**HI, "model": "nobody-knows-it"}, headers).status == 200
    running.settled()
    until(lambda: [seen.path for seen in fake.requests].count("/v1/models") > 1)  # its own at the start, and this one
    assert all(TOKEN not in str(seen.headers) for seen in fake.requests)


def test_no_key_is_in_the_store_the_logs_or_the_views(
    start: Start, fake: FakeProvider, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    secrets = ["sk-client-4f9a8b7c6d5e4f3a2b1c", "provider-key-0a1b2c3d4e5f6a7b", "AIzaQueryKey0123456789abcdefghijklm"]
    store = open_store(tmp_path / "brim.db")
    upstreams = {
        "mine": {"base_url": f"{fake.url}/v1", "key_env": "MY_KEY"},
        "gem": {"base_url": fake.url, "api": "gemini"},
    }
    running = start({"MY_KEY": secrets[1]}, own=True, upstreams=upstreams, store=store)
    caplog.set_level(logging.DEBUG)
    headers = {"authorization": f"Bearer {secrets[0]}", "x-brim-budget": "4000", "x-brim-session": "s"}
    assert running.ask("POST", "/v1/chat/completions", {**HI, "messages": long_chat(30)}, headers).status == 200
    contents = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
    running.ask("POST", f"/v1beta/models/gemini-2.5-pro:generateContent?key={secrets[2]}", contents)
    shown = "".join(
        str(running.ask("GET", path).body)
        for path in ("/brim/v1/live", "/brim/v1/settings", "/brim/v1/sessions", "/metrics", "/brim/v1/models")
    )
    running.settled()
    running.call(running.gateway.journal.close())
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    logged = "\n".join(Lines(Redaction()).format(record) for record in caplog.records)
    assert kept
    for secret in secrets:
        assert secret.encode() not in kept
        assert secret not in logged
        assert secret not in shown


def _views(running: Running) -> str:
    """Everything that the JSON API tells of the last session, with one of its archived contents."""
    session = running.get("/brim/v1/sessions")["sessions"][0]["id"]
    place = f"/brim/v1/sessions/{session}"
    paths = [place, f"{place}/turns/1", "/brim/v1/live", "/brim/v1/status", "/metrics"]
    paths += [f"{place}/archive/{one['handle']}" for one in running.get(place)["archive"][:3]]
    answers = [running.ask("GET", path) for path in paths]
    answers.append(running.ask("POST", f"{place}/turns/1/plan", {"budget": 3_000}))
    assert {answer.status for answer in answers} == {200}
    return "".join(answer.body.decode() for answer in answers)


def test_content_is_neither_logged_nor_shown_unless_asked_for(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    running = start()
    chat = long_chat(30)
    assert running.chat({"messages": chat}, x_brim_session="one", x_brim_budget="4000").number("archived") > 0
    running.settled()
    shown = _views(running)
    logged = "\n".join(Lines(Redaction()).format(record) for record in caplog.records)
    for words in ("helpful clerk", "costs 7 euros", "What did question 3 say", "itemq3", "All right."):
        assert words not in shown
        assert words not in logged
    assert '"characters":' in shown
    assert '"digest":' in shown


def test_what_is_shown_is_redacted(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    running = start(gateway={"log_content": True, "redact": [r"\b\d{4}-\d{4}\b"]})
    message = "my card is 1234-5678 and my key is sk-abcdefgh12345678"
    running.chat({**HI, "messages": [*long_chat(30), {"role": "user", "content": message}]}, x_brim_budget="4000")
    running.settled()
    shown = _views(running)
    assert "1234-5678" not in shown
    assert "sk-abcdefgh12345678" not in shown
    assert "my card is [redacted]" in shown


def test_log_lines_are_json_and_masked(capsys: pytest.CaptureFixture[str]) -> None:
    handler = set_up(Redaction([r"secret\d+"]))
    try:
        logging.getLogger("brim.gateway").info("hello", extra={"fields": {"note": "secret42 and Bearer abcdef123456"}})
    finally:
        for name in ("brim", "uvicorn.error"):
            logging.getLogger(name).removeHandler(handler)
            logging.getLogger(name).propagate = True
    line = capsys.readouterr().err
    assert '"event":"hello"' in line
    assert "secret42" not in line
    assert "abcdef123456" not in line


def test_a_log_line_on_a_terminal_is_words_and_masked() -> None:
    record = logging.LogRecord("brim.gateway", logging.WARNING, "here", 1, "failed", None, None)
    record.created, record.fields = 0.0, {"status": 502, "note": "Bearer abcdef123456 was refused", "session": ""}
    assert Words(Redaction()).format(record) == "00:00:00 warning: failed  status=502  note=[redacted] was refused"


def test_content_is_logged_masked_where_that_is_asked_for(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    running = start(gateway={"log_content": True, "redact": ["Rumpelstilz"]})
    running.chat({**HI, "messages": [{"role": "user", "content": "my name is Rumpelstilz"}]})
    running.settled()
    lines = Lines(running.gateway.redact)
    logged = "\n".join(lines.format(record) for record in caplog.records)
    assert "my name is [redacted]" in logged
    assert "All right." in logged
    assert "Rumpelstilz" not in logged


def test_what_a_client_names_cannot_add_headers_to_an_answer(gateway: Running) -> None:
    odd = "no-model\r\nset-cookie: stolen=1\r\n\u2028\u00e4"
    answer = gateway.chat({**HI, "model": odd}, x_brim_session="a b\tc")
    assert answer.status == 200
    assert "set-cookie" not in answer.headers
    assert "\r" not in answer.headers["x-brim-note"]
    assert answer.headers["x-brim-session"].partition(".")[0].replace("~", "").isalnum()


def test_a_header_with_a_line_break_inside_is_refused(gateway: Running, fake: FakeProvider) -> None:
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nx-a: 1\rx-b: 2\r\ncontent-length: 2\r\n\r\n{}"
    assert gateway.raw(head).startswith(b"HTTP/1.1 400 ")
    assert fake.posts == []


@pytest.mark.parametrize("url", ["http://169.254.169.254/latest", "file:///etc/passwd", "evil.example:80"])
def test_nothing_in_a_body_or_header_names_another_upstream(gateway: Running, fake: FakeProvider, url: str) -> None:
    headers = {"x-forwarded-host": url, "x-brim-upstream": url, "forwarded": f"host={url}"}
    body = {**HI, "base_url": url, "api_base": url, "model": f"{url}/gpt-4o"}
    assert gateway.ask("POST", "/v1/chat/completions", body, headers).status == 200
    assert fake.posts[-1].headers["host"] == fake.url.removeprefix("http://")
    assert all(url not in value for value in fake.posts[-1].headers.values())
    assert gateway.ask("POST", f"/up/{url.partition(':')[0]}/v1/chat/completions", HI).status == 404
