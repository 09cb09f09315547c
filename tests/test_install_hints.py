"""What Brim tells people to install exists: every extra that an error names, and one range for each framework."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = {path: path.read_text() for path in sorted((ROOT / "src/brim").rglob("*.py"))}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_every_extra_that_is_named_is_one_of_the_package() -> None:
    extras = set(PROJECT["optional-dependencies"])
    called = [re.findall(r"MissingExtra\([^)]*?\"(\w+)\"\s*\)", text) for text in SOURCES.values()]
    written = [re.findall(r"brim\[(\w+)\]", text) for text in SOURCES.values()]
    named = {extra for found in (*called, *written) for extra in found}
    assert len(named) >= 4
    assert named <= extras, named - extras


def test_an_adapter_and_its_page_name_the_same_range_which_holds_the_tested_version() -> None:
    for path, text in SOURCES.items():
        pins = re.findall(r"MissingFramework\(\"brim\.integrations\.(\w+)\", \"([^\"]+)\"\)", text)
        for name, pin in pins:
            page = (ROOT / f"docs/integrations/{name}.md").read_text()
            assert pin in page or f"'{pin}'" in page or name == "llm", (path.name, pin)  # llm installs it by itself
            required = (ROOT / f"tests/integrations/requirements/{name}.txt").read_text()
            package = re.split(r"[<>=]", pin)[0]
            tested = re.search(rf"^{re.escape(package)}(?:\[\w+\])?==(\S+)$", required, re.M)
            assert tested, (name, package)
            assert tested.group(1) in (ROOT / "docs/integrations/index.md").read_text(), (name, tested.group(1))
            least = tuple(map(int, re.search(r">=([\d.]+)", pin).group(1).split(".")))  # type: ignore[union-attr]
            assert tuple(map(int, tested.group(1).split(".")[: len(least)])) >= least, (name, pin, tested.group(1))
