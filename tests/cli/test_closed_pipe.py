"""Commands whose output is a pipe, as clients and shells run them; a reader that has seen enough is no error."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from brim.cli import COMMANDS

FAKE_SERVER = Path(__file__).parent.parent / "mcp" / "fake_server.py"
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
CHAT = json.dumps([{"role": "user", "content": "Summarise the log. " * 40}])
# What makes each command print something without a gateway to ask; those that need one only print their help here.
PRINTING: dict[str, list[str]] = {
    "demo": [],
    "count": ["chat.json", "--model", "gpt-4o"],
    "fit": ["chat.json", "--model", "gpt-4o", "--budget", "500"],
    "explain": ["chat.json", "--model", "gpt-4o", "--budget", "500"],
    "compact": ["chat.json"],
    "models": [],
    "settings": [],
    "search": ["words", "."],
    "sessions": ["--help"],
    "usage": ["--help"],
    "replay": ["--help"],
    "serve": ["--help"],
    "top": ["--help"],
    "status": ["--help"],
    "mcp": ["wrap", "--help"],
    "bench": ["--help"],
    "run": ["--", sys.executable, "-c", "print('words ' * 40)"],
    "recall": ["--help"],
    "wrap": ["--help"],
    "setup": ["--help"],
    "doctor": ["--help"],
    "init": ["--help"],
    "completion": ["bash"],
    "version": [],
    "store": ["--help"],
    "keys": ["--help"],
}


def brim(*given: str) -> list[str]:
    return [sys.executable, "-u", "-m", "brim", *given]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "chat.json").write_text(CHAT)
    (tmp_path / "words.md").write_text("# Words\n\nSome words about words.\n")
    return tmp_path


@pytest.mark.parametrize("command", [[], ["--version"], *([name, *PRINTING[name]] for name in COMMANDS)])
def test_a_reader_that_goes_away_ends_a_command_in_silence(command: list[str], folder: Path) -> None:
    running = subprocess.Popen(brim(*command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder)
    assert running.stdout is not None
    running.stdout.close()
    _, told = running.communicate(timeout=60)
    assert told == b""
    assert running.returncode in (0, 1)  # tables end with 1


def wrapped(*options: str) -> list[str]:
    return brim("mcp", "wrap", *options, "--", sys.executable, str(FAKE_SERVER))


def test_a_wrapper_whose_client_closes_its_input_ends_with_0_and_says_nothing() -> None:
    done = subprocess.run(
        wrapped(), input=json.dumps(HELLO).encode() + b"\n", capture_output=True, timeout=60, check=False
    )
    assert json.loads(done.stdout)["result"]["serverInfo"]["name"] == "fake"
    assert done.stderr == b""
    assert done.returncode == 0


def test_a_wrapper_whose_client_goes_away_ends_with_0_and_says_nothing() -> None:
    pipe = subprocess.PIPE
    running = subprocess.Popen(wrapped(), stdin=pipe, stdout=pipe, stderr=pipe)
    assert running.stdin is not None
    assert running.stdout is not None
    running.stdin.write(json.dumps(HELLO).encode() + b"\n")
    running.stdin.flush()
    assert running.stdout.readline()
    running.stdout.close()
    running.stdin.close()
    assert running.wait(30) == 0
    assert running.stderr is not None
    assert running.stderr.read() == b""
    running.stderr.close()
