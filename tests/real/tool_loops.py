"""Agents that call tools until the window is full: part of `make real-clients`.

The model is played by `brim.testing.FakeProvider`, in the provider's own wording and with its own count: it calls the
agent's shell again and again, the agent runs the command, and every result comes back whole with the next request.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from brim.testing import Call, Say
from tests.real.clients import SAYS, ClaudeCode, Client, Codex, Opencode, Place
from tests.real.command_line import INSTALLED, WINDOW, at, brim, note, turns_of
from tests.real.counting_provider import CountingProvider

CALLS = 8
LINES = 1_200


class LoopingClaudeCode(ClaudeCode):
    tools = "Bash"

    def ask(self, place: Place, text: str, first: bool) -> str:
        place.write(".claude/settings.json", json.dumps({"permissions": {"allow": ["Bash"]}}))
        return super().ask(place, text, first)


class LoopingOpencode(Opencode):
    def ask(self, place: Place, text: str, first: bool) -> str:
        return self.run(place, "--title", "loop", text)


def shell(client: Client, number: int) -> Call:
    """A call of the client's shell that writes so many lines."""
    start = 1_000 + number * LINES
    command = f"seq {start} {start + LINES - 1}"
    if isinstance(client, Codex):
        return Call("exec_command", {"cmd": command})
    return Call("bash" if isinstance(client, Opencode) else "Bash", {"command": command, "description": "Count"})


def loop(client: Client, place: Place, fake: CountingProvider) -> str:
    """What the client writes when the model calls its shell, then answers."""
    fake.script(*(shell(client, number) for number in range(CALLS)), Say(SAYS))
    client.set_up(place)
    return client.ask(place, "Count on, in steps, with your shell.", first=True)


@pytest.mark.parametrize("client", [LoopingClaudeCode(), Codex(), LoopingOpencode()], ids=lambda client: client.name)
def test_a_loop_of_tool_calls_goes_on_past_the_window(client: Client, tmp_path: Path) -> None:
    if not (INSTALLED / client.program).exists():
        pytest.skip(f"{client.name} is not in {INSTALLED}")
    with CountingProvider(window=WINDOW, model="tiny") as fake:
        loop(client, at(tmp_path / "plain", fake.url), fake)
        without, fake.overflows = fake.overflows, 0
    with CountingProvider(window=WINDOW, model="tiny") as fake, brim(tmp_path, fake.url, WINDOW, 9_705) as gateway:
        written = loop(client, at(tmp_path / "through", gateway), fake)
        seen: list[dict[str, Any]] = turns_of(gateway)
        overflows = fake.overflows
        results = sum(str(LINES) in str(post.json) or "seq" in str(post.json) for post in fake.posts)
    used = [(turn["usage"]["input"], turn["upper"]) for turn in seen if turn["usage"] and turn["upper"]]
    result = {
        "window": WINDOW,
        "calls": CALLS,
        "overflows_without": without,
        "overflows_with": overflows,
        "requests": len(seen),
        "with_results": results,
        "would_have_overflowed": sum(turn["would_have_overflowed"] for turn in seen),
        "largest": max((actual for actual, _ in used), default=0),
        "closest": round(max((actual / upper for actual, upper in used), default=0), 4),
        "written": written[-200:],
    }
    note(f"{client.name}, tool loop", result)
    print(json.dumps(result))
    assert without
    assert SAYS in written
    assert overflows == 0
    assert results >= CALLS
    assert all(actual <= upper for actual, upper in used)
