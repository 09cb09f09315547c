"""Command-line clients past the window of a real llama.cpp server, without Brim and through it: `make real-clients`.

    tests/real/install FOLDER                      # Claude Code, Codex, opencode, aider, llm and the server: 2 GB
    make real-clients CLIENTS=FOLDER               # about ten minutes
    make real-clients CLIENTS=FOLDER ARGS="-k codex"

Each client holds one conversation of pasted texts, straight at the server until that refuses, then through `brim
serve`, which is told nothing of the model. It passes if the server refused, Brim did not, and no request took more
than Brim had bounded it by. FOLDER/results.json has the numbers. A client that is not installed is skipped.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.real.clients import CLIENTS, MODEL, SAYS, Client, Place

INSTALLED = Path(os.environ.get("CLIENTS", ".clients")).resolve()
HERE = Path(__file__).parent
WINDOW, LARGE_WINDOW = 16_384, 32_768
PASTE = 2_400  # tokens a turn
FAMILY = os.environ.get("BRIM_FAMILY", "")
STARTING = 60.0


def pasted(turn: int) -> str:
    """A text of about PASTE tokens that says something else in every turn."""
    lines = [f"record {turn * 1000 + n} holds {n * 7919 % 1013} crates of Äpfel;" for n in range(PASTE // 13)]
    return f"Turn {turn}. Use no tool. {' '.join(lines)} Which record holds most?"


def turns_past(window: int, client: Client) -> int:
    """How many turns it takes until a conversation is a third longer than the window."""
    return max(3, -(-(window * 4 // 3 - client.takes) // PASTE))


def converse(client: Client, place: Place, turns: int) -> tuple[int, str]:
    """How many turns were answered, and what the client wrote in the one that was not."""
    client.set_up(place)
    for turn in range(turns):
        written = client.ask(place, pasted(turn), first=not turn)
        if SAYS not in written:
            return turn, written
    return turns, ""


@contextmanager
def running(command: list[str], url: str, log: Path) -> Iterator[None]:
    with log.open("wb") as file, subprocess.Popen(command, stdout=file, stderr=file) as process:
        try:
            wait_for(url)
            yield
        finally:
            process.terminate()


def wait_for(url: str) -> None:
    """Return when something answers there."""
    end = time.monotonic() + STARTING
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            if time.monotonic() > end:
                raise
        time.sleep(0.2)


def refused(log: Path) -> int:
    """How often the server has said that a prompt is too long; some clients hide it and compact."""
    return log.read_bytes().count(b"send_error: task id") if log.exists() else 0


@contextmanager
def upstream(log: Path, window: int, port: int) -> Iterator[str]:
    """A llama.cpp server with the model of make_model.py."""
    url = f"http://127.0.0.1:{port}"
    python, model = str(INSTALLED / "server/bin/python"), INSTALLED / "o200k.gguf"
    command = [python, str(HERE / "serve_model.py"), str(model), "--port", str(port), "--window", str(window)]
    with running(command, f"{url}/v1/models", log):
        yield url


@contextmanager
def brim(folder: Path, server: str, window: int, port: int) -> Iterator[str]:
    """A gateway before the server. BRIM_FAMILY tells it the tokenizer; without it, it must find out."""
    url = f"http://127.0.0.1:{port}"
    settings = folder / "brim.toml"
    known = f'[models.{MODEL}]\nwindow = {window}\nfamily = "{FAMILY}"\n'
    settings.write_text(known if FAMILY else "")
    command = [
        sys.executable,
        "-m",
        "brim.cli.service.serve",
        "--config",
        str(settings),
        "--memory",
        "--port",
        str(port),
    ]
    with running([*command, "--upstream", server], f"{url}/readyz", folder / "brim.log"):
        yield url


def at(folder: Path, url: str) -> Place:
    for name in ("home", "work"):
        (folder / name).mkdir(parents=True)
    return Place(INSTALLED, folder / "home", folder / "work", url)


def turns_of(gateway: str) -> list[dict[str, Any]]:
    with urllib.request.urlopen(f"{gateway}/brim/v1/live?limit=500") as answer:
        found: list[dict[str, Any]] = json.loads(answer.read())["turns"]
    return found


def note(name: str, result: dict[str, Any]) -> None:
    """Keep a result with those of the other clients."""
    file = INSTALLED / "results.json"
    kept = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(json.dumps({**kept, name: result}, indent=1, sort_keys=True))


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_conversation_goes_on_past_the_window(client: Client, tmp_path: Path) -> None:
    if not (INSTALLED / client.program).exists():
        pytest.skip(f"{client.name} is not in {INSTALLED}")
    window = LARGE_WINDOW if client.takes > WINDOW / 2 else WINDOW
    turns = turns_past(window, client)
    log = tmp_path / "server.log"
    with upstream(log, window, 9_702) as server:
        plain, refusal = converse(client, at(tmp_path / "plain", server), turns)
        overflows = refused(log)
        with brim(tmp_path, server, window, 9_703) as gateway:
            through, problem = converse(client, at(tmp_path / "through", gateway), turns)
            seen = turns_of(gateway)
    used = [(turn["usage"]["input"], turn["upper"]) for turn in seen if turn["usage"]]
    result = {
        "window": window,
        "turns": turns,
        "without": plain,
        "overflows_without": overflows,
        "with": through,
        "overflows_with": refused(log) - overflows,
        "requests": len(seen),
        "would_have_overflowed": sum(turn["would_have_overflowed"] for turn in seen),
        "refits": sum(turn["refits"] for turn in seen),
        "largest": max((actual for actual, _ in used), default=0),
        "closest": round(max((actual / upper for actual, upper in used if upper), default=0), 4),
        "problem": problem[-300:],
        "refusal": refusal[-300:],
    }
    note(client.name, result)
    print(json.dumps(result))
    assert overflows, "the conversation was not long enough to overflow"
    assert through == turns, problem[-2_000:]
    assert result["overflows_with"] == 0
    assert [turn["note"] for turn in seen if turn["status"] != 200] == []
    assert all(actual <= upper for actual, upper in used if upper)
    assert any(turn["would_have_overflowed"] for turn in seen)
