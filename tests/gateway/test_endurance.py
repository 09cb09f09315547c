"""The gateway as a process of its own under load: killed, drained, read slowly, sent bombs."""

from __future__ import annotations

import gzip
import http.client
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from brim.gateway.server import client_watch
from brim.stores.inmemory import InMemoryStore
from brim.testing import FakeProvider, Hang, Raw, Say

from .conftest import Running, Start, words
from .test_faults import until

HI = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}
WINDOW, MODEL = 4_000, "small-one"


@contextmanager
def process(folder: Path, upstream: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A gateway with a store in a folder, and its port."""
    (folder / "brim.toml").write_text(f'[models.{MODEL}]\nwindow = {WINDOW}\nmax_output = 400\nfamily = "o200k"\n')
    command = [sys.executable, "-m", "brim.cli.service.serve", "--config", str(folder / "brim.toml"), "--port", "0"]
    env = {**os.environ, "HOME": str(folder), "BRIM_STORE_PATH": str(folder / "brim.db")}
    with subprocess.Popen([*command, "--upstream", upstream], stderr=subprocess.PIPE, env=env) as started:
        assert started.stderr is not None
        port = urlsplit(started.stderr.readline().split()[3].decode()).port or 0
        drain = threading.Thread(target=started.stderr.read, daemon=True)
        drain.start()
        try:
            yield started, port
        finally:
            started.kill()
            drain.join(10)


def say(port: int, number: int, chat: list[dict[str, str]], stream: bool = True) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        body = json.dumps({"model": MODEL, "messages": chat, "stream": stream})
        headers = {"content-type": "application/json", "x-brim-session": f"chat-{number}"}
        connection.request("POST", "/v1/chat/completions", body, headers)
        answer = connection.getresponse()
        assert answer.status == 200
        return answer.read()
    finally:
        connection.close()


def last_sent(fake: FakeProvider, number: int) -> list[Any]:
    """The messages of the last request of a conversation, as the provider got them."""
    mark = f"This is chat {number}."
    return next(list(seen.json["messages"]) for seen in reversed(fake.posts) if mark in seen.body.decode())


def test_sessions_go_on_with_their_prefix_after_a_kill_under_load(tmp_path: Path) -> None:
    chats: list[list[dict[str, str]]] = [[] for _ in range(4)]
    with FakeProvider(window=WINDOW, model=MODEL, default=Say("All right, noted.", pieces=20)) as fake:
        with process(tmp_path, fake.url) as (started, port):
            for turn in range(12):
                for number, chat in enumerate(chats):
                    said = f"This is chat {number}. {words(400, f'c{number}t{turn}')}"
                    chat.append({"role": "user", "content": said})
                    say(port, number, chat)
                    chat.append({"role": "assistant", "content": "All right, noted."})
            before = [last_sent(fake, number) for number in range(4)]
            fake.script(*[Say("never ends", pieces=4, fault=Hang(after=2)) for _ in range(4)])
            hung = [threading.Thread(target=_cut_off, args=(port, number, chats[number])) for number in range(4)]
            for one in hung:
                one.start()
            until(lambda: len(fake.posts) == 4 * 13)
            started.send_signal(signal.SIGKILL)
            for one in hung:
                one.join(30)
        with sqlite3.connect(tmp_path / "brim.db") as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        with process(tmp_path, fake.url) as (_, port):
            for number, chat in enumerate(chats):
                chat.append({"role": "user", "content": "And now?"})
                assert b"[DONE]" in say(port, number, chat)
                sent = last_sent(fake, number)
                # Nothing was over, and what was sent before the kill is how this one begins, message for message.
                common = next((n for n, (a, b) in enumerate(zip(before[number], sent, strict=False)) if a != b), None)
                assert common is None, f"chat {number} differs from message {common} of {len(before[number])} on"
                assert len(sent) > len(before[number])


def _cut_off(port: int, number: int, chat: list[dict[str, str]]) -> None:
    """Ask again what was asked last; the answer breaks off."""
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        say(port, number, [*chat, {"role": "user", "content": "?"}])


def test_a_stream_in_work_is_ended_and_its_usage_kept_when_the_process_is_told_to_end(tmp_path: Path) -> None:
    with FakeProvider(default=Say("All right. " * 400, pieces=400)) as fake, process(tmp_path, fake.url) as (one, port):
        body = json.dumps({**HI, "stream": True, "stream_options": {"include_usage": True}}).encode()
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
            head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n" % len(body)
            connection.sendall(head + body)
            seen = connection.recv(4_096)
            one.send_signal(signal.SIGTERM)
            while b"[DONE]" not in seen:
                piece = connection.recv(65_536)
                assert piece, "the stream was cut"
                seen = seen[-100:] + piece
        assert one.wait(30) == 0
    with sqlite3.connect(tmp_path / "brim.db") as db:
        assert db.execute("SELECT count(*), sum(actual_in IS NOT NULL) FROM usage").fetchone() == (1, 1)


def test_a_client_that_does_not_read_costs_no_memory(gateway: Running, fake: FakeProvider) -> None:
    sent = 0
    piece = b"data: " + b"x" * 65_000 + b"\n\n"

    class Counted(tuple[bytes, ...]):
        """Tells how much of it the upstream has got rid of."""

        def __iter__(self) -> Iterator[bytes]:
            nonlocal sent
            for one in tuple.__iter__(self):
                sent += len(one)
                yield one

    fake.script(Raw(Counted((piece,) * 1_600), headers=(("content-type", "text/event-stream"),)))
    data = json.dumps({**HI, "stream": True}).encode()
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        connection.connect(("127.0.0.1", gateway.port))
        head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n" % len(data)
        connection.sendall(head + data)
        assert b"200 OK" in connection.recv(1_000)
        last = -1
        while sent != last:  # until nothing moves any more
            last = sent
            threading.Event().wait(0.3)
        # 104 MB were to come; what is under way stands in the buffers of three sockets and one reader.
        assert sent < 24_000_000
    until(lambda: gateway.gateway.metrics.running == 0)


def test_a_bomb_is_refused_before_it_is_unpacked(start: Start, fake: FakeProvider) -> None:
    running = start(gateway={"body_limit": 1_000_000})
    bomb = gzip.compress(b'{"model": "gpt-4o", "messages": "' + b" " * 200_000_000)
    answer = running.ask("POST", "/v1/chat/completions", bomb, {"content-encoding": "gzip"})
    assert (answer.status, answer.json["error"]["code"]) == (413, "request_too_large")
    assert fake.posts == []


def test_an_upload_that_does_not_come_is_told_so(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    gateway = start(gateway={"body_timeout": 0.1})
    monkeypatch.setattr(client_watch, "SLOWEST_UPLOAD", 1_000_000)
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\n{"
    assert gateway.raw(head).startswith(b"HTTP/1.1 408 ")


def test_connections_to_an_upstream_are_used_again(gateway: Running, fake: FakeProvider) -> None:
    made: list[object] = []
    connector = gateway.gateway.client.connector
    assert connector is not None
    original = connector._create_connection

    async def counted(*given: Any) -> Any:
        made.append(given)
        return await original(*given)

    connector._create_connection = counted  # type: ignore[method-assign]
    for _ in range(5):
        assert gateway.chat({**HI, "stream": True}).status == 200
        assert gateway.chat(HI).status == 200
    assert len(made) <= 1


def test_an_answer_that_falls_silent_is_cut_and_one_that_the_client_delays_is_not(
    start: Start, fake: FakeProvider
) -> None:
    running = start(gateway={"read_timeout": 0.4})
    fake.script(Say("one two three", pieces=3, fault=Hang(after=2)))
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        running.chat({**HI, "stream": True})
    assert running.last.outcome == "failed"
    piece = b"data: " + b"x" * 65_000 + b"\n\n"
    fake.script(Raw((piece,) * 400, headers=(("content-type", "text/event-stream"),)))
    with running.slow_reader({**HI, "stream": True}) as connection:
        threading.Event().wait(1.2)  # three times as long as the upstream may be silent
        got = 0
        while got < 26_000_000:
            piece = connection.recv(1 << 20)
            assert piece
            got += len(piece)


def test_usage_that_could_not_be_written_is_written_later(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    store = InMemoryStore()
    running = start(store=store)
    tries: list[int] = []
    written = InMemoryStore.add_usages

    def once_broken(self: InMemoryStore, records: Any) -> None:
        tries.append(len(records))
        if len(tries) == 1:
            raise OSError("no space left")
        written(self, records)

    monkeypatch.setattr(InMemoryStore, "add_usages", once_broken)
    assert running.chat(HI).status == 200
    until(lambda: len(tries) == 1)
    assert running.chat(HI).status == 200
    until(lambda: len(store.usage()) == 2)
