"""HTML pages: the main content as Markdown, or as many of its paragraphs as fit, dropping headings last.

With the extra `html`, trafilatura finds the main content; otherwise a scan of the tags does.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from html import unescape

from brim.content.documents import html_scan
from brim.content.line_packing import Tier, head_and_tail, matching, pack
from brim.content.selection import fits, least
from brim.content.types import Room
from brim.sized_lru import SizedLru

try:
    from trafilatura import extract as main_content
except ImportError:
    main_content = None  # type: ignore[assignment]

# A page above this size, or with more tags, is data in tags, or not worth the time of a full tree: up to 30 µs per tag,
# of which pages with an article have 500 to 4,000. The scan takes 2 µs. A page with fewer characters than this per tag
# and the text behind it is all tags; pages with an article have 30 and more.
_LARGEST_TREE, _MOST_TAGS, _LEAST_FOR_TAG = 1_000_000, 6_000, 20
# Only a page has a main content; for a fragment, such as a table in Markdown, the tree takes 5 ms and finds no more.
_PAGE = re.compile(r"<(?:html|body|main|article)\b", re.I)
_SHORT = 200  # with fewer characters of text than this, the page has no article, and the scan finds more
_UNREADABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
# trafilatura's escaping takes quadratic time for long runs of backslashes: 0.5 s for 32,000.
_BACKSLASHES = "\\" * 1_000
_TITLE, _HEAD = re.compile(r"<title\b[^>]{0,200}>([^<]{1,1000})</title", re.I), 200_000
_HEADING = re.compile(r"#{1,6} \S")
# Escapes that aren't needed when Markdown is read as text, and a heading with nothing below it.
_ESCAPED = re.compile(r"\\([_\[\]])")
_EMPTY_END = re.compile(r"(?:\n+#{1,6} [^\n]*)+\s*\Z")
# The same pages are shortened again and again to different rooms, so cache their main content.
_REMEMBERED = 1_000_000
_known: SizedLru[str, str] = SizedLru(4 * _REMEMBERED)
# It logs pages without an article as errors, but here they are normal.
logging.getLogger("trafilatura").addHandler(logging.NullHandler())


def markdown(page: str) -> str:
    """The main content of a page as Markdown, without links.

    Example: "<nav>…</nav><article><h1>Title</h1><p>Text</p></article>" -> "# Title\\n\\nText"
    """
    tags = page.count("<")
    readable = tags <= _MOST_TAGS and tags * _LEAST_FOR_TAG < len(page) <= _LARGEST_TREE and _BACKSLASHES not in page
    if main_content is not None and readable and _PAGE.search(page):
        found = main_content(
            _UNREADABLE.sub(" ", page), output_format="markdown", include_comments=False, favor_precision=True
        )
        if found and len(found) >= _SHORT:
            return _EMPTY_END.sub("", _ESCAPED.sub(r"\1", found))
    return html_scan.markdown(page)


def extract(text: str, room: Room) -> str:
    """The page's Markdown with a mark for the rest, or as many of its paragraphs as fit.

    Example: a page of 140,000 characters -> "# Title\\n\\nText …\\n[… 140 KB HTML]"
    """
    if fits(text, room):
        return text
    left_out = f"{len(text) // 1000:,} KB HTML"
    if room.tokens < 8:
        return least(room, left_out)
    content = _known.get(text)
    if content is None:
        content = markdown(text)
        if len(text) <= _REMEMBERED:
            _known.put(text, content, len(text) + len(content))
    title = _title(text, content)
    marked = "\n".join(filter(None, (title, content, room.mark(left_out))))
    if fits(marked, room):
        return marked
    if not content:
        return least(room, left_out)
    paragraphs = _paragraphs(content)
    tiers = [
        matching(paragraphs, room),
        Tier([index for index, said in enumerate(paragraphs) if _HEADING.match(said)], 0.3),
        Tier(_openings(paragraphs), 0.7),
        Tier(head_and_tail(paragraphs, room.tokens)),
    ]
    return pack(paragraphs, tiers, room, unit="paragraphs", also="markup", head=title, gap="")


def _title(page: str, content: str) -> str:
    """The page's title, unless its content begins with it. Example: "[page: Opening hours]" """
    found = _TITLE.search(page, 0, _HEAD)
    title = " ".join(unescape(found[1]).split())[:_SHORT] if found else ""
    return f"[page: {title}]" if title and title not in content[: 2 * _SHORT] else ""


def _paragraphs(content: str) -> list[str]:
    """Blocks between blank lines; long lists and tables are split into lines."""
    found: list[str] = []
    for block in re.split(r"\n\s*\n", content):
        if not block.strip():
            continue
        if block.count("\n") > 3 and not block.startswith("```"):
            found.extend(block.split("\n"))
        else:
            found.append(block)
    return found


def _openings(paragraphs: Sequence[str]) -> list[int]:
    """The first paragraph of the page and of each of its sections."""
    opening = [0] if paragraphs else []
    opening.extend(index + 1 for index, said in enumerate(paragraphs[:-1]) if _HEADING.match(said))
    return opening
