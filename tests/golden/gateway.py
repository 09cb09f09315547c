"""What a gateway sends upstream: real processes, a scripted provider, and clients of every API."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from brim.testing import Call, FakeProvider, Say
from tests.conversations import MAKERS, MODELS
from tests.golden.runs import RUNS, SYSTEM

PATHS = {
    "openai_chat": "/v1/chat/completions",
    "openai_responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": f"/v1beta/models/{MODELS['gemini'][0]}:generateContent",
}
# Small enough that the run below is shortened several times.
BUDGET = 6_000
# Parts of an answer that no two runs have in common.
PASSING = re.compile(rb'"(?:id|created|created_at|completed_at|responseId|createTime)":\s*(?:"[^"]*"|\d+)')


@contextmanager
def running(upstream: str, *flags: str) -> Iterator[int]:
    """A gateway in front of `upstream`; its port."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "brim", "serve", "--port", "0", "--memory", "--upstream", upstream, *flags]
        with subprocess.Popen(
            command,
            cwd=folder,
            env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path), BRIM_GATEWAY_FIT_TIMEOUT="600"),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as one:
            try:
                yield _port(one)
            finally:
                one.terminate()


def _port(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    for line in process.stdout:
        found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
        if found:
            return int(found.group(1))
    raise RuntimeError("the gateway did not start")


def ask(port: int, path: str, body: dict[str, Any], session: str) -> list[Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {
        "content-type": "application/json",
        "x-brim-session": session,
        "x-brim-budget": str(BUDGET),
        "authorization": "Bearer k",
    }
    connection.request("POST", path, json.dumps(body).encode(), headers)
    answer = connection.getresponse()
    found = [answer.status, PASSING.sub(b"", answer.read()).decode()]
    connection.close()
    return found


def cases() -> Iterator[tuple[str, Any]]:
    for recall in ("auto", "tool"):
        with FakeProvider(window=128_000) as provider, running(provider.url, "--recall", recall) as port:
            for api, path in PATHS.items():
                provider.requests.clear()
                came = _run(port, provider, path, api, recall)
                yield f"gateway/{recall}/{api}", [[post.body.decode() for post in provider.posts], came]


def _run(port: int, provider: FakeProvider, path: str, api: str, recall: str) -> list[Any]:
    came = []
    turns = RUNS["agent"]
    for number in range(4, len(turns) + 1, 4):
        if turns[number - 1]["kind"] == "assistant":
            continue
        if recall == "tool" and number > 12:
            provider.script(Call("brim_recall", {"query": "refunds"}), Say("Found."))
        came.append(ask(port, path, MAKERS[api](turns[:number], SYSTEM), f"{api}-{recall}"))
    return came
