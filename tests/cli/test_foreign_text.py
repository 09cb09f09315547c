"""Text of others in a terminal: brackets in it are no markup, and nothing in it controls the terminal."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import brim
from brim.cli.service import top
from brim.cli.terminal.showing import plain
from tests.cli.conftest import Run

HOSTILE = "see [/INST] and [bold]this[/bold]"


def shown(thing: Any) -> str:
    out = StringIO()
    Console(file=out, width=200).print(thing)
    return out.getvalue()


def test_messages_with_brackets_are_counted_and_shown_as_they_are(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    file.write_text(json.dumps([{"role": "user", "content": HOSTILE}]))
    done = run("count", str(file), "--model", "gpt-4o")
    assert done.code == 0
    assert HOSTILE in done.out


def test_files_whose_folders_have_brackets_keep_their_names(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "app" / "[slug]"
    folder.mkdir(parents=True)
    (folder / "page.tsx").write_text("hello")
    assert "app/[slug]/page.tsx" in run("count", str(tmp_path), "--model", "gpt-4o").out


def test_no_name_that_a_client_sends_ends_the_live_view() -> None:
    sums = "requests running tokens_before tokens_after overflows_avoided recalls refits cost_usd saved_usd over_upper"
    turn = {"at": 0, "tokens_before": 1, "tokens_after": 1, "usage": None, "added_ms": 1.0, "outcome": "failed"}
    live: dict[str, Any] = dict.fromkeys(sums.split(), 0) | {"cache_hit_share": None, "mean_error": None}
    live["turns"] = [turn | {"model": "m[/x]", "note": "bad [/y]\x1b[2J"}]
    names = {"id": "s[/a]", "model": "m[/b]", "client": "c[/]\x1b[31m"}
    text = shown(top.picture(live, [names | {"requests": 1, "level": "critical", "used": 0.94, "archived": 0}]))
    for name in ("s[/a]", "m[/b]", "c[/]", "m[/x]", "bad [/y]"):
        assert name in text
    assert "\x1b" not in text
    assert "94% critical" in text


ESCAPES = "\x1b[2J\x1b]0;mine\x07 \x9b31m \u202e"


@pytest.fixture
def hostile(tmp_path: Path) -> str:
    """A chat whose texts would clear a terminal, name its window and colour it."""
    said = [{"role": "user", "content": f"{ESCAPES} What about order {n}? " * 9} for n in range(30)]
    (tmp_path / "chat.json").write_text(json.dumps(said, ensure_ascii=False))
    return "chat.json"


def assert_harmless(text: str) -> None:
    assert not [one for one in text if not one.isprintable() and one not in "\n\t"]


@pytest.mark.parametrize("command", [("explain",), ("fit", "--explain", "--out", "out.json"), ("count",)])
def test_no_message_controls_the_terminal_that_a_plan_is_shown_in(run: Run, hostile: str, command: Any) -> None:
    budget = () if command == ("count",) else ("--budget", "400")
    done = run(command[0], hostile, "--model", "gpt-4o", *budget, *command[1:])
    assert done.code == 0
    assert "What about order" in done.out + done.err
    assert_harmless(done.out + done.err)


def test_no_message_controls_the_terminal_that_a_session_is_shown_in(run: Run, tmp_path: Path) -> None:
    id = f"s[/x]{ESCAPES}"
    brim.Session(model="gpt-4o", store=tmp_path / "s.db", id=id).fit([{"role": "user", "content": f"{ESCAPES} Hello"}])
    for command in (("list",), ("show", id), ("delete", id)):
        done = run("sessions", *command, "--store", "s.db")
        assert done.code == 0
        assert "s[/x]" in done.out
        assert_harmless(done.out)


def test_content_is_written_as_it_is_into_a_pipe_and_printable_in_a_terminal(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes.md").write_text(f"# Berths\n\n{ESCAPES} the berth fee\n")
    commands = [("compact", "notes.md"), ("search", ".", "berth")]
    assert all("\x1b[2J" in run(*command).out for command in commands)
    monkeypatch.setattr("brim.cli.terminal.writing.in_terminal", lambda: True)
    for command in commands:
        shown = run(*command).out
        assert "the berth fee\n" in shown
        assert_harmless(shown)


def test_no_error_controls_the_terminal(run: Run, tmp_path: Path) -> None:
    (tmp_path / "chat.json").write_text(json.dumps([{"role": "user", "content": [{"type": "\x1b[2J"}]}, {"role": "x"}]))
    assert_harmless(run("count", "chat.json", "--model", "gpt-\x1b[2J").err)


def test_plain_text_is_shown_as_it_was() -> None:
    assert shown(plain(HOSTILE)).strip() == HOSTILE
    assert shown(plain("a\x07b\x1bc")).strip() == "a b c"
