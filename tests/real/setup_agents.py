"""`brim setup` with the real agents, past a window, and `--undo` to the byte: part of `make real-clients`."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from brim.testing import Say
from tests.real.counting_provider import CountingProvider
from tests.real.wrapped_agents import AGENTS, DONE, INSTALLED, WINDOW, environment, finished, folder, places

__all__ = ["folder"]  # the fixture

# Each configuration as it was, with spaces that no writer of these formats would choose.
BEFORE = {
    "claude": {".claude/settings.json": '{ "includeCoAuthoredBy":false,\n\t"env": {"MINE": "1"} }'},
    "codex": {".codex/config.toml": '# mine\nmodel_reasoning_effort="low"\n\n[history]\npersistence   = "none"'},
    "opencode": {
        ".config/opencode/opencode.json": '{"$schema":"https://opencode.ai/config.json", "share":  "disabled"}\n\n'
    },
    "gemini": {".gemini/.env": "# mine\nMINE=1", ".gemini/settings.json": '{"general": {"enableAutoUpdate":false}}'},
    "aider": {".aider.conf.yml": "# mine\ndark-mode:   true\n"},
}


@contextmanager
def serving(upstream: str, home: Path, env: dict[str, str]) -> Iterator[str]:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    command = [sys.executable, "-m", "brim", "serve", "--port", str(port), "--upstream", upstream]
    process = subprocess.Popen(command, cwd=home, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"{url}/healthz").close()
                break
            except OSError:
                time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait()


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_that_is_set_up_goes_past_the_window_and_is_as_it_was_after_undo(name: str, folder: Path) -> None:
    agent = AGENTS[name]
    if not (INSTALLED / agent.program).exists():
        pytest.skip(f"{name} is not in {INSTALLED}")
    home, work = places(folder)
    env = environment(home)
    for path, text in BEFORE[name].items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text(text)

    def setup(*arguments: str) -> None:
        subprocess.run([sys.executable, "-m", "brim", "setup", name, *arguments], env=env, cwd=work, check=True)

    with CountingProvider(window=WINDOW, model=agent.model) as fake, serving(fake.url, home, env) as url:
        fake.script(*agent.script)
        fake.default = Say(DONE)
        setup("--url", url)
        done = subprocess.run(
            [str(INSTALLED / agent.program), *agent.arguments],
            cwd=work, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240, check=False,
        )  # fmt: skip
        finished(name, agent, fake, done)
    setup("--undo")
    assert {path: (home / path).read_text() for path in BEFORE[name]} == BEFORE[name]
