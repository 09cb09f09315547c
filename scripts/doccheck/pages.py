"""The pages of the documentation: their links, and what they have to mention."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from brim.planning.policies.policy import NAMES, Policy

LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?!https?:|mailto:)([^)\s]*)\)")
HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.M)
FENCED = re.compile(r"^(`{3,}|~{3,}).*?^\1[ \t]*$", re.M | re.S)
NAME = re.compile(r"[A-Za-z][\w.-]*")


def pages(root: Path) -> list[Path]:
    return [*sorted(root.glob("*.md")), *sorted(root.glob("docs/**/*.md"))]


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as Markdown renderers make them. Example: "## A `b` c" -> "a-b-c" """
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(FENCED.sub("", text)))
    return {heading.strip().replace(" ", "-") for heading in kept}


def dead_links(root: Path) -> Iterator[str]:
    for page in pages(root):
        for target in LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
            path, _, anchor = target.partition("#")
            other = (page.parent / path) if path else page
            if not other.exists():
                yield f"{page.relative_to(root)}: links to {path}, which is not there"
            elif anchor and other.suffix == ".md" and anchor not in anchors(other.read_text(encoding="utf-8")):
                yield f"{page.relative_to(root)}: links to {target}, and there is no such heading"


def pages_without_way(root: Path) -> Iterator[str]:
    """Every page of docs is in the navigation."""
    listed = (root / "mkdocs.yml").read_text(encoding="utf-8")
    for page in sorted(root.glob("docs/*.md")):
        if not re.search(rf"(?<![\w-]){re.escape(page.name)}$", listed, re.M):
            yield f"mkdocs.yml: {page.name} is not in its navigation"


def unreasoned_dependencies(root: Path) -> Iterator[str]:
    """Every dependency has its reason in docs/dependencies.md."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = [*project["dependencies"], *(line for lines in project["optional-dependencies"].values() for line in lines)]
    text = (root / "docs/dependencies.md").read_text(encoding="utf-8")
    for name in dict.fromkeys(NAME.match(line).group() for line in asked):  # type: ignore[union-attr]
        if name != project["name"] and f"`{name}`" not in text:
            yield f"docs/dependencies.md: no reason for {name}"


def wrong_policy_settings(root: Path) -> Iterator[str]:
    """docs/policies.md has a row for every setting of a policy, with its default."""
    text = (root / "docs/policies.md").read_text(encoding="utf-8")
    settings = [Policy.named(name).as_dict() for name in NAMES]
    for name, value in {key: value for own in settings for key, value in own.items()}.items():
        found = re.search(rf"^\| `{name}` \| ([^|]*) \|", text, re.M)
        shown = "none" if value is None else str(value).lower()
        if name == "name":
            continue
        if not found:
            yield f"docs/policies.md: no row for the setting {name}"
        elif found[1].strip().replace(",", "") != shown:
            yield f"docs/policies.md: the default of {name} is {shown}, not {found[1].strip()}"
