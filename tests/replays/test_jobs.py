"""A replay that several processes share finds what one finds, also when one of them is killed."""

from __future__ import annotations

import io
import json
import multiprocessing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import brim
from brim import models
from brim.cli import main
from brim.models import Model
from brim.replays import Progress, Replay, sharing
from tests.replays.chats import chat, claude


def traffic(number: int = 9) -> list[Any]:
    """Conversations that take turns, some with ids, and records that cannot be replayed."""
    talks = [chat(5, topic=f"pier {n}") if n % 2 else claude(5) for n in range(number)]
    bodies: list[Any] = [
        {"body": body, "session": f"desk-{n}", "time": 60 * step} if n % 3 else body
        for step, row in enumerate(zip(*talks, strict=True))
        for n, body in enumerate(row)
    ]
    bodies[7:7] = ["no request", {"model": "nobody-knows-it", "messages": [{"role": "user", "content": "hi"}]}]
    return bodies


def timeless(found: Replay) -> dict[str, Any]:
    """All that was found, without what a clock said."""
    told = found.as_dict()
    for one in [told, *told["outcomes"]]:
        for name in ("seconds", "count_ms_p50", "count_ms_p95", "ms_p50", "ms_p95"):
            one.pop(name, None)
    return told


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "BATCH", 3_000)


def test_two_processes_find_what_one_finds(tmp_path: Path, small_batches: None) -> None:
    file = tmp_path / "traffic.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in traffic()))
    given: dict[str, Any] = {"budget": [1_500, None], "policy": ["agent", "rolling"]}
    alone = brim.replay(str(file), **given)
    assert (alone.requests, alone.left_out, alone.conversations) == (45, 2, 8)
    assert timeless(brim.replay(str(file), **given, jobs=2)) == timeless(alone)


def test_the_share_of_a_killed_process_is_done_again(small_batches: None) -> None:
    alive: list[int] = []

    def kill(progress: Progress) -> None:
        alive.append(progress.requests)
        if len(alive) == 3:
            multiprocessing.active_children()[0].kill()

    problems: list[str] = []
    found = brim.replay(
        traffic(), budget=1_500, jobs=2, on_progress=kill, on_problem=lambda one: problems.append(one.place)
    )
    assert timeless(found) == timeless(brim.replay(traffic(), budget=1_500))
    assert alive[-1] == found.requests
    assert problems == ["requests[7]", "requests[8]"]


def test_an_input_that_can_be_read_only_once_says_so_when_a_process_is_killed(small_batches: None) -> None:
    lines = io.BytesIO("".join(json.dumps(one) + "\n" for one in traffic()).encode())
    killed: list[Any] = []

    def kill(progress: Progress) -> None:
        if progress.requests and not killed:
            killed.append(multiprocessing.active_children()[0])
            killed[0].kill()

    with pytest.raises(brim.BadInput, match="name files instead"):
        brim.replay(lines, budget=1_500, jobs=2, on_progress=kill)


def test_what_kills_every_process_that_reads_it_is_told(small_batches: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "TRIES", 1)

    def kill(_: Progress) -> None:
        for process in multiprocessing.active_children():
            process.kill()

    class Kills(list[Any]):
        """Requests at whose end there is no process left, however often they are read."""

        def __iter__(self) -> Iterator[Any]:
            yield from super().__iter__()
            kill(Progress(0, 0, 0))

    with pytest.raises(brim.BadInput, match="ended 1 processes in a row"):
        brim.replay(Kills(traffic()), budget=1_500, jobs=2, on_progress=kill)


def test_a_model_that_was_added_here_is_known_in_every_process(small_batches: None) -> None:
    models.add(Model("house-model", "house", 9_000, None, "o200k", None, "openai_chat", "settings"))
    bodies = [{**body, "model": "house-model"} for body in chat(4)]
    assert brim.replay(bodies, jobs=2).models == {"house-model": 4}


def test_parquet_is_replayed_like_the_same_requests_in_lines(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pip install 'brim[batch]'")
    parquet = pytest.importorskip("pyarrow.parquet", reason="pip install 'brim[batch]'")
    rows = [{"model": "gpt-4o", "body": json.dumps(body)} for body in chat(7)]
    lines, file = tmp_path / "traffic.jsonl", tmp_path / "traffic.parquet"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    parquet.write_table(pyarrow.Table.from_pylist(rows), file, row_group_size=3)
    told: list[Progress] = []
    found = brim.replay(str(file), budget=1_500, on_progress=told.append)
    expected = str(timeless(brim.replay(str(lines), budget=1_500))).replace("traffic.jsonl", "traffic.parquet")
    assert str(timeless(found)) == expected
    assert 0 < told[-1].read <= told[-1].size == file.stat().st_size


def test_the_command_takes_processes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "traffic.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in chat(6)))
    told = []
    for number in ("1", "2"):
        assert main(["replay", str(file), "--budget", "2000", "--jobs", number, "--json"]) == 0
        told.append(json.loads(capsys.readouterr().out)["outcomes"][0]["tokens_after"])
    assert told[0] == told[1]
