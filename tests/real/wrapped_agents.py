"""`brim wrap` with the real agents past a window: part of `make real-clients`.

A fake provider calls the agent's shell again and again, until the history is longer than the window.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from brim.testing import Call, Say
from tests.real.counting_provider import CountingProvider

INSTALLED = Path(os.environ.get("CLIENTS", ".clients")).resolve()
CALLS, LINES, WINDOW = 8, 1_200, 32_000
REQUEST = "Count on, in steps, with your shell. The word is heliotrope."
DONE = "All of it is counted."
QUIET = {
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "512",
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "AIDER_ANALYTICS_DISABLE": "true",
    "OPENAI_API_KEY": "none",
    "ANTHROPIC_API_KEY": "none",
    "GEMINI_API_KEY": "none",
    "GEMINI_CLI_TRUST_WORKSPACE": "true",
}
CLAUDE = "claude-sonnet-5"


@dataclass(frozen=True, slots=True)
class RealAgent:
    """An agent as it is installed, what it is asked, and what the model says to it, up to the last answer."""

    program: str
    model: str
    arguments: list[str]
    script: list[Any]


def calls(tool: str, argument: str) -> list[Call]:
    """Calls of an agent's shell, each of which writes about 3,600 tokens."""
    starts = [1_000 + number * LINES for number in range(CALLS)]
    return [Call(tool, {argument: f"seq {one} {one + LINES - 1}", "description": "Count"}) for one in starts]


# aider has no tools: it tests what it has changed and sends what the test says, three times.
FAILS = "printf x >> runs; n=$(wc -c < runs); seq $((n * 10000)) $((n * 10000 + 4999)); exit 1"
EDITS = [
    Say(f"count.py\n```python\n<<<<<<< SEARCH\nprint({n})\n=======\nprint({n + 1})\n>>>>>>> REPLACE\n```")
    for n in range(3)
]
AGENTS = {
    "claude": RealAgent(
        "node_modules/.bin/claude", CLAUDE,
        ["-p", REQUEST, "--model", CLAUDE, "--tools", "Bash", "--allowedTools", "Bash"], calls("Bash", "command"),
    ),
    "codex": RealAgent(
        "node_modules/.bin/codex", "gpt-5",
        ["exec", "--skip-git-repo-check", "-m", "gpt-5", "-s", "danger-full-access", REQUEST],
        calls("exec_command", "cmd"),
    ),
    "opencode": RealAgent(
        "node_modules/.bin/opencode", CLAUDE, ["run", "-m", f"anthropic/{CLAUDE}", REQUEST], calls("bash", "command"),
    ),
    "gemini": RealAgent(
        "node_modules/.bin/gemini", "gemini-2.5-pro", ["--yolo", "-m", "gemini-2.5-pro", "-p", REQUEST],
        calls("run_shell_command", "command"),
    ),
    "aider": RealAgent(
        "aider/bin/aider", "gpt-4o",
        ["--model", "openai/gpt-4o", "--no-git", "--no-check-update", "--no-show-model-warnings", "--yes-always",
         "--map-tokens", "0", "--max-chat-history-tokens", "1000000", "--no-pretty", "--auto-test",
         "--test-cmd", FAILS, "--message", REQUEST, "count.py"],
        EDITS,
    ),
}  # fmt: skip


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that nobody else may write to, nor to those above it: gemini-cli reads no defaults elsewhere."""
    with tempfile.TemporaryDirectory(dir=Path.home()) as found:
        yield Path(found)


def environment(home: Path) -> dict[str, str]:
    """A home of its own, and nothing of whoever runs the test."""
    kept = {key: value for key, value in os.environ.items() if key in ("PATH", "PYTHONPATH")}
    return {**kept, "HOME": str(home), "TERM": "dumb", **QUIET}


def places(folder: Path) -> tuple[Path, Path]:
    """A home and a folder to work in."""
    home, work = folder / "home", folder / "work"
    home.mkdir()
    work.mkdir()
    (work / "count.py").write_text("print(0)\n")
    return home, work


def finished(name: str, agent: RealAgent, fake: CountingProvider, done: subprocess.CompletedProcess[str]) -> None:
    """The agent came to its end past the window, and no request was without what the user asked for."""
    asked = [seen for seen in fake.posts if b"heliotrope" in seen.body]
    print(name, "posts", len(fake.posts), "with the request", len(asked), "refused", fake.overflows)
    print(done.stdout[-600:], done.stderr[-600:])
    assert done.returncode == 0
    assert DONE in done.stdout
    assert len(asked) == len(fake.posts) > len(agent.script)
    assert fake.overflows <= 1  # the first request may be there before the gateway knows the window


@pytest.mark.parametrize("name", AGENTS)
def test_a_wrapped_agent_calls_tools_past_the_window_and_leaves_no_trace(name: str, folder: Path) -> None:
    agent = AGENTS[name]
    if not (INSTALLED / agent.program).exists():
        pytest.skip(f"{name} is not in {INSTALLED}")
    home, work = places(folder)
    with CountingProvider(window=WINDOW, model=agent.model) as fake:
        fake.script(*agent.script)
        fake.default = Say(DONE)
        command = [sys.executable, "-m", "brim", "wrap", name, "--upstream", fake.url]
        done = subprocess.run(
            [*command, "--program", str(INSTALLED / agent.program), "--", *agent.arguments],
            cwd=work, env=environment(home), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240,
            check=False,
        )  # fmt: skip
        finished(name, agent, fake, done)
    files = [path for path in home.rglob("*") if path.is_file() and path.stat().st_size < 1_000_000]
    assert not [path for path in files if b"brim wrap" in path.read_bytes()]
