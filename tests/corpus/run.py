"""Running the checks over folders: in several processes, resumable, with a table at the end.

A state folder holds for each process the documents that are done and what they showed, one JSON object a line.
"""

from __future__ import annotations

import json
import multiprocessing
import signal
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from tests.corpus.checks import Finding, Hung, findings_of
from tests.corpus.documents import Document, documents
from tests.corpus.mutations import chosen, mutate

# Seconds after which a text counts as hung. On the wall: while a timer of CPU time runs, the kernel gives
# `process_time` in ticks, and nothing could be measured.
HUNG_SECONDS = 120
EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Job:
    """What one run does. `mutations` are made of each document beside the original."""

    corpora: tuple[Path, ...]
    state: Path
    seed: int = 1
    mutations: int = 2
    processes: int = 2
    most: int | None = None
    stride: int = 1


def run(job: Job) -> int:
    """Check every document that is not done yet, print the table, and return how many findings there are."""
    job.state.mkdir(parents=True, exist_ok=True)
    workers = [multiprocessing.Process(target=_work, args=(job, number)) for number in range(job.processes)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(table(read_state(job.state)))
    crashed = sum(1 for worker in workers if worker.exitcode)
    return crashed + sum(len(done["findings"]) for done in read_state(job.state))


def _work(job: Job, number: int) -> None:
    signal.signal(signal.SIGALRM, _hung)
    # What showed something is looked at again: the code may have changed since.
    seen = {done["document"] for done in read_state(job.state) if not done["findings"]}
    with (job.state / f"done-{number}.jsonl").open("a") as out:
        for document in _own(job, number):
            if document.name not in seen:
                seen.add(document.name)
                out.write(json.dumps(examine(document, job)) + "\n")
                out.flush()


def _own(job: Job, number: int) -> Iterator[Document]:
    """The documents of one process: by the sum of their names, so that each has its share of every folder."""
    taken = 0
    for folder in job.corpora:
        for document in documents(folder):
            share = zlib.crc32(document.name.encode("utf-8", "surrogateescape"))
            if share // job.processes % job.stride == 0 and share % job.processes == number:
                yield document
                taken += 1
                if job.most is not None and taken * job.processes >= job.most:
                    return


def examine(document: Document, job: Job) -> dict[str, Any]:
    """Check a document as it is and after its mutations."""
    found: list[Finding] = []
    texts = {"as it is": document.text}
    for mutation in chosen(document.name, job.mutations, job.seed):
        texts[mutation] = mutate(document.text, document.name, mutation, job.seed)
    steps = 0
    for mutation, text in texts.items():
        signal.setitimer(signal.ITIMER_REAL, HUNG_SECONDS)
        try:
            findings, ran = findings_of(text, document.name, mutation, job.seed)
        except Hung as hung:
            findings, ran = [Finding("hung", str(hung), f"{len(text):,} characters", document.name, mutation)], 0
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        found += findings
        steps += ran
    return {
        "document": document.name,
        "cases": list(texts),
        "characters": sum(map(len, texts.values())),
        "steps": steps,
        "findings": [asdict(finding) for finding in found],
    }


def _hung(_signal: int, frame: FrameType | None) -> None:
    while frame is not None and "/brim/" not in frame.f_code.co_filename:
        frame = frame.f_back
    where = f"{frame.f_code.co_filename.rsplit('/brim/', 1)[-1]}:{frame.f_lineno}" if frame else "outside Brim"
    raise Hung(where)


def read_state(state: Path) -> list[dict[str, Any]]:
    """What is done so far, each document as it was seen last; a line that a killed process left half written is not."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(state.glob("done-*.jsonl")):
        for line in path.read_text().split("\n"):
            try:
                done = json.loads(line)
            except ValueError:
                continue
            found[done["document"]] = done
    return list(found.values())


def table(done: Sequence[dict[str, Any]]) -> str:
    """What ran, and the findings by class and place with some examples of each."""
    cases = Counter(case for one in done for case in one["cases"])
    lines = [
        f"{len(done):,} documents, {sum(cases.values()):,} texts with their mutations, "
        f"{sum(one['characters'] for one in done):,} characters, {sum(one['steps'] for one in done):,} steps",
        "; ".join(f"{name} {number:,}" for name, number in sorted(cases.items())),
    ]
    findings = [Finding(**finding) for one in done for finding in one["findings"]]
    lines.append(f"{len(findings):,} findings")
    grouped: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        at = finding.detail.split(": ")[0] if finding.what.startswith("exception") else finding.where
        grouped.setdefault((finding.what, at), []).append(finding)
    for (what, where), group in sorted(grouped.items(), key=lambda item: (item[0][0], -len(item[1]))):
        lines.append(f"{len(group):7,}  {what:24} {where}")
        lines += [f"{'':9}{one.detail[:110]}  [{one.mutation}] {one.document}" for one in group[:EXAMPLES]]
    return "\n".join(lines)
