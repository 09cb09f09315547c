"""Errors in the words of the command line, several files, a default model, and Ctrl-C at any time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from brim import cli, models
from brim.cli.service import top
from brim.cli.terminal.showing import plural
from brim.errors import UnknownModel


def told(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    try:
        code = cli.main(words)
    except SystemExit as end:
        code = int(str(end.code))
    out = capsys.readouterr()
    return code, out.out, out.err


def test_a_wrong_flag_is_answered_with_the_one_that_was_meant(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, problem = told(capsys, "count", "x", "--modle", "gpt-4o")
    assert (code, problem) == (2, "brim count: there is no flag --modle: did you mean --model?\n")
    assert "did you mean --budget" in told(capsys, "fit", "--budgt=4")[2]
    assert "--help lists its flags" in told(capsys, "fit", "--zzz")[2]


def test_errors_name_flags_and_not_arguments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "chat.json"
    file.write_text(json.dumps([{"role": "user", "content": "a question that must stay"}]))
    code, _, problem = told(capsys, "fit", str(file), "--model", "gpt-4o", "--budget", "2")
    assert code == 1
    assert "raise --budget" in problem
    assert "budget=" not in problem
    assert "model=" not in told(capsys, "fit", str(file), "--model", "gtp-nothing", "--budget", "9")[2]


@pytest.mark.parametrize("family", ["claude", "gpt", "gemini"])
def test_a_family_alone_is_answered_with_its_newest_models(family: str) -> None:
    with pytest.raises(UnknownModel) as problem:
        models.find(family)
    assert len(problem.value.near) == 3
    assert all(name.startswith(f"{family}-") for name in problem.value.near)
    assert not {"claude-2", "gpt-3.5-turbo", "gemini-pro"} & set(problem.value.near)


def test_a_word_inside_the_names_of_models_is_answered_with_the_newest_of_them() -> None:
    with pytest.raises(UnknownModel) as problem:
        models.find("sonnet")
    assert all("-sonnet-" in name for name in problem.value.near)
    assert not [name for name in problem.value.near if name.startswith("claude-3")]


def test_several_files_and_patterns_are_counted_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.md", "b.md", "deep/c.md", "d.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("hello world")
    pattern = str(tmp_path / "**" / "*.md")
    code, out, _ = told(capsys, "count", str(tmp_path / "d.txt"), pattern, "--model", "gpt-4o", "--json")
    assert code == 0
    assert sorted(Path(name).name for name in json.loads(out)["files"]) == ["a.md", "b.md", "c.md", "d.txt"]
    assert json.loads(out)["tokens"] == 8
    assert "matches no file" in told(capsys, "count", str(tmp_path / "*.rst"), "--model", "gpt-4o")[2]
    assert "there is no" in told(capsys, "count", str(tmp_path / "e.md"), str(tmp_path / "a.md"), "-m", "gpt-4o")[2]


def test_the_settings_may_name_the_model_of_the_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("hello world")
    assert "cli.model" in told(capsys, "count", "a.txt")[2]
    Path("brim.toml").write_text('[cli]\nmodel = "gpt-4o"\n')
    assert told(capsys, "count", "a.txt")[1].startswith("2 tokens (exact")
    Path("chat.json").write_text(json.dumps([{"role": "user", "content": "hi"}]))
    code, out, _ = told(capsys, "explain", "chat.json", "--json")
    assert (code, json.loads(out)["model"]) == (0, "gpt-4o")


def test_one_is_one() -> None:
    assert [plural(count, "request") for count in (0, 1, 2_000)] == ["0 requests", "1 request", "2,000 requests"]


def test_a_context_bar_shows_what_was_sent_and_what_was_left_out() -> None:
    row = {"limit": 1_000, "used": 0.5, "tokens_before": 900, "level": "ok"}
    assert top.context_bar(row, 10) == "[green]█████[/][dim]▒▒▒▒░[/]"
    assert (top.filled(0.756), top.filled(0.999)) == ("75%", "99%")
    assert top.context_bar({**row, "tokens_before": 5_000}, 10) == "[green]█████[/][dim]▒▒▒▒▒[/]"


def _heed_interrupts() -> None:
    """A shell starts what runs in its background deaf to Ctrl-C, and so all that it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_ends_a_command_without_a_traceback(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "brim", "count", "-", "--model", "gpt-4o"]
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stderr=pipe, stdout=pipe, env=env, preexec_fn=_heed_interrupts)
    assert process.stdin is not None
    assert process.stderr is not None
    # Once it has read this much it is inside its work: a pipe holds 64 KB.
    process.stdin.write(b"a" * 200_000)
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    _, problem = process.communicate()
    assert process.returncode in (cli.INTERRUPTED, -signal.SIGINT)
    assert problem == b""
