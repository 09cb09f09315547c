"""The providers' SDKs past a window, without Brim and through it: part of `make real-clients`.

openai-python and anthropic-python speak to a real llama.cpp server. No server of one's own speaks Gemini's API, so
google-genai speaks to `brim.testing.FakeProvider`, which counts and refuses as the provider does.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from brim.testing import FakeProvider
from tests.real.command_line import FAMILY, HERE, INSTALLED, WINDOW, brim, note, turns_of, upstream

PYTHON = INSTALLED / "sdk/bin/python"
GEMINI, TURNS = "gemini-2.5-flash", 12

pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason=f"the SDKs are not in {INSTALLED}")


def test_openai_and_anthropic_python_go_on_past_the_window(tmp_path: Path) -> None:
    with upstream(tmp_path / "server.log", WINDOW, 9_702) as server:
        command = [str(PYTHON), str(HERE / "gateway_clients.py"), "--upstream", server, "--brim", sys.executable]
        known = ["--family", FAMILY] if FAMILY else []
        done = subprocess.run([*command, *known, "--turns", "10"], capture_output=True, text=True, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr[-2_000:]


def converse(url: str) -> list[dict[str, Any]]:
    command = [str(PYTHON), str(HERE / "gemini_client.py"), url, str(TURNS), GEMINI]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2_000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_google_genai_goes_on_past_the_window(tmp_path: Path) -> None:
    """The provider has a smaller window than the catalog says; its list of models or its first refusal tells it."""
    with FakeProvider(window=WINDOW, model=GEMINI) as fake:
        plain = converse(fake.url)
        with brim(tmp_path, fake.url, WINDOW, 9_704) as gateway:
            through = converse(gateway)
            seen = turns_of(gateway)
    result = {
        "window": WINDOW,
        "turns": TURNS,
        "without": len([turn for turn in plain if "used" in turn]),
        "with": len([turn for turn in through if "used" in turn]),
        "largest": max(turn["used"] for turn in through),
        "closest": round(max(turn["usage"]["input"] / turn["upper"] for turn in seen), 4),
        "refits": sum(turn["refits"] for turn in seen),
        "refusal": plain[-1].get("problem", ""),
    }
    note("google-genai", result)
    print(json.dumps(result))
    assert "exceeds the maximum number of tokens" in plain[-1]["problem"]
    assert result["with"] == TURNS
    assert all(turn["usage"]["input"] <= turn["upper"] for turn in seen)
    assert result["refits"] <= 1
    assert [turn["whole"] for turn in through[: len(plain)]] == [turn["whole"] for turn in plain]
