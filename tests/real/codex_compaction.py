"""Codex compacts its history through a gateway whose upstream does not know how: part of `make real-clients`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from brim.testing import Call, FakeProvider, Say
from tests.real.wrapped_agents import DONE, INSTALLED, REQUEST, environment

CODEX = INSTALLED / "node_modules/.bin/codex"
# Above the instructions and tools of Codex (about 10,000 tokens), and below what six commands print.
COMPACT_AT, CALLS = 30_000, 8


@pytest.mark.skipif(not CODEX.exists(), reason="Codex is not installed")
def test_codex_goes_on_after_its_compaction_and_the_first_request_still_reaches_the_upstream(tmp_path: Path) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir(), work.mkdir()
    with FakeProvider(model="gpt-5", default=Say(DONE)) as fake:
        fake.script(
            *(Call("exec_command", {"cmd": f"seq {n * 1_200} {n * 1_200 + 1_199}"}) for n in range(CALLS)),
        )
        command = [sys.executable, "-m", "brim", "wrap", "codex", "--upstream", fake.url, "--program", str(CODEX)]
        limits = ["-c", f"model_auto_compact_token_limit={COMPACT_AT}", "-c", f"model_context_window={2 * COMPACT_AT}"]
        asked = ["exec", "--skip-git-repo-check", "-m", "gpt-5", "-s", "danger-full-access", REQUEST]
        done = subprocess.run(
            [*command, "--", *limits, *asked],
            cwd=work, env=environment(home), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240,
            check=False,
        )  # fmt: skip
        bodies = [json.loads(seen.body) for seen in fake.posts]
    assert done.returncode == 0, done.stderr[-2_000:]
    assert "context compacted" in done.stderr
    assert DONE in done.stdout
    kinds = [[item.get("type") for item in body["input"]] for body in bodies]
    asked_to = [number for number, found in enumerate(kinds) if found[-1] == "compaction_trigger"]
    assert len(asked_to) == 1  # an upstream is asked once; after that it is known not to compact
    after = bodies[asked_to[0] + 1 :]
    assert after
    assert all("heliotrope" in json.dumps(body["input"]) for body in bodies)
    assert all("compaction" not in found for found in kinds[asked_to[0] + 1 :])
    assert "exec_command(" in json.dumps(after[0]["input"])  # what was done is told in words
