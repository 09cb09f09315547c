"""A model that no table knows: its server is asked how it counts."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from brim.gateway.proxy.upstreams import Target
from brim.gateway.proxy.vocabulary_probe import counted
from brim.stores.inmemory import InMemoryStore
from brim.tokens.fingerprints import PROBES
from brim.tokens.tokenizers import tokenizer
from tests.gateway.conftest import Running, Start, words


class OwnServer:
    """A server of one's own: it lists a model, counts on request, and remembers what it was asked."""

    def __init__(self, family: str, window: int) -> None:
        server = self
        self.count, self.window = tokenizer(family) if family else None, window
        self.asked: list[tuple[str, Any]] = []
        self.starting = 0

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.asked.append((self.path, None))
                if server.starting:
                    server.starting -= 1
                    self._answer(503, {"error": {"message": "Loading model"}})
                else:
                    self._answer(200, {"data": [{"id": "harbor", "meta": {"n_ctx": server.window}}]})

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                server.asked.append((self.path, body))
                if self.path == "/tokenize" and server.count is not None:
                    self._answer(200, {"tokens": list(range(server.count(body["content"])))})
                elif self.path == "/v1/chat/completions":
                    self._answer(*server.chat(body))
                else:
                    self._answer(404, {"error": {"message": "no"}})

            def _answer(self, status: int, value: Any) -> None:
                data = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(data)))
                self.send_header("content-type", "application/json")
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                """Quiet."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def chat(self, body: Any) -> tuple[int, Any]:
        """An answer with the usage of the o200k vocabulary, or llama.cpp's refusal."""
        count = tokenizer("o200k")
        size = 3 + sum(4 + count(message["content"]) for message in body["messages"])
        if size > self.window:
            text = f"request ({size} tokens) exceeds the available context size ({self.window} tokens)"
            kind = "exceed_context_size_error"
            return 400, {"error": {"message": text, "type": kind, "n_prompt_tokens": size, "n_ctx": self.window}}
        said = {"role": "assistant", "content": "Noted."}
        used = {"prompt_tokens": size, "completion_tokens": 2, "total_tokens": size + 2}
        return 200, {"choices": [{"index": 0, "message": said, "finish_reason": "stop"}], "usage": used}

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


@pytest.fixture
def servers() -> Iterator[Any]:
    made: list[OwnServer] = []

    def start(family: str = "o200k", window: int = 4_096) -> OwnServer:
        made.append(OwnServer(family, window))
        return made[-1]

    yield start
    for server in made:
        server.close()


def before(gateway: Running, name: str = "harbor") -> Any:
    """What the gateway knows of a model once it has asked."""
    gateway.call(_asked(gateway))
    return gateway.gateway.fitter.models.find(name, "own")


async def _asked(gateway: Running) -> None:
    discovery = gateway.gateway.discovery
    await discovery._ask(discovery.targets[0], [])


def own(server: OwnServer) -> dict[str, Any]:
    return {"own": True, "upstreams": {"own": {"base_url": f"{server.url}/v1"}}}


@pytest.mark.parametrize("family", ["o200k", "llama-3", "qwen-3", "gemma-3"])
def test_the_vocabulary_is_told_by_what_the_server_counts(start: Start, servers: Any, family: str) -> None:
    found = before(start(**own(servers(family))))
    assert (found.family, found.window) == (family, 4_096)


def test_only_texts_of_brims_own_are_sent_to_be_counted(start: Start, servers: Any) -> None:
    server = servers()
    before(start(**own(server)))
    assert {body["content"] for path, body in server.asked if path == "/tokenize"} == set(PROBES)


def test_a_server_that_does_not_count_is_asked_once_a_refresh(start: Start, servers: Any) -> None:
    server = servers("")
    gateway = start(**own(server))
    assert before(gateway).family == "estimate"
    asked = [path for path, _ in server.asked]
    assert asked.count("/tokenize") == asked.count("/v1/models")


def test_what_was_found_out_is_known_at_the_next_start(start: Start, servers: Any) -> None:
    store = InMemoryStore()
    first = start(**own(servers("llama-3")), store=store)
    before(first)
    first.call(first.gateway.journal.close())
    dead = {"own": True, "upstreams": {"own": {"base_url": "http://127.0.0.1:9/v1"}}}
    again = start(**dead, store=store)
    assert again.gateway.fitter.models.find("harbor", "own").family == "llama-3"  # type: ignore[union-attr]


