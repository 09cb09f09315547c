"""The structure check counts what it says, and nothing that only looks like it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))

from structure import api_branches, constants, folders, imports, lengths, type_names


def package(folder: Path, **texts: str) -> tuple[Path, list[Path]]:
    """A package with these files; `__` in a name is a folder."""
    root = folder / "brim"
    for name, text in texts.items():
        path = root / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root, sorted(root.rglob("*.py"))


@pytest.mark.parametrize(
    "text",
    [
        'def f(api):\n    return 1 if api == "anthropic" else 2',
        'def f(api):\n    return api in ("gemini", "openai_chat")',
        'T = {"gemini": 1, "anthropic": 2}\ndef f(api):\n    return T[api]',
        'def f(api):\n    return {"gemini": 1, "anthropic": 2}.get(api)',
        'def f(api):\n    match api:\n        case "gemini":\n            return 1',
        "from brim.b import MARKS\ndef f(api):\n    return api == MARKS",
    ],
)
def test_a_decision_by_the_api_is_found_however_it_is_written(tmp_path: Path, text: str) -> None:
    found = api_branches.files(*package(tmp_path, a=text, b='MARKS = "anthropic"'))
    assert [name for name, _ in found] == ["a.py"]


@pytest.mark.parametrize(
    "text",
    [
        'ROUTES = (("/messages", "anthropic"), ("/responses", "openai_responses"))',
        'def f():\n    return g(api="gemini")',
        "MARKS = 3\ndef f(x):\n    return x == MARKS",
        'FAMILIES = {"gemini": "gemma"}\ndef f(name):\n    return FAMILIES.get(name)',
    ],
)
def test_the_name_of_an_api_as_data_is_no_decision(tmp_path: Path, text: str) -> None:
    assert api_branches.files(*package(tmp_path, a=text, b='MARKS = "anthropic"')) == []


def test_apis_may_decide_by_their_name(tmp_path: Path) -> None:
    assert api_branches.files(*package(tmp_path, apis__a='def f(api):\n    return api == "gemini"')) == []


def test_classes_and_aliases_of_one_name_are_found_together(tmp_path: Path) -> None:
    texts = {"a": "class Count: ...", "b": "Count = Callable[[str], int]", "c": "COUNT = 3\nCompiled = compile(x)"}
    assert type_names.repeated(*package(tmp_path, **texts)) == [("Count", ["a.py", "b.py"])]


def test_sizes_and_imports_are_counted(tmp_path: Path) -> None:
    root, files = package(tmp_path, a="def f():\n    import re\n    return re\n", b="", x__c="1\n2\n")
    assert folders.sizes(root, files) == [(2, "brim"), (1, "brim/x")]
    assert imports.inside_functions(root, files) == ["a.py:2"]
    assert lengths.functions(root, files) == [(3, "a.py:1 f")]
    assert lengths.files(root, files)[0] == (3, "a.py")


def test_the_map_for_contributors_names_every_folder_and_file_at_the_top_of_the_package() -> None:
    root = Path(__file__).parent.parent
    text = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    start = text.index("| place | what it is |")
    rows = text[start : text.index("\n\n", start)].splitlines()[2:]
    named = [name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])]
    here = [path for path in (root / "src/brim").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()]
    assert sorted(named) == sorted(f"{path.name}/" if path.is_dir() else path.name for path in here)


def test_a_number_of_planning_needs_a_comment_above_its_group_or_beside_it(tmp_path: Path) -> None:
    text = "# Why.\nA = 1\nB, C = 2, 3.5\nD = 4  # why\n\nE = -5\nF: int = 3 << 20\nG = 'text'\n"
    found = constants.unexplained(*package(tmp_path, planning__a=text, content__a=text))
    assert [one.partition(" ")[2] for one in found] == ["E = -5", "F: int = 3 << 20"]
