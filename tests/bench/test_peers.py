"""A library is asked in a process of its own, and what it cannot do is a reason and not a gap."""

from __future__ import annotations

import sys
from pathlib import Path

import environments
import pytest
from environments import PEERS, Environment
from peer import PeerProblem, Worker
from versus.ways import COUNTS, CUTS, FITS, PACKS, TEXTS, Field, Way, each

LIBRARY = """
import sys
PACKAGES = ("rich",)

class Keep:
    def __init__(self):
        self.seen = 0
    def __call__(self, messages, budget):
        print("noise on standard output")
        self.seen += 1
        if budget == 0:
            raise ValueError("nothing fits")
        if budget == -1:
            sys.exit("gave up")
        if budget == -2:
            while True:
                pass
        return [*messages[-budget:], {"role": "user", "content": str(self.seen)}]
    def held(self, value):
        return value == "old"

FITS = {"keep": Keep}
COUNTS = {"letters": lambda: len}
PACKS = {"upper": lambda: (str.upper, str.lower)}
CUTS = {"head": lambda: lambda text, budget: text[:budget]}
"""
CHAT = [{"role": "user", "content": "one"}, {"role": "user", "content": "two"}]


@pytest.fixture
def library(tmp_path: Path) -> Environment:
    (tmp_path / "by_fake.py").write_text(LIBRARY)
    start = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(PEERS)!r}]; import worker; worker.main()"
    return Environment("brim", (sys.executable, "-c", start, "by_fake"))


def test_a_worker_fits_counts_and_packs_and_tells_its_versions(library: Environment) -> None:
    with Worker(library) as worker:
        worker.open("keep")
        answer = worker.fit(CHAT, 1)
        assert answer.messages == [CHAT[1], {"role": "user", "content": "1"}]
        assert answer.seconds >= 0
        assert worker.held(["old", "new"]) == [True, False]
        assert worker.ask({"do": "count", "how": "letters", "requests": ["ab", "c"]})["tokens"] == [2, 1]
        packed = worker.ask({"do": "pack", "how": "upper", "texts": ["ab"]})
        assert (packed["texts"], packed["back"]) == (["AB"], ["ab"])
        assert worker.ask({"do": "cut", "how": "head", "texts": [["abc", 2]]})["texts"] == ["ab"]
        assert "rich" in worker.versions


def test_a_new_conversation_begins_anew(library: Environment) -> None:
    with Worker(library) as worker:
        for _ in range(2):
            worker.open("keep")
            assert worker.fit(CHAT, 1).messages[-1]["content"] == "1"
        assert worker.fit(CHAT, 1).messages[-1]["content"] == "2"


def test_a_library_that_refuses_ends_or_hangs_says_why_and_goes_on(library: Environment) -> None:
    with Worker(library) as worker:
        worker.open("keep")
        with pytest.raises(PeerProblem, match="ValueError: nothing fits"):
            worker.fit(CHAT, 0)
        with pytest.raises(PeerProblem, match="gave up"):
            worker.fit(CHAT, -1)
        worker.open("keep")
        worker.patience = 0.3
        with pytest.raises(PeerProblem, match="more than 0 s"):
            worker.fit(CHAT, -2)
        worker.patience = 60.0
        assert worker.fit(CHAT, 1).messages[-1]["content"] == "1"


def test_a_library_that_is_not_installed_is_a_row_with_the_reason() -> None:
    missing = Environment("gone", problem="not installed: no wheel for it")
    with Field(Path("none"), tell=lambda said: None) as field:
        field.workers["gone"] = Worker(missing)
        rows = each(field, (Way("gone", "keep", "Gone keep"),), lambda way, worker: {"kept": worker.fit(CHAT, 1)})
        assert rows == [{"who": "Gone keep", "problem": "not installed: no wheel for it"}]
        assert field.versions() == {"gone": "not installed: no wheel for it"}


def test_without_peers_only_brim_takes_part() -> None:
    with Field(Path("none"), peers=False) as field:
        ways = (Way("brim", "fit", "Brim fit"), Way("litellm", "compress", "LiteLLM compress"))
        assert [way.name for way, _ in field.entered(ways)] == ["Brim fit"]


def test_an_installer_that_fails_gives_its_own_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "odd.txt").write_text("no-such-package-of-brim==1\n")
    monkeypatch.setattr(environments, "PEERS", tmp_path)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    made = environments.make("odd", tmp_path / "kept")
    assert made.problem.startswith("not installed: ")
    assert "no-such-package-of-brim" in made.problem


def test_other_pins_get_another_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "PEERS", tmp_path)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    found = []
    for pins in ("", "# none\n", ""):
        (tmp_path / "empty.txt").write_text(pins)
        found.append(environments.make("empty", tmp_path / "kept").folder)
    assert found[0] == found[2] != found[1]


def test_every_way_has_a_worker_with_pins() -> None:
    for way in (*FITS, *COUNTS, *TEXTS, *PACKS, *CUTS):
        if (PEERS / way.peer / "package-lock.json").is_file():
            continue
        source = (PEERS / f"by_{way.peer}.py").read_text()
        assert f'"{way.how}"' in source, way
        if way.peer != "brim":
            pins = (PEERS / f"{way.peer}.txt").read_text().splitlines()
            assert all("==" in line for line in pins)


def test_brim_itself_is_a_worker() -> None:
    with Worker(environments.ours()) as worker:
        worker.open("session")
        chat = [{"role": "user", "content": f"Parcel {n} left Oslo for depot {n * 7}. " * 9} for n in range(30)]
        fitted = worker.fit(chat, 500).messages
        assert fitted[-1] == chat[-1]
        worker.open("fit")
        with pytest.raises(PeerProblem, match="BudgetTooSmall"):
            worker.fit(chat, 5)
