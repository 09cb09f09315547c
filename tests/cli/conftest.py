"""Runs commands as a user would, in a folder of their own and with nothing set."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from brim.cli import main


@dataclass(frozen=True)
class Ran:
    """What a command gave back."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Call it with arguments, and with what stands on standard input."""
    for name in [name for name in os.environ if name.startswith("BRIM_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.chdir(tmp_path)

    def call(*args: str, stdin: str | bytes = "") -> Ran:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        try:
            code = main(args)
        except SystemExit as left:  # argparse: wrong use, or --help
            code = int(left.code or 0)
        written = capsys.readouterr()
        return Ran(code, written.out, written.err)

    return call


@pytest.fixture
def chat() -> list[dict[str, Any]]:
    """A chat of about 4,000 tokens with instructions at its start and a question at its end."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You answer in one word."}]
    for turn in range(20):
        messages.append({"role": "user", "content": f"Question {turn}: " + "what of the blue ones? " * 20})
        messages.append({"role": "assistant", "content": f"Answer {turn}: " + "there are some left. " * 20})
    return [*messages, {"role": "user", "content": "How many are left in Oslo?"}]
