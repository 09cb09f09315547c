"""What a client is told when an upstream cannot be asked: the host and the cause, and no secret."""

from __future__ import annotations

import socket
import ssl
import threading
from typing import Any

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey

from brim.gateway.proxy.connection_faults import fault_of
from brim.testing import FakeProvider, Hang, Raw, Reset, Say

from .conftest import Got, Start

HI = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}
KEY = "sk-a-key-that-nobody-sees"


def failed(start: Start, base_url: str, **gateway: Any) -> Got:
    upstreams = {"mine": {"base_url": base_url, "key_env": "K"}}
    answer = start({"K": KEY}, own=True, upstreams=upstreams, gateway=gateway).ask(
        "POST", "/v1/chat/completions?key=a-secret-in-the-query", HI, {"authorization": "Bearer sk-of-the-client"}
    )
    for secret in (KEY, "a-secret-in-the-query", "sk-of-the-client"):
        assert secret not in answer.body.decode() + str(answer.headers)
    return answer


def test_an_unknown_name_is_told(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.getaddrinfo

    def lookup(host: Any, *given: Any, **named: Any) -> Any:
        if host == "api.nowhere.example":
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return real(host, *given, **named)

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    answer = failed(start, "https://api.nowhere.example/v1")
    assert answer.status == 502
    assert "DNS lookup of api.nowhere.example failed" in answer.json["error"]["message"]
    assert answer.json["error"]["code"] == "upstream_unreachable"


def test_a_server_that_speaks_no_tls_is_told(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = f"127.0.0.1:{server.getsockname()[1]}"
        threading.Thread(target=_speak_plainly, args=(server,), daemon=True).start()
        answer = failed(start, f"https://{place}/v1")
    assert answer.status == 502
    assert f"TLS with {place} failed" in answer.json["error"]["message"]


def _speak_plainly(server: socket.socket) -> None:
    """Answer every connection at once, in plain HTTP."""
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return  # the test is over
        with connection:
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
            connection.recv(65_536)


def test_a_silent_server_is_told(start: Start, fake: FakeProvider) -> None:
    fake.script(Say("never", fault=Hang(0)))
    answer = failed(start, f"{fake.url}/v1", read_timeout=0.2)
    assert answer.status == 504
    assert f"{fake.url.removeprefix('http://')} was silent" in answer.json["error"]["message"]


@pytest.mark.parametrize(
    ("reply", "told"),
    [(Say("x", fault=Reset(after=0)), "{} closed the connection"), (Raw((b"",), headers=(("a\x00b", "c"),)), "{} ")],
)
def test_a_broken_answer_is_told(start: Start, fake: FakeProvider, reply: Any, told: str) -> None:
    fake.script(reply)
    answer = failed(start, f"{fake.url}/v1")
    assert answer.status == 502
    assert told.format(fake.url.removeprefix("http://")) in answer.json["error"]["message"]


@pytest.mark.parametrize(
    ("problem", "status", "told"),
    [
        (TimeoutError(), 504, "no connection to api.x.ai:443 (gateway.connect_timeout)"),
        (OSError(101, "Network is unreachable"), 502, "no connection to api.x.ai:443 (Network is unreachable)"),
        (ssl.SSLError(1, "x"), 502, "TLS with api.x.ai:443 failed"),
        (ConnectionRefusedError(111, "Connection refused"), 502, "api.x.ai:443 refused the connection"),
    ],
)
def test_every_cause_has_its_words(problem: OSError, status: int, told: str) -> None:
    key = ConnectionKey("api.x.ai", 443, True, True, None, None, None)
    raised: Exception = problem if status == 504 else aiohttp.ClientConnectorError(key, problem)
    fault = fault_of(raised, "api.x.ai:443")
    assert fault.status == status
    assert told in fault.message


def test_a_certificate_that_is_not_trusted_is_told() -> None:
    key = ConnectionKey("api.x.ai", 443, True, True, None, None, None)
    refused = ssl.SSLCertVerificationError(1, "certificate verify failed: certificate has expired")
    refused.verify_message = "certificate has expired"
    fault = fault_of(aiohttp.ClientConnectorCertificateError(key, refused), "api.x.ai:443")
    assert "the certificate of api.x.ai:443 is not trusted (certificate has expired)" in fault.message
