"""`brim wrap` with the real agents past a window: part of `make real-clients`.

A fake provider calls the agent's shell again and again, until the history is longer than the window.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from brim.testing import Call, FakeProvider, Say

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
    "OPENAI_API_KEY": "none",
    "ANTHROPIC_API_KEY": "none",
    "GEMINI_API_KEY": "none",
    "GEMINI_CLI_TRUST_WORKSPACE": "true",
}
CLAUDE = "claude-sonnet-5"
AGENTS = {
    "claude": (
        "node_modules/.bin/claude", CLAUDE, "Bash", "command",
        ["-p", REQUEST, "--model", CLAUDE, "--tools", "Bash", "--allowedTools", "Bash"],
    ),
    "codex": (
        "node_modules/.bin/codex", "gpt-5", "exec_command", "cmd",
        ["exec", "--skip-git-repo-check", "-m", "gpt-5", "-s", "danger-full-access", REQUEST],
    ),
    "opencode": (
        "node_modules/.bin/opencode", CLAUDE, "bash", "command", ["run", "-m", f"anthropic/{CLAUDE}", REQUEST],
    ),
    "gemini": (
        "node_modules/.bin/gemini", "gemini-2.5-pro", "run_shell_command", "command",
        ["--yolo", "-m", "gemini-2.5-pro", "-p", REQUEST],
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


def call(tool: str, argument: str, number: int) -> Call:
    start = 1_000 + number * LINES
    return Call(tool, {argument: f"seq {start} {start + LINES - 1}", "description": "Count"})


@pytest.mark.parametrize("name", AGENTS)
def test_a_wrapped_agent_calls_tools_past_the_window_and_leaves_no_trace(name: str, folder: Path) -> None:
    program, model, tool, argument, arguments = AGENTS[name]
    if not (INSTALLED / program).exists():
        pytest.skip(f"{name} is not in {INSTALLED}")
    home, work = folder / "home", folder / "work"
    home.mkdir(), work.mkdir()
    env = environment(home)
    with FakeProvider(window=WINDOW, model=model) as fake:
        fake.script(*(call(tool, argument, number) for number in range(CALLS)))
        fake.default = Say(DONE)
        command = [sys.executable, "-m", "brim", "wrap", name, "--upstream", fake.url]
        done = subprocess.run(
            [*command, "--program", str(INSTALLED / program), "--", *arguments],
            cwd=work, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240, check=False,
        )  # fmt: skip
        posts = [seen for seen in fake.posts if b"heliotrope" in seen.body]
        print(name, "posts", len(fake.posts), "with the request", len(posts), "code", done.returncode)
        print(done.stdout[-600:], done.stderr[-600:])
        assert done.returncode == 0
        assert DONE in done.stdout
        assert len(posts) > CALLS
        assert max(len(seen.body) for seen in posts) < WINDOW * 6
    files = [path for path in home.rglob("*") if path.is_file() and path.stat().st_size < 1_000_000]
    assert not [path for path in files if b"brim wrap" in path.read_bytes()]
