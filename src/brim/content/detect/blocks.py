"""Finds the blocks in a message: XML context blocks, fenced pastes and pasted runs.

Text outside of blocks is the author's own: it is an instruction and stays unchanged.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from brim.content.detect import line_patterns
from brim.content.detect.hints import Hint, detect

_TAG = re.compile(r"<(/?)([A-Za-z_][\w.:-]{0,80})((?:\s[^<>]{0,2000})?)>")
_ATTRIBUTE = re.compile(r"""([\w.:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_FENCE = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,})[ \t]*([^\n`]*)$", re.M)
_NAMING = ("source", "path", "file", "name", "title", "url", "href", "id")
_DATA_START = frozenset('{}[]"<>|+@$%&=;/\\0123456789')
_DATA_END = frozenset("{}[];,|\\=>")
# A tag of running text is never a context block, however long its content.
_INLINE = frozenset("a b i em strong code p br span u s sub sup li td th tr kbd mark small".split())


@dataclass(frozen=True, slots=True)
class Span:
    """A block's content, without the tags or fences around it: text[start:end]."""

    start: int
    end: int
    kind: str
    name: str = ""


def blocks(text: str, smallest: int = 200) -> list[Span]:
    """The blocks of a message in order, not nested, each of at least `smallest` characters.

    Example: "Why?\\n```python\\n…\\n```\\n" -> [Span(14, …, "code", "python")]
    """
    outer = _outermost([*_xml(text, smallest), *_fences(text, smallest)])
    found: list[Span] = []
    at = 0
    for one in outer:
        found.extend(_runs(text, at, one.before, smallest))
        found.append(Span(one.start, one.end, _kind(text[one.start : one.end], one.info), one.name))
        at = one.after
    found.extend(_runs(text, at, len(text), smallest))
    return found


@dataclass(frozen=True, slots=True)
class _Wrapped:
    """A block with the tags or fences around it: text[before:after]."""

    before: int
    start: int
    end: int
    after: int
    name: str
    info: str = ""


def _outermost(found: list[_Wrapped]) -> list[_Wrapped]:
    found.sort(key=lambda one: (one.before, -one.after))
    kept: list[_Wrapped] = []
    for one in found:
        if not kept or one.before >= kept[-1].after:
            kept.append(one)
    return kept


def _xml(text: str, smallest: int) -> list[_Wrapped]:
    """Elements whose opening tag starts a line."""
    found: list[_Wrapped] = []
    for start, end, name, attributes in elements(text):
        if end - start < smallest or name.lower() in _INLINE:
            continue
        opening = text.rfind("<", 0, start)
        line = text.rfind("\n", 0, opening) + 1
        if opening - line <= 40 and (opening == line or text[line:opening].isspace()):
            found.append(_Wrapped(line, start, end, end + len(name) + 3, label(name, attributes)))
    return found


def elements(text: str) -> list[tuple[int, int, str, str]]:
    """All elements as (start and end of their content, name, attributes), ignoring unmatched tags."""
    waiting: dict[str, list[tuple[int, str]]] = {}
    found: list[tuple[int, int, str, str]] = []
    if "</" not in text:
        return found
    for tag in _TAG.finditer(text):
        closing, name, attributes = tag.groups()
        if attributes.endswith("/"):
            continue
        if not closing:
            waiting.setdefault(name, []).append((tag.end(), attributes))
        elif waiting.get(name):
            start, given = waiting[name].pop()
            found.append((start, tag.start(), name, given))
    return found


def label(name: str, attributes: str) -> str:
    """A readable name for the block. Example: ("file", ' path="a.py"') -> "file a.py" """
    given = {key.lower(): a or b for key, a, b in _ATTRIBUTE.findall(attributes)}
    for key in _NAMING:
        if given.get(key):
            return f"{name} {given[key]}"
    return name


def _fences(text: str, smallest: int) -> list[_Wrapped]:
    found: list[_Wrapped] = []
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(text) if "```" in text or "~~~" in text else ():
        if opened is None:
            opened = fence
        elif fence[1][0] == opened[1][0] and len(fence[1]) >= len(opened[1]) and not fence[2].strip():
            start, end = min(opened.end() + 1, fence.start()), fence.start()
            if end - start >= smallest:
                info = opened[2].strip().split(" ", 1)[0]
                found.append(_Wrapped(opened.start(), start, end, fence.end(), info, info))
            opened = None
    return found


def _kind(inside: str, info: str) -> str:
    language = info.lower().strip("{}.")
    return detect(inside, Hint(path=f"x.{_LANGUAGE.get(language, language)}") if language else None)


_LANGUAGE = {
    "python": "py", "javascript": "js", "typescript": "ts", "rust": "rs", "golang": "go", "ruby": "rb", "csharp": "cs",
    "shell": "sh", "console": "", "text": "", "kotlin": "kt", "c++": "cpp", "haskell": "hs", "perl": "pl",
}  # fmt: skip


def _runs(text: str, start: int, end: int, smallest: int) -> list[Span]:
    """Runs of lines that are data rather than words: at least 5 lines, or one very long line."""
    if end - start < max(smallest, 200):
        return []
    found: list[Span] = []
    first, last, data = -1, -1, 0
    at = start
    while at < end:
        stop = text.find("\n", at, end)
        stop = end if stop < 0 else stop + 1
        line = text[at : min(stop, at + 240)].rstrip("\n")
        if line and not line.isspace():
            if _is_data(line, stop - at):
                first, data = (at, 0) if first < 0 else (first, data)
                last, data = stop, data + (100 if stop - at > 2_000 else 1)
            elif first >= 0 and (data < 3 or _is_said(line)):
                found.extend(_run(text, first, last, data, smallest))
                first = -1
        at = stop
    found.extend(_run(text, first, last, data, smallest))
    return found


def _is_said(line: str) -> bool:
    """Whether these lines are a person's words rather than a stray line of a paste."""
    return line.count(" ") >= 3 or line.rstrip()[-1] in ".:?!"


def _run(text: str, start: int, end: int, data: int, smallest: int) -> list[Span]:
    if start < 0 or data < 5 or end - start < max(smallest, 200):
        return []
    kind = detect(text[start:end])
    # People write lists and sentences themselves.
    return [] if kind in ("prose", "markdown") else [Span(start, end, kind)]


def _is_data(line: str, length: int) -> bool:
    bare = line.strip()
    if length > 2_000 and bare.count(" ") * 12 < len(bare):
        return True
    if bare[0] in _DATA_START or bare[-1] in _DATA_END or line.startswith(("    ", "\t")):
        return not line_patterns.LIST_ITEM.match(line)
    return bool(line_patterns.LOG_LINE.match(line) or line_patterns.TRACE_LINE.match(line))
