"""Where a path leads: which requests are fitted, which pass, and at what address the upstream sees them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from brim.apis.addresses import ALL
from brim.gateway.proxy.routes import route_of
from brim.gateway.proxy.upstreams import Target, choose
from brim.gateway.server.options import options_of
from brim.settings import load
from brim.testing import FakeProvider

from .conftest import Running, Start, long_chat

CHAT = "/chat/completions"


@pytest.mark.parametrize(
    ("base", "path", "api", "expected"),
    [
        # without a path: as the client wrote it
        ("https://api.perplexity.ai", CHAT, "openai_chat", "https://api.perplexity.ai/chat/completions"),
        ("http://127.0.0.1:8080", f"/v1{CHAT}", "openai_chat", "http://127.0.0.1:8080/v1/chat/completions"),
        ("https://x.azure.com", f"/openai/v1{CHAT}", "openai_chat", "https://x.azure.com/openai/v1/chat/completions"),
        ("https://g.example", f"/v1beta/openai{CHAT}", "openai_chat", "https://g.example/v1beta/openai/chat/completions"),
        ("https://api.anthropic.com", "/messages", "anthropic", "https://api.anthropic.com/v1/messages"),
        # a path without a version stays as it is given
        ("https://m.example/inference", f"/v1{CHAT}", "openai_chat", "https://m.example/inference/chat/completions"),
        ("https://m.example/inference", CHAT, "openai_chat", "https://m.example/inference/chat/completions"),
        ("https://m.example/inference", "/v1/embeddings", "openai_chat", "https://m.example/inference/embeddings"),
        ("https://g.example/v1beta/openai", f"/v1{CHAT}", "openai_chat", "https://g.example/v1beta/openai/chat/completions"),
        ("https://d.example/anthropic", "/v1/messages", "anthropic", "https://d.example/anthropic/v1/messages"),
        # a version stands for the one in the path, whatever is before it
        ("https://api.openai.com/v1", CHAT, "openai_chat", "https://api.openai.com/v1/chat/completions"),
        ("https://api.groq.com/openai/v1", f"/openai/v1{CHAT}", "openai_chat", "https://api.groq.com/openai/v1/chat/completions"),
        ("https://api.groq.com/openai/v1", f"/team/v1{CHAT}", "openai_chat", "https://api.groq.com/openai/v1/chat/completions"),
        ("https://z.example/api/paas/v4", f"/v1{CHAT}", "openai_chat", "https://z.example/api/paas/v4/chat/completions"),
        ("https://api.anthropic.com/v1", "/v1/messages", "anthropic", "https://api.anthropic.com/v1/messages"),
        ("https://g.example/v1beta", "/v1beta/models/m:generateContent", "gemini", "https://g.example/v1beta/models/m:generateContent"),
        # deployments of Azure
        (
            "https://x.azure.com/openai",
            f"/openai/deployments/d{CHAT}",
            "openai_chat",
            "https://x.azure.com/openai/deployments/d/chat/completions",
        ),
        ("http://127.0.0.1:11434/v1", "/api/chat", "ollama", "http://127.0.0.1:11434/api/chat"),
    ],
)  # fmt: skip
def test_a_base_address_stays_as_it_is_given(base: str, path: str, api: str, expected: str) -> None:
    assert Target("t", base, ALL).address(path, "", api) == expected


@pytest.mark.parametrize(
    ("method", "path", "kind", "api"),
    [
        ("POST", f"/v1beta/openai{CHAT}", "fit", "openai_chat"),
        ("GET", "/v1beta/openai/models", "models", "openai_chat"),
        ("POST", f"/openai/v1{CHAT}", "fit", "openai_chat"),
        ("POST", "/openai/v1/responses", "fit", "openai_responses"),
        ("POST", f"/openai/deployments/mine{CHAT}", "fit", "openai_chat"),
        ("POST", f"/team-a/llm/v1{CHAT}", "fit", "openai_chat"),
        ("POST", "/team-a/llm/v1/messages", "fit", "anthropic"),
        ("POST", "/anthropic/v1/messages", "fit", "anthropic"),
        ("POST", "/proxy/v1beta/models/gemini-2.5-pro:generateContent", "fit", "gemini"),
        ("POST", f"/api/v1{CHAT}", "fit", "openai_chat"),
        ("POST", f"/inference{CHAT}", "fit", "openai_chat"),
        ("POST", "/v1/threads/thread_1/messages", "pass", ""),
        ("GET", f"/v1{CHAT}/chatcmpl-1/messages", "pass", ""),
        ("POST", "/anything/at/all", "pass", ""),
        ("POST", "/api/generate", "pass", "ollama"),
    ],
)
def test_endpoints_are_known_behind_any_prefix(method: str, path: str, kind: str, api: str) -> None:
    route = route_of(method, path)
    assert route is not None
    assert (route.kind, route.api) == (kind, api)


def fitted(running: Running, path: str, body: dict[str, Any], budget: str = "3000") -> int:
    answer = running.ask("POST", path, body, {"x-brim-budget": budget})
    assert answer.status == 200
    assert answer.number("tokens-before") > answer.number("tokens-after") > 0
    return answer.number("tokens-after")


@pytest.mark.parametrize(
    "path",
    [
        f"/v1beta/openai{CHAT}",
        f"/openai/v1{CHAT}",
        f"/openai/deployments/gpt-4o{CHAT}?api-version=1",
        f"/a/b/v1{CHAT}",
        CHAT,
    ],
)
def test_a_chat_behind_a_prefix_is_fitted_and_sent_to_the_same_path(
    gateway: Running, fake: FakeProvider, path: str
) -> None:
    assert fitted(gateway, path, {"model": "gpt-4o", "messages": long_chat(20)}) <= 3_000
    seen = fake.posts[-1]
    assert seen.path + (f"?{seen.query}" if seen.query else "") == path


def test_the_openai_path_of_gemini_goes_to_the_upstream_that_speaks_gemini(start: Start, fake: FakeProvider) -> None:
    upstreams = {
        "openai": {"base_url": "http://127.0.0.1:9/v1"},
        "google": {"base_url": fake.url, "api": "gemini", "key_env": "K"},
    }
    running = start({"K": "google-key"}, own=True, upstreams=upstreams)
    body = {"model": "gemini-2.5-pro", "messages": [{"role": "user", "content": "hi"}]}
    assert running.ask("POST", f"/v1beta/openai{CHAT}", body).status == 200
    assert fake.posts[-1].path == f"/v1beta/openai{CHAT}"
    assert fake.posts[-1].headers["authorization"] == "Bearer google-key"


def test_an_upstream_may_have_a_path_of_its_own(start: Start, fake: FakeProvider) -> None:
    running = start(own=True, upstreams={"house": {"base_url": f"{fake.url}/inference"}})
    for path in (CHAT, f"/v1{CHAT}", f"/any/thing/v1{CHAT}"):
        fitted(running, path, {"model": "gpt-4o", "messages": long_chat(20)})
        assert fake.posts[-1].path == f"/inference{CHAT}"


def test_a_prefix_of_the_gateway_itself_is_taken_off(start: Start, fake: FakeProvider) -> None:
    running = start(gateway={"path_prefix": "/llm"})
    fitted(running, f"/llm/v1{CHAT}", {"model": "gpt-4o", "messages": long_chat(20)})
    assert fake.posts[-1].path == f"/v1{CHAT}"
    assert running.ask("GET", "/llm/brim/v1/live").status == 200
    assert running.ask("GET", "/llm/healthz").status == 200
    assert running.ask("GET", "/brim/v1/live").status == 200
    assert running.ask("GET", "/llm/", None, {"accept": "text/html"}).headers["location"] == "/llm/brim/"


@pytest.mark.parametrize(("method", "path"), [("POST", "/rerank"), ("DELETE", "/custom/thing?a=1"), ("GET", "/props")])
def test_what_is_not_known_passes_untouched(gateway: Running, fake: FakeProvider, method: str, path: str) -> None:
    body = b"not \xff json at all" if method == "POST" else None
    gateway.ask(method, path, body, {"x-custom": "kept"})
    seen = next(one for one in fake.requests if one.path == path.partition("?")[0])
    assert (seen.method, seen.query, seen.body) == (method, path.partition("?")[2], body or b"")
    assert seen.headers["x-custom"] == "kept"


def test_configured_upstreams_come_before_the_providers_own_unless_they_are_the_only_ones() -> None:
    given = {"base_url": "https://models.example.org/v1", "models": ["our-*"]}
    added = options_of(load(Path("/nowhere"), {}, upstreams={"ours": given})).targets
    assert [target.name for target in added] == ["ours", "openai", "anthropic", "gemini"]
    assert choose(added, "openai_chat", "our-7b").name == "ours"
    assert choose(added, "openai_chat", "gpt-4o").name == "openai"
    assert choose(added, "anthropic", "claude-sonnet-5").name == "anthropic"
    only = options_of(load(Path("/nowhere"), {}, upstreams={"ours": {**given, "only": True}})).targets
    assert [target.name for target in only] == ["ours"]
    replaced = options_of(load(Path("/nowhere"), {}, upstreams={"openai": given})).targets
    assert [target.base_url for target in replaced if target.name == "openai"] == [given["base_url"]]


def test_what_tells_no_api_goes_to_the_upstream_there_is(start: Start, fake: FakeProvider) -> None:
    upstreams = {"claude": {"base_url": fake.url, "api": "anthropic", "key_env": "K", "models": ["claude-*"]}}
    running = start({"K": "claude-key"}, own=True, upstreams=upstreams)
    running.ask("GET", "/some/page")
    seen = next(one for one in fake.requests if one.path == "/some/page")
    assert seen.headers["x-api-key"] == "claude-key"


def test_what_a_browser_asks_of_every_server_is_not_sent_on(gateway: Running, fake: FakeProvider) -> None:
    assert gateway.ask("GET", "/favicon.ico").status == 404
    assert all(seen.path != "/favicon.ico" for seen in fake.requests)
