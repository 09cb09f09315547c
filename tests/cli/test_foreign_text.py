"""Text of others in a terminal: brackets in it are no markup, and nothing in it controls the terminal."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

from rich.console import Console

from brim.cli import top
from brim.cli.showing import plain
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
    text = shown(top.picture(live, [names | {"requests": 1, "level": "critical", "used": 0.94, "folded": 0}]))
    for name in ("s[/a]", "m[/b]", "c[/]", "m[/x]", "bad [/y]"):
        assert name in text
    assert "\x1b" not in text
    assert "94% critical" in text


def test_plain_text_is_shown_as_it_was() -> None:
    assert shown(plain(HOSTILE)).strip() == HOSTILE
    assert shown(plain("a\x07b\x1bc")).strip() == "a b c"
