"""Converts HTML to Markdown in one pass over its tags: no dependencies, linear time, robust against bad markup.

Omits scripts, styles, navigation, forms and blocks that are mostly links. If the page has a <main> or <article> with
most of the text, only that stays.
"""

from __future__ import annotations

import html as entities
import re
from dataclasses import dataclass, field

# A whole tag, or the opening of something else: a comment, a declaration, a tag without an end.
_TAG = re.compile(r"<(?:(/?)([a-zA-Z][a-zA-Z0-9:-]{0,40})[^<>]*>|(?=/?[a-zA-Z]|[!?]))")
_SPACE = re.compile(r"\s+")
# Elements to skip up to their end tag.
_RAW = frozenset(
    {"script", "style", "noscript", "template", "svg", "textarea", "select", "iframe", "canvas", "math", "head"}
)
_ASIDE = frozenset({"nav", "footer", "aside", "button", "dialog", "menu"})
_BLOCK = frozenset(
    [
        *("address", "article", "aside", "blockquote", "body", "br", "center", "dd", "details", "div", "dl", "dt"),
        *("fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr"),
        *("html", "li", "main", "nav", "ol", "p", "pre", "section", "summary", "table", "tbody", "tfoot", "thead"),
        *("tr", "ul"),
    ]
)
_TELLING = _RAW | _ASIDE | _BLOCK | {"a", "th", "td"}
# Blocks whose opening only ends the block before them.
_PLAIN = (
    _BLOCK - _ASIDE - {"main", "article", "h1", "h2", "h3", "h4", "h5", "h6", "li", "dt", "blockquote", "tr", "pre"}
)
_LINKED = 0.6  # a block with at least this share of link text is navigation
_DULL = 40  # a block with fewer characters is more likely a label than a sentence
_WINDOW = 0.5  # least share of the text that the densest stretch must have to represent the page
_LARGEST = 3_000_000


@dataclass(slots=True)
class _TextBlock:
    """Text between two block tags, how much of it is in links, and its position."""

    text: str
    linked: int
    prefix: str
    inside: bool


@dataclass(slots=True)
class _HtmlScan:
    blocks: list[_TextBlock] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    linked: int = 0
    in_link: bool = False
    prefix: str = ""
    main: int = 0
    aside: int = 0
    pre: int = 0

    def say(self, text: str) -> None:
        if self.aside or not text:
            return
        text = entities.unescape(text) if "&" in text else text
        if not self.pre:
            text = _SPACE.sub(" ", text)
        self.parts.append(text)
        if self.in_link:
            self.linked += len(text.strip())

    def close_block(self) -> None:
        if not self.parts:
            return
        text = "".join(self.parts)
        text = text.strip("\n") if self.pre else text.strip()
        if text and not text.isspace():
            self.blocks.append(_TextBlock(text, self.linked, self.prefix, self.main > 0))
            self.prefix = ""
        self.parts.clear()
        self.linked = 0

    def open(self, name: str) -> None:
        if name in _BLOCK:
            self.close_block()
        if name in _ASIDE:
            self.aside += 1
        elif name in ("main", "article"):
            self.main += 1
        elif name in ("h1", "h2", "h3", "h4", "h5", "h6"):
            self.prefix = "#" * int(name[1]) + " "
        elif name in ("li", "dt"):
            self.prefix = "- "
        elif name in ("blockquote", "tr"):
            self.prefix = "> " if name == "blockquote" else ""
        elif name in ("td", "th"):
            self.say(" | " if self.parts else "")
        elif name == "a":
            self.in_link = True
        elif name == "pre":
            self.pre += 1
            self.prefix = "```\n"

    def close(self, name: str) -> None:
        if name in _BLOCK:
            if self.parts:
                self.close_block()
            self.prefix = ""
        if name in _ASIDE:
            self.aside = max(0, self.aside - 1)
        elif name in ("main", "article"):
            self.main = max(0, self.main - 1)
        elif name == "a":
            self.in_link = False
        elif name == "pre":
            self.pre = max(0, self.pre - 1)


def markdown(page: str) -> str:
    """The readable text of a page as Markdown.

    Example: "<nav>x</nav><h1>Title</h1><p>One &amp; two</p>" -> "# Title\\n\\nOne & two"
    """
    page = page[:_LARGEST]
    low = page.lower()
    if len(low) != len(page):  # a few letters change length in lower case; end tags are ASCII anyway
        low = page
    scan, search = _HtmlScan(), _TAG.search
    unclosed: set[str] = set()
    at = 0
    while True:
        tag = search(page, at)
        if tag is None:
            scan.say(page[at:])
            break
        opened = tag.start()
        if opened > at and not (opened == at + 1 and page[at] == "\n" and not scan.parts):
            scan.say(page[at:opened])
        closing, name = tag.groups()
        if name is None:
            at = _after_odd_tag(page, opened, scan)
            continue
        at = tag.end()
        name = name.lower()
        if name not in _TELLING:
            continue
        if closing:
            scan.close(name)
        elif name in _PLAIN:
            if scan.parts:
                scan.close_block()
        elif name in _RAW:
            # Don't skip an element that is never closed, or the rest of the page would be lost.
            if name not in unclosed:
                end = low.find(f"</{name}", at)
                if end < 0:
                    unclosed.add(name)
                at = max(at, end)
        else:
            scan.open(name)
    scan.close_block()
    return _render(_main_blocks(scan.blocks))


def _after_odd_tag(page: str, opened: int, scan: _HtmlScan) -> int:
    """Treat a "<" that opens no tag as text; skip a comment or a declaration."""
    if page.startswith("<!--", opened):
        end = page.find("-->", opened)
        return end + 3 if end >= 0 else len(page)
    if page.startswith(("<!", "<?"), opened):
        end = page.find(">", opened)
        return end + 1 if end >= 0 else len(page)
    scan.say("<")
    return opened + 1


def _main_blocks(blocks: list[_TextBlock]) -> list[_TextBlock]:
    read = [block for block in blocks if len(block.text) > 200 or block.linked < _LINKED * len(block.text)]
    inside = [block for block in read if block.inside]
    if 3 * _size(inside) > _size(read):
        read = inside
    window = _densest(read)
    if _size(window) >= _WINDOW * _size(read):
        return window
    return read or blocks


def _size(blocks: list[_TextBlock]) -> int:
    return sum(len(block.text) for block in blocks)


def _densest(blocks: list[_TextBlock]) -> list[_TextBlock]:
    """The stretch with the most running text; long blocks add to its score, short and linked ones reduce it."""
    best = worth = 0
    start = first = end = 0
    for index, block in enumerate(blocks):
        gain = min(len(block.text), 400) - 2 * block.linked - _DULL
        if block.prefix.startswith("#"):
            gain = max(gain, 0)
        # Continue at zero, so that a heading before the first sentence is included.
        if worth < 0:
            worth, start = 0, index
        worth += gain
        if worth > best:
            best, first, end = worth, start, index + 1
    return blocks[first:end]


def _render(blocks: list[_TextBlock]) -> str:
    out: list[str] = []
    item = False
    for block in blocks:
        listed = block.prefix == "- "
        if out:
            out.append("\n" if listed and item else "\n\n")
        out.append(block.prefix + block.text)
        if block.prefix.startswith("```"):
            out.append("\n```")
        item = listed
    return "".join(out)
