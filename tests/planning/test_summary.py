"""What a summary says of archived calls where there is little room, and that the room is used."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import brim

SERVERS = "https://tools.example.com/servers/production/music-analysis-and-audio-processing"


def run() -> list[dict[str, Any]]:
    """Twelve calls of one tool on different files, and a question."""
    found: list[dict[str, Any]] = [{"role": "user", "content": "Tune every file in the folder, one after the other."}]
    for number in range(12):
        arguments = json.dumps({"server": SERVERS, "tool": f"tune{number}", "file": f"/music/take-{number}.wav"})
        call = {"id": f"c{number}", "type": "function", "function": {"name": "execute", "arguments": arguments}}
        result = {"seconds": number * 7 % 31, "pitch": 440 + number, "note": f"take {number} is tuned and was saved"}
        found.append({"role": "assistant", "content": None, "tool_calls": [call]})
        found.append({"role": "tool", "tool_call_id": f"c{number}", "content": json.dumps(result)})
    return [*found, {"role": "assistant", "content": "All are tuned."}, {"role": "user", "content": "Thanks. And now?"}]


def said(messages: list[dict[str, Any]]) -> str:
    return next((str(m["content"]) for m in messages if "archived" in str(m["content"])), "")


@pytest.mark.parametrize("budget", range(120, 900, 40))
def test_no_archived_call_goes_unmentioned(budget: int) -> None:
    sent = brim.fit(run(), model="gpt-4o", budget=budget).messages
    text = said(sent)
    shown = sum(len(message.get("tool_calls") or ()) for message in sent)
    counted = re.search(r"and (\d+) earlier calls", text)
    lines = sum(line.startswith("- execute(") for line in text.splitlines())
    assert shown + lines + (int(counted[1]) if counted else 0) == 12


@pytest.mark.parametrize("budget", [400, 600, 800])
def test_a_long_argument_hides_no_other_that_tells_calls_apart(budget: int) -> None:
    lines = [
        line
        for line in said(brim.fit(run(), model="gpt-4o", budget=budget).messages).splitlines()
        if "execute(" in line
    ]
    told = [tool[1] for line in lines if (tool := re.search(r"(tune\d+)", line))]
    assert lines
    assert len(told) == len(lines)


@pytest.mark.parametrize("budget", range(150, 1_000, 50))
def test_what_is_left_is_less_than_a_line_of_the_summary(budget: int) -> None:
    assert budget - brim.fit(run(), model="gpt-4o", budget=budget).tokens <= max(24, 0.02 * budget)
