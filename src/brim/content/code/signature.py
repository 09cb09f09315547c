"""Definitions and imports of a source text on one line each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from brim.content.code.outline import Definition

_OPENERS = dict(zip("([{<", ")]}>", strict=True))
_IMPORTED = re.compile(
    r"""["']([^"'\n]+)["']|<([\w./+-]+)>|\b(?:from|import|use|using|package|require|static|crate)\s+([\w.:$\\]+)"""
)
_REMARK = re.compile(r"\s(?:#(?!\[)|//)[^\"']*$")
_MORE = re.compile(r",\s*([\w.]+)")
# Characters around the words of a comment or a docstring.
_SIGNS = " \t\r\n\"'#/*!;-"
_HASHED = frozenset(["python", "ruby", "bash", "r", "julia", "elixir", "perl"])
# Longer descriptions are cut here: in the stdlib the median is 52 characters, the 95th percentile 78.
_LONGEST_DOC = 100


def whole(lines: Sequence[str], one: Definition) -> str:
    """The signature with its decorators, without the token that opens the body.

    Example: ["@frozen", "class Store:"] -> "@frozen class Store"
    """
    text = _on_one_line(lines[one.first : max(one.body, one.at + 1)])
    text = re.sub(r"([(\[]) |,? (?=[)\]])", r"\1", text)
    return text.rstrip("{: ").rstrip() or one.name


def short(lines: Sequence[str], one: Definition) -> str:
    """The name and its parameters, without types that follow a colon, and without defaults.

    Example: "def get(self, key: str = "", *, most: int) -> int:" -> "get(self, key, *, most)"
    """
    text = _on_one_line(lines[one.at : max(one.body, one.at + 1)])
    start = text.find(one.name.split(".")[-1])
    opening = text.find("(", start + 1) if start >= 0 else -1
    # For a class, the keyword is enough; its base classes are in the whole signature.
    if opening < 0 or re.match(r"(?:\w+ )*(?:class|interface|struct|trait|enum|impl|type|namespace)\b", text):
        return _opening_word(text) + one.name
    names = [re.split(r"[:=]", part, maxsplit=1)[0].strip() for part in _parameters(text, opening)]
    return f"{one.name}({', '.join(name for name in names if name)})"


def _on_one_line(lines: Sequence[str]) -> str:
    """A signature on one line, without comments at the ends of its lines."""
    return " ".join(" ".join(_REMARK.sub("", line) for line in lines).split())


def _opening_word(text: str) -> str:
    """The keyword of a definition. Example: "pub struct Store" -> "struct " """
    found = re.search(r"\b(class|interface|struct|trait|enum|impl|type|namespace|module|mod)\b", text[:120])
    return f"{found[1]} " if found else ""


def _parameters(text: str, opening: int) -> Iterator[str]:
    """The comma-separated parts inside a bracket."""
    waiting: list[str] = []
    start = opening + 1
    for at in range(opening, len(text)):
        sign = text[at]
        if sign in "([{":
            waiting.append(_OPENERS[sign])
        elif waiting and sign == waiting[-1]:
            waiting.pop()
            if not waiting:
                yield text[start:at]
                return
        elif sign == "," and len(waiting) == 1:
            yield text[start:at]
            start = at + 1


def imported(lines: Sequence[str], rows: Sequence[int]) -> list[str]:
    """The modules named in import lines, each once. Example: ["import os, re", "from a import c"] -> [os, re, a]"""
    found: dict[str, None] = {}
    for row in rows:
        line = lines[row] if row < len(lines) else ""
        for match in _IMPORTED.finditer(line):
            if found.setdefault(match[1] or match[2] or match[3].rstrip(":.")) is None and line.startswith("from "):
                break
            if match[3] and line.startswith("import "):
                for more in _MORE.findall(line, match.end()):
                    found.setdefault(more)
    return list(found)


def described(lines: Sequence[str], one: Definition, language: str) -> str:
    """The first line of a definition's description as a comment; "" if there is none."""
    for row in range(*one.doc):
        words = lines[row].strip(_SIGNS)
        if words:
            cut = words if len(words) <= _LONGEST_DOC else words[:_LONGEST_DOC].rsplit(" ", 1)[0] + "…"
            return f"  {'#' if language in _HASHED else '//'} {cut}"
    return ""