def test_what_the_settings_say_of_a_vocabulary_stands(start: Start, servers: Any) -> None:
    models = {"harbor": {"window": 4_096, "family": "qwen-3"}}
    assert before(start(**own(servers("o200k")), models=models)).family == "qwen-3"


def test_providers_of_their_own_service_are_not_probed() -> None:
    assert Target("openai", "https://api.openai.com/v1", frozenset({"openai_chat"})).well_known
    assert not Target("mine", "http://127.0.0.1:8080/v1", frozenset({"openai_chat"})).well_known


@pytest.mark.parametrize(
    ("body", "number"),
    [
        (b'{"tokens": [1, 2, 3]}', 3),
        (b'{"count": 7, "max_model_len": 9, "tokens": [1]}', 7),
        (b'[{"id": 1, "text": "a"}]', 1),
        (b'{"error": "no"}', None),
        (b"<html>", None),
    ],
)
def test_answers_of_every_server_are_read(body: bytes, number: int | None) -> None:
    assert counted(body) == number


def long_talk(gateway: Running, turns: int, each: int) -> list[int]:
    """The statuses of a conversation that grows by so many tokens a turn."""
    messages: list[dict[str, str]] = []
    statuses = []
    for turn in range(turns):
        messages.append({"role": "user", "content": f"Turn {turn}: {words(each, str(turn))}"})
        got = gateway.ask("POST", "/v1/chat/completions", {"model": "harbor", "messages": messages, "max_tokens": 64})
        statuses.append(got.status)
        messages.append({"role": "assistant", "content": "Noted."})
    return statuses


@pytest.mark.parametrize("family", ["o200k", ""], ids=["counts on request", "does not"])
def test_a_conversation_with_an_unknown_model_goes_on_past_its_window(start: Start, servers: Any, family: str) -> None:
    server = servers(family)
    gateway = start(**own(server))
    before(gateway)
    assert long_talk(gateway, 12, 700) == [200] * 12
    assert gateway.get("/brim/v1/live")["over_upper"] == 0


def with_instructions(size: int) -> dict[str, Any]:
    """A request whose instructions, which must stay, are about so many tokens of the o200k vocabulary."""
    system = {"role": "system", "content": words(size)}
    return {"model": "harbor", "messages": [system, {"role": "user", "content": "Which item costs most?"}]}


@pytest.mark.parametrize("size", [1_200, 2_000, 3_000])
def test_instructions_that_only_seem_too_long_are_tried(start: Start, servers: Any, size: int) -> None:
    """The estimate of such a text is about twice too high: by it the instructions alone fill the window."""
    gateway = start(**own(servers("")))
    before(gateway)
    got = gateway.ask("POST", "/v1/chat/completions", with_instructions(size))
    assert got.status == 200
    turn = gateway.last
    assert turn.usage.input <= turn.upper
    assert turn.limit < 4_096


def test_instructions_that_are_too_long_by_any_count_are_refused_at_once(start: Start, servers: Any) -> None:
    server = servers("")
    gateway = start(**own(server))
    before(gateway)
    got = gateway.ask("POST", "/v1/chat/completions", with_instructions(9_000))
    assert (got.status, got.json["error"]["code"]) == (400, "context_length_exceeded")
    assert "/v1/chat/completions" not in [path for path, _ in server.asked]


def test_what_was_tried_in_vain_is_answered_in_the_upstreams_words(start: Start, servers: Any) -> None:
    server = servers("")
    gateway = start(**own(server))
    before(gateway)
    server.window = 1_000  # it has less than it says
    got = gateway.ask("POST", "/v1/chat/completions", with_instructions(3_000))
    assert got.status == 400
    assert "exceeds the available context size (1000 tokens)" in got.json["error"]["message"]


def test_sizes_that_a_refusal_states_are_learnt_from(start: Start, servers: Any) -> None:
    """Once a refusal has told true sizes, the conversation is fitted to the window that the server really has."""
    server = servers("")
    gateway = start(**own(server))
    before(gateway)
    server.window = 2_000
    assert long_talk(gateway, 8, 700) == [200] * 8
    tenant = gateway.last.tenant
    assert gateway.gateway.fitter.models.find("harbor", "own", tenant).window == 2_000  # type: ignore[union-attr]
