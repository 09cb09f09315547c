"""`brim wrap`: run a coding agent through the gateway once, leaving nothing behind."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from brim import settings
from brim.cli.agents.catalog import AGENTS, Agent, agent_of
from brim.errors import BrimError, NotFound

_EXAMPLES = """examples:
  brim wrap claude                                        Claude Code through the gateway
  brim wrap codex -- exec "Fix the failing test"          what stands after -- goes to the agent
  brim wrap aider --upstream http://127.0.0.1:8080 -- --model openai/tiny
"""
# A gateway listens after a second or two; a cold disk may take longer.
START_SECONDS = 30.0
STARTS_A_PROGRAM = True


def add(subparsers: Any) -> None:
    """Register `wrap` with the command line."""
    parser = subparsers.add_parser(
        "wrap",
        help="run a coding agent through the gateway",
        description="Run a coding agent through the gateway for this run only; what stands after -- is the agent's.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("agent", choices=tuple(AGENTS), help=f"one of {', '.join(AGENTS)}")
    parser.add_argument("--upstream", metavar="URL", help="the one provider to forward to; starts a gateway of its own")
    parser.add_argument("--program", metavar="FILE", help="where the agent is, if it is not in the PATH")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    agent = agent_of(args.agent)
    program = args.program or shutil.which(agent.name)
    if program is None:
        raise NotFound(f"there is no {agent.name} in the PATH: install it, or name it with --program")
    with gateway(args.upstream) as url, _defaults(agent) as beside:
        env = {**os.environ, **agent.env(url), **beside}
        return _run([program, *agent.arguments(url), *args.after], env)


@contextlib.contextmanager
def _defaults(agent: Agent) -> Iterator[dict[str, str]]:
    """The variable with the path of an agent's defaults for this run, in a folder that only this user can write to."""
    if agent.defaults is None:
        yield {}
        return
    variable, text = agent.defaults
    if variable in os.environ:  # the user's own take precedence
        yield {}
        return
    place = Path.home() / ".local/state/brim"
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(dir=place) as folder:
        path = Path(folder) / "defaults.json"
        path.write_text(text)
        yield {variable: str(path)}


def _run(command: list[str], env: dict[str, str]) -> int:
    """Run a program to its end; Ctrl-C interrupts the program rather than this process."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return subprocess.run(command, env=env, check=False, preexec_fn=_interruptible).returncode
    finally:
        signal.signal(signal.SIGINT, before)


def _interruptible() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@contextlib.contextmanager
def gateway(upstream: str | None) -> Iterator[str]:
    """The address of the running gateway, or of one that is started here and stopped afterwards."""
    known = settings.load().gateway
    url = f"http://127.0.0.1:{known.port}"
    if upstream is None and answers(url):
        yield url
        return
    with tempfile.TemporaryFile() as said:
        port = _free_port()
        command = [sys.executable, "-m", "brim", "serve", "--host", "127.0.0.1", "--port", str(port)]
        process = subprocess.Popen(
            [*command, *(["--upstream", upstream] if upstream else [])],
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,  # Ctrl-C is for the agent
        )
        try:
            url = f"http://127.0.0.1:{port}"
            _wait(process, url, said)
            yield url
        finally:
            process.terminate()
            process.wait()


def answers(url: str) -> bool:
    """Whether a Brim gateway answers there."""
    try:
        with urllib.request.urlopen(f"{url}/healthz", timeout=1) as answer:
            return b'"version"' in answer.read(4_096)
    except (OSError, ValueError):
        return False


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _wait(process: subprocess.Popen[bytes], url: str, said: Any) -> None:
    end = time.monotonic() + START_SECONDS
    while not answers(url):
        if process.poll() is not None or time.monotonic() > end:
            said.seek(0)
            raise BrimError(f"the gateway did not start: {said.read().decode(errors='replace').strip()[-500:]}")
        time.sleep(0.05)
