"""`brim run` and `brim recall`: a command's output in fewer tokens, and the rest of it on demand."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run

LINES = "for n in range(3000): print(f'2026-01-02 10:00:00 INFO order {n} was paid in full')"


@pytest.fixture(autouse=True)
def _stored(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store of the test's own; after `run`, which clears the environment."""
    monkeypatch.setenv("BRIM_STORE_PATH", str(tmp_path / "data" / "brim.db"))


def python(code: str) -> list[str]:
    return ["--", sys.executable, "-c", code]


def test_a_commands_output_is_shortened_and_recalled_whole(run: Run) -> None:
    ran = run("run", "--budget", "200", *python(LINES))
    assert ran.code == 0
    assert len(ran.out) < 2_000
    handle = re.search(r"brim:[0-9a-f]{8}", ran.out)
    assert handle is not None
    whole = run("recall", handle.group()).out
    assert whole == "".join(f"2026-01-02 10:00:00 INFO order {n} was paid in full\n" for n in range(3000))


def test_the_exit_code_is_the_commands_own(run: Run) -> None:
    assert run("run", *python("raise SystemExit(7)")).code == 7


def test_a_command_that_a_signal_ends_leaves_as_in_a_shell(run: Run) -> None:
    assert run("run", *python("import os, signal; os.kill(os.getpid(), signal.SIGTERM)")).code == 128 + 15


def test_standard_error_is_part_of_the_output(run: Run) -> None:
    assert "said aside" in run("run", *python("import sys; print('said aside', file=sys.stderr)")).out


def test_a_short_output_is_printed_as_it_is_and_not_archived(run: Run, tmp_path: Path) -> None:
    assert run("run", *python("print('fine')")).out == "fine\n"
    assert not (tmp_path / "data").exists()


def test_a_command_that_is_not_there_is_named(run: Run) -> None:
    ran = run("run", "--", "no-such-program-here")
    assert ran.code == 127
    assert "no-such-program-here" in ran.err


def test_run_without_a_command_says_where_to_write_it(run: Run) -> None:
    ran = run("run")
    assert ran.code == 2
    assert "after --" in ran.err


def test_a_handle_that_is_not_archived_is_named(run: Run) -> None:
    run("run", "--budget", "200", *python(LINES))
    ran = run("recall", "brim:00000000")
    assert ran.code == 1
    assert "brim:00000000" in ran.err
