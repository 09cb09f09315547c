"""The documentation checks find what they are there to find, and the demo shows what it promises."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import brim
from brim.cli import demo, main

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

from doccheck import blocks, numbers, pages  # noqa: E402


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small project with one example."""
    (tmp_path / "docs/examples").mkdir(parents=True)
    (tmp_path / "docs/examples/sum.py").write_text("print(1 + 1)\n")
    (tmp_path / "src/brim/testing/data").mkdir(parents=True)
    (tmp_path / "src/brim/testing/data/sample.json").write_text("{}")
    return tmp_path


def test_an_example_and_its_output_are_copied_into_the_page(project: Path) -> None:
    page = "<!-- example: sum.py -->\n```python\nold\n```\n\n<!-- output: sum.py -->\n```text\n3\n```\n"
    told: list[str] = []
    fresh = blocks.refreshed(project, page, told.append)
    assert "```python\nprint(1 + 1)\n```" in fresh
    assert "```text\n2\n```" in fresh
    assert blocks.refreshed(project, fresh, told.append) == fresh
    assert told == []


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        ("<!-- example: gone.py -->\n```python\n```\n", "there is no docs/examples/gone.py"),
        ("<!-- example: sum.py -->\nno block\n", "a mark has no block"),
    ],
)
def test_a_mark_that_cannot_be_filled_is_told(project: Path, page: str, problem: str) -> None:
    told: list[str] = []
    assert blocks.refreshed(project, page, told.append) == page
    assert len(told) == 1
    assert problem.split()[-1] in told[0]


def test_an_example_that_fails_or_that_no_page_shows_is_told(project: Path) -> None:
    (project / "docs/examples/bad.py").write_text("raise SystemExit('no tide')\n")
    problems = list(blocks.failing_examples(project, {"bad.py"}))
    assert problems == ["docs/examples/bad.py: no tide", "docs/examples/sum.py: no page shows it"]


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        ("```console\n$ brim fit chat.json --bugdet 8000\n```\n", "--bugdet"),
        ("```sh\ncat x | brim squash --budget 9\n```\n", "there is no command squash"),
        ("```toml\n[gateway]\nport = 99999\n```\n", "gateway.port"),
        ("```python\nfit(messages,\n```\n", "does not parse"),
    ],
)
def test_code_that_would_not_work_is_told(block: str, problem: str) -> None:
    (found,) = blocks.wrong_code("page.md", block)
    assert problem in found


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        ("```python\nbrim.fit(messages)\n```\n", "Python that no test runs"),
        ("```json\n{'a': 1}\n```\n", "JSON that does not parse"),
        ("```\nbrim demo\n```\n", "says no language"),
    ],
)
def test_code_in_the_documentation_that_nothing_checks_is_told(block: str, problem: str) -> None:
    (found,) = blocks.wrong_code("docs/page.md", block)
    assert problem in found


def test_an_example_that_is_a_file_counts_as_run() -> None:
    assert list(blocks.wrong_code("docs/page.md", "<!-- example: sum.py -->\n```python\nprint(2)\n```\n")) == []


def test_code_that_works_is_not_told() -> None:
    page = (
        "```console\n$ brim fit chat.json --model gpt-4o --budget 8000\nno command: brim squash\n```\n"
        "```sh\ncat a.log | brim compact --budget N  # a remark --with a flag\n```\n"
        "```toml\n[models.mine]\nwindow = 8192\n```\n"
    )
    assert list(blocks.wrong_code("page.md", page)) == []


def test_numbers_come_from_what_a_benchmark_wrote(project: Path) -> None:
    page = "<!-- numbers:speed/cold -->\nold\n<!-- /numbers -->\n"
    told: list[str] = []
    assert numbers.refreshed(project, page, told.append) == "<!-- numbers:speed/cold -->\n<!-- /numbers -->\n"
    (project / "docs/benchmarks").mkdir()
    measured = {"command": "bench/speed.py", "tables": {"cold": [{"text": "a|b", "times": 3.14159, "n": 20000}]}}
    (project / "docs/benchmarks/speed.json").write_text(json.dumps(measured))
    fresh = numbers.refreshed(project, page, told.append)
    assert "| text | times | n |\n|---|---|---|\n| a\\|b | 3.14 | 20,000 |\n" in fresh
    assert "`bench/speed.py`" in fresh
    assert numbers.refreshed(project, fresh, told.append) == fresh
    assert told == []


def test_numbers_of_a_table_that_is_not_there_are_told(project: Path) -> None:
    (project / "docs/benchmarks").mkdir()
    (project / "docs/benchmarks/speed.json").write_text('{"tables": {"cold": []}}')
    told: list[str] = []
    numbers.refreshed(project, "<!-- numbers:speed/warm -->\n<!-- /numbers -->\n", told.append)
    assert "no table 'warm'" in told[0]


def test_dead_links_and_dead_anchors_are_told(project: Path) -> None:
    (project / "docs/a.md").write_text("# A `b` c\n\n[one](b.md) [two](#a-b-c) [three](#d) [web](https://x.example)\n")
    assert list(pages.dead_links(project)) == [
        "docs/a.md: links to b.md, which is not there",
        "docs/a.md: links to #d, and there is no such heading",
    ]


def test_links_in_code_blocks_are_left_alone(project: Path) -> None:
    (project / "docs/a.md").write_text("```text\n[one](b.md)\n```\n")
    assert list(pages.dead_links(project)) == []


def test_the_sample_is_a_run_that_needs_fitting() -> None:
    count = brim.count(demo.sample())
    assert 25_000 <= count.tokens <= 40_000
    assert brim.fit(demo.sample(), budget=demo.BUDGET).tokens <= demo.BUDGET


def test_the_demo_shows_the_count_the_fit_and_what_to_try_next(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    shown = capsys.readouterr().out
    fitted = brim.fit(demo.sample(), budget=demo.BUDGET)
    assert f"{brim.count(demo.sample()).tokens:,} tokens" in shown
    assert str(fitted.report) in " ".join(shown.split())
    assert all(name in shown for name in ("L1 instructions", "L4 history", "L5 current message", "Try next"))


def test_the_saved_sample_can_be_used_by_the_other_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "sample.json"
    assert main(["demo", "--save", str(file)]) == 0
    capsys.readouterr()
    assert main(["explain", str(file), "--budget", "8000", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["after"] <= 8_000


def test_the_demo_refuses_a_budget_that_is_too_small(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--budget", "50"]) == 1
    assert "must stay" in capsys.readouterr().err
