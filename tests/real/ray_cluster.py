"""Batch work on a real Ray cluster of two nodes on this machine: `make cluster`."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
import ray
from ray.cluster_utils import Cluster

from brim.batch import BatchTask, CompactTask, CountTask, ResultRow, run
from brim.cli import main
from brim.errors import BadInput
from brim.replays import Progress, Replay, replay, sharing


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 100 << 20})
    made.add_node(num_cpus=1, object_store_memory=100 << 20)
    made.wait_for_nodes()
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture(scope="module")
def traffic(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("traffic")
    files = []
    for name in ("a", "b"):
        lines = []
        for n in range(300):
            text = f"pump {n} of pier {name} is {n % 7} years old\n" * (n % 30 + 1)
            lines.append(json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": text}], "text": text}))
        lines[17] = "{broken"
        (folder / f"{name}.jsonl").write_text("\n".join(lines))
        files.append(str(folder / f"{name}.jsonl"))
    return files


@pytest.mark.parametrize("task", [CountTask(), CompactTask(budget=60, field="text")])
def test_two_nodes_find_what_one_process_finds(cluster: Cluster, traffic: list[str], task: BatchTask) -> None:
    alone = list(run(task, traffic, jobs=1, chunk=20_000))
    shared = list(run(task, traffic, ray=cluster.address, chunk=20_000))
    assert len(alone) > 10
    assert shared == alone
    assert [one.line for result in alone for one in result.left_out] == [18, 18]


def test_the_command_writes_the_same_parquet_from_the_cluster(
    cluster: Cluster, traffic: list[str], tmp_path: Path
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    command = ["count", "--lines", *traffic, "--json"]
    assert main([*command, "--out", str(here), "--jobs", "1"]) == 0
    assert main([*command, "--out", str(there), "--ray", cluster.address]) == 0
    assert (there / "part-00000.parquet").read_bytes() == (here / "part-00000.parquet").read_bytes()


@dataclass(frozen=True)
class NotesWhere:
    """Counts a record, and notes which node and process did; the first process of all kills itself."""

    folder: Path
    columns = {"length": "int64"}  # noqa: RUF012

    def __call__(self, record: bytes) -> ResultRow:
        mark = self.folder / "killed"
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        (self.folder / f"{ray.get_runtime_context().get_node_id()}.node").touch()
        return {"length": len(record)}


def test_the_share_of_a_killed_worker_is_done_again(cluster: Cluster, traffic: list[str], tmp_path: Path) -> None:
    found = list(run(NotesWhere(tmp_path), traffic, ray=cluster.address, chunk=20_000))
    lengths = [row["length"] for result in found for row in result.rows]
    expected = [len(line.strip()) for file in traffic for line in Path(file).read_bytes().splitlines()]
    assert (tmp_path / "killed").exists()
    assert lengths == expected


@dataclass(frozen=True)
class Slowly:
    """Takes its time, so that a node can be lost meanwhile, and notes its node."""

    folder: Path
    columns = {"length": "int64"}  # noqa: RUF012

    def __call__(self, record: bytes) -> ResultRow:
        (self.folder / f"{ray.get_runtime_context().get_node_id()}.node").touch()
        time.sleep(0.005)
        return {"length": len(record)}


def test_the_share_of_a_lost_node_is_done_by_the_other(cluster: Cluster, traffic: list[str], tmp_path: Path) -> None:
    extra = cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
    cluster.wait_for_nodes()
    results = run(Slowly(tmp_path), traffic, ray=cluster.address, chunk=20_000)
    found = [next(results)]
    for _ in range(1_000):
        if (tmp_path / f"{extra.node_id}.node").exists():
            break
        found.append(next(results))
    cluster.remove_node(extra, allow_graceful=False)
    found += results
    assert (tmp_path / f"{extra.node_id}.node").exists()
    lengths = [row["length"] for result in found for row in result.rows]
    assert lengths == [len(line.strip()) for file in traffic for line in Path(file).read_bytes().splitlines()]


def timeless(found: Replay) -> dict[str, Any]:
    told = found.as_dict()
    for one in [told, *told["outcomes"]]:
        for name in ("seconds", "count_ms_p50", "count_ms_p95", "ms_p50", "ms_p95"):
            one.pop(name, None)
    return told


@pytest.fixture(scope="module")
def talks(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Conversations that take turns and outgrow small budgets."""
    file = tmp_path_factory.mktemp("talks") / "talks.jsonl"
    with file.open("w") as out:
        for step in range(2, 12, 2):
            for n in range(24):
                said = [f"question {k} of desk {n}: " + "the crane of pier seven is late " * 40 for k in range(step)]
                roles = ("user", "assistant")
                messages = [{"role": roles[k % 2], "content": text} for k, text in enumerate(said[: step - 1])]
                out.write(json.dumps({"model": "gpt-4o", "messages": messages}) + "\n")
    return str(file)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "BATCH", 20_000)


def test_two_nodes_replay_what_one_process_does(cluster: Cluster, talks: str) -> None:
    alone = replay(talks, budget=[1_500, None], policy=["agent", "rolling"])
    assert alone.outcomes[0].changed > 20
    shared = replay(talks, budget=[1_500, None], policy=["agent", "rolling"], ray=cluster.address)
    assert timeless(shared) == timeless(alone)


def test_the_share_of_a_killed_replay_worker_is_done_again(cluster: Cluster, talks: str) -> None:
    killed: list[int] = []

    def kill(_: Progress) -> None:
        if killed:
            return
        for process in psutil.process_iter(["cmdline"]):
            if "ray::ReplayWork" in " ".join(process.info["cmdline"] or []):
                killed.append(process.pid)
                process.kill()
                return

    shared = replay(talks, budget=1_500, ray=cluster.address, on_progress=kill)
    assert killed
    assert timeless(shared) == timeless(replay(talks, budget=1_500))


def test_an_address_without_a_cluster_is_told(traffic: list[str]) -> None:
    ray.shutdown()
    with pytest.raises(BadInput, match="no Ray cluster answers there"):
        list(run(CountTask(), traffic, ray="127.0.0.1:9"))
