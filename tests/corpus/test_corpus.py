"""The corpus run on the files of this repository: small, in one process, with its table."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from brim.content import general, plain_text
from tests.corpus.checks import Case, check, findings_of
from tests.corpus.documents import documents
from tests.corpus.mutations import MUTATIONS, mutate
from tests.corpus.run import Job, examine, read_state, run, table

ROOT = Path(__file__).parents[2]
SEED = 7
# Every file in so many; each goes through two mutations. A few seconds of CPU.
STRIDE = 60
LARGEST = 6_000


def shipped() -> list[tuple[str, str]]:
    """Names and texts of some of the files that the repository has: code, docs, tests, JSON."""
    found = [one for folder in ("src", "docs", "tests") for one in documents(ROOT / folder)]
    return [(str(Path(one.name).relative_to(ROOT)), one.text[:LARGEST]) for one in found[::STRIDE]]


def test_files_of_this_repository_come_through_every_compactor() -> None:
    turn = sorted(MUTATIONS)
    shown = []
    for number, (name, text) in enumerate(shipped()):
        shown += findings_of(text, name, "as it is", SEED, measured=False)[0]
        for mutation in (turn[number % len(turn)], turn[(number * 7 + 3) % len(turn)]):
            mutated = mutate(text, name, mutation, SEED)[: 2 * LARGEST]
            shown += findings_of(mutated, name, mutation, SEED, measured=False)[0]
    assert shown == []


@pytest.mark.parametrize("mutation", sorted(MUTATIONS))
def test_a_mutation_gives_the_same_text_for_the_same_seed(mutation: str) -> None:
    text = (ROOT / "pyproject.toml").read_text()
    assert mutate(text, "a", mutation, 1) == mutate(text, "a", mutation, 1)
    assert any(mutate(text, "a", mutation, seed) != text for seed in range(5))
    assert isinstance(mutate("", "empty", mutation, 1), str)


def test_a_run_goes_on_where_it_stopped_and_ends_with_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "a.jsonl").write_text('{"id": 1, "text": "' + "word " * 60 + '"}\n{"id": 2}\n')
    (corpus / "b.md").write_text("# Title\n\nSome words about it.\n" * 20)
    (corpus / "c.bin").write_bytes(b"\0\1\2")
    job = Job((corpus,), tmp_path / "state", mutations=1, processes=1)
    assert run(job) == 0
    assert run(job) == 0
    done = read_state(job.state)
    assert len(done) == 4  # two lines, the text in one of them, and the page; bytes are no document
    assert len((job.state / "done-0.jsonl").read_text().splitlines()) == 4
    assert "4 documents, 8 texts" in capsys.readouterr().out


def test_a_compactor_that_raises_goes_over_or_decodes_wrong_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(text: str, room: object) -> str:
        raise KeyError("row")

    monkeypatch.setattr(plain_text, "extract", broken)
    (tmp_path / "words.txt").write_text("word " * 400)
    document = next(iter(documents(tmp_path)))
    done = examine(document, Job((), Path(), mutations=0))
    assert "exception KeyError" in {finding["what"] for finding in done["findings"]}
    assert "exception KeyError" in table([done])
    monkeypatch.setattr(plain_text, "extract", lambda text, room: text)
    monkeypatch.setattr(general, "dense", lambda text: '["other"]', raising=False)
    case = Case("word " * 400, random.Random(1), measured=False)
    check(case)
    assert {"over budget", "wrong decode"} <= {finding.what for finding in case.findings}
