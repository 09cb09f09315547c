"""`brim compact`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import brim
from tests.cli.conftest import Run

ROWS = json.dumps([{"id": n, "name": f"item-{n}", "state": "open", "owner": None} for n in range(60)], indent=2)
LOG = (
    "\n".join(f"2026-03-01 12:00:{n % 60:02} INFO worker {n % 7} took job {n}" for n in range(400))
    + "\n2026-03-01 ERROR disk full\n"
)


def test_without_a_budget_nothing_is_lost(run: Run) -> None:
    done = run("compact", stdin=ROWS)
    assert done.code == 0
    assert brim.decode(done.out.rstrip("\n")) == json.loads(ROWS)
    assert brim.count(done.out, model="gpt-4o").tokens < brim.count(ROWS, model="gpt-4o").tokens / 2
    assert done.err.startswith("json: ")
    assert "lossless" in done.err


def test_a_compaction_is_undone_by_decode(run: Run) -> None:
    dense = run("compact", stdin=ROWS).out
    assert run("compact", "--decode", stdin=dense).json == json.loads(ROWS)


def test_a_log_comes_out_within_its_budget_with_its_error(run: Run, tmp_path: Path) -> None:
    (tmp_path / "build.log").write_text(LOG)
    done = run("compact", "build.log", "--budget", "300")
    assert brim.count(done.out, model="gpt-4o").tokens <= 300
    assert "ERROR disk full" in done.out


def test_the_numbers_come_as_json(run: Run) -> None:
    found = run("compact", "--budget", "200", "--json", stdin=LOG).json
    assert found["tokens"] == brim.count(found["text"], model="gpt-4o").tokens <= 200
    assert (found["kind"], found["fidelity"]) == ("log", "recoverable")
    assert 0 < found["kept"] < 1


def test_every_form_is_listed_with_its_size(run: Run) -> None:
    done = run("compact", "--explain", stdin=ROWS)
    assert done.code == 0
    assert "lossless" in done.out
    assert all("tokens" in line for line in done.out.splitlines())


def test_a_kind_may_be_named(run: Run) -> None:
    assert run("compact", "--kind", "prose", "--budget", "100", "--json", stdin=LOG).json["kind"] == "prose"
    wrong = run("compact", "--kind", "nonsense", stdin=LOG)
    assert wrong.code == 2
    assert "prose" in wrong.err


def test_what_the_query_is_about_stays_first(run: Run) -> None:
    topics = (
        "The harbour was closed on Monday.",
        "Refunds take ten days.",
        "Parking is free at night.",
        "Cats sleep a lot.",
    )
    text = "\n\n".join(f"{one} {'Nothing else was said about it that week by anybody. ' * 6}" for one in topics)
    done = run("compact", "--budget", "60", "--query", "how long do refunds take?", stdin=text)
    assert "Refunds take ten days." in done.out


@pytest.mark.parametrize("data", [b"", b"\xff\xfe broken \x00 bytes", b"{" * 3_000])
def test_any_bytes_give_a_result(run: Run, data: bytes) -> None:
    done = run("compact", "--budget", "50", stdin=data)
    assert done.code == 0
    assert brim.count(done.out, model="gpt-4o").tokens <= 51


def test_text_that_was_not_compacted_cannot_be_decoded(run: Run) -> None:
    done = run("compact", "--decode", stdin="#brim json nothing like it")
    assert done.code == 2
    assert done.err.startswith("brim compact: ")
