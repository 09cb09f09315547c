"""Search a folder of Markdown documents by keywords.

There are two ways to rank. `keywords` is for a folder of specifications: a keyword in the file name counts 3, each
occurrence in the text 1, and the five best files are returned in full. `bm25` is for large folders: it returns the
best sections within a token budget.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Literal

from brim.count_text import CountText
from brim.docsearch.folder import EXCLUDED, Folder, FolderDocument
from brim.docsearch.sections import DocumentSection, sections
from brim.docsearch.sizes import count_tokens
from brim.docsearch.texts import FEATURES, Collection
from brim.errors import BadSetting
from brim.relevance import Index

log = logging.getLogger("brim.docsearch")
Rank = Literal["keywords", "bm25"]
LARGE_FOLDER = 1_000
_FOLDERS_KEPT = 8
_BM25_BUDGET = 4_000
_NAME_WORTH = 3


@dataclass(frozen=True, slots=True)
class Hit:
    """A matching document, and for bm25 its matching section."""

    path: str
    score: float
    trail: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a search: `text` for the model, `hits` best first, and `matched`, the number of matching files."""

    text: str
    hits: tuple[Hit, ...]
    matched: int
    files: tuple[str, ...]

    def __str__(self) -> str:
        return self.text


def search(
    root: str | Path,
    keywords: Sequence[str],
    *,
    rank: Rank | None = None,
    top: int = 5,
    budget: int | None = None,
    exclude: Sequence[str] = EXCLUDED,
    collection: Collection = FEATURES,
    count: CountText = count_tokens,
) -> Found:
    """Search the documents under `root` for `keywords`; the result has a text for a model.

    Example: search("features", ["chat"]).text -> "2 feature files match: chat\\n\\n**CRITICAL: …"
    """
    if rank not in (None, "keywords", "bm25"):
        raise BadSetting("rank", f"{rank!r} is neither 'keywords' nor 'bm25'")
    index = _index(Path(root), tuple(exclude))
    documents = index.folder.documents()
    names = tuple(document.path for document in documents)
    if not documents:
        return Found(collection.none(), (), 0, ())
    asked = [word for keyword in keywords if (word := keyword.strip().lower())]
    if not asked:
        listed = collection.listing(names)
        return Found(_within(listed, budget, count) if budget else listed, (), 0, names)
    if rank is None:
        rank = "bm25" if len(documents) > LARGE_FOLDER or budget is not None else "keywords"
    if rank == "keywords":
        found = _by_keywords(documents, asked, names, top, collection)
    else:
        found = _by_bm25(index, documents, asked, names, budget or _BM25_BUDGET, collection, count)
    log.info("searched %s for %s: %d of %d files match", collection.tool, asked, found.matched, len(names))
    return found


def score(document: FolderDocument, keywords: Sequence[str]) -> int:
    """3 for each keyword in the file name plus 1 for each occurrence in the text, ignoring case.

    Example: chat.md "Chat about chat", ["chat", "x"] -> 3 + 2
    """
    name = document.name.lower()
    in_name = sum(keyword in name for keyword in keywords)
    return _NAME_WORTH * in_name + sum(document.low.count(keyword) for keyword in keywords)


def _by_keywords(
    documents: Sequence[FolderDocument],
    asked: Sequence[str],
    names: tuple[str, ...],
    top: int,
    collection: Collection,
) -> Found:
    scored = [(worth, document) for document in documents if (worth := score(document, asked))]
    if not scored:
        return Found(collection.unmatched(asked, names), (), 0, names)
    scored.sort(key=lambda pair: -pair[0])  # stable, so equal scores stay in path order
    best = scored[:top]
    parts = [collection.head(len(scored), asked)]
    parts += [f"### {document.path}\n{document.text}\n\n" for _, document in best]
    if len(scored) > len(best):
        parts.append(f"({len(scored) - len(best)} more match and are not shown)")
    hits = tuple(Hit(document.path, worth) for worth, document in best)
    return Found("".join(parts), hits, len(scored), names)


class _Index:
    """A folder and the index over its sections, rebuilt when a document changes."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self._over: tuple[FolderDocument, ...] | None = None
        self._pieces: list[tuple[FolderDocument, DocumentSection]] = []
        self._ranking = Index()

    def pieces(
        self, documents: tuple[FolderDocument, ...]
    ) -> tuple[list[tuple[FolderDocument, DocumentSection]], Index]:
        if self._over is not documents:
            self._pieces = [(found, part) for found in documents for part in sections(found.text)]
            self._ranking = Index()
            for found, part in self._pieces:
                self._ranking.add(_searchable(found, part), session=found.path)
            self._over = documents
        return self._pieces, self._ranking


def _searchable(document: FolderDocument, section: DocumentSection) -> str:
    # Names and headings count double because they say what the text is about.
    titles = " ".join((document.path.removesuffix(".md"), *section.trail))
    return f"{titles}\n{titles}\n{section.text}"


_kept: OrderedDict[tuple[Path, tuple[str, ...]], _Index] = OrderedDict()
_lock = Lock()


def _index(root: Path, exclude: tuple[str, ...]) -> _Index:
    with _lock:
        key = (root.absolute(), exclude)
        index = _kept.get(key)
        if index is None:
            index = _kept[key] = _Index(Folder(root, exclude=exclude))
            while len(_kept) > _FOLDERS_KEPT:
                _kept.popitem(last=False)
        _kept.move_to_end(key)
        return index


def _by_bm25(
    index: _Index,
    documents: tuple[FolderDocument, ...],
    asked: Sequence[str],
    names: tuple[str, ...],
    budget: int,
    collection: Collection,
    count: CountText,
) -> Found:
    pieces, ranking = index.pieces(documents)
    query = " ".join(asked)
    scores = ranking.score(query, 0.0)
    ranked = sorted(((number, scores[number]) for number in ranking.holding(query)), key=lambda found: -found[1])
    if not ranked:
        return Found(_within(collection.unmatched(asked, names), budget, count), (), 0, names)
    matched = len({pieces[number][0].path for number, _ in ranked})
    parts = [collection.head(matched, asked)]
    left = budget - count(parts[0]) - 24
    hits: list[Hit] = []
    for number, worth in ranked:
        document, section = pieces[number]
        text = f"### {' › '.join((document.path, *section.trail))}\n{section.text}\n\n"
        size = count(text)
        if size > left:
            if hits:
                break
            text = _within(text, left, count)
            size = left
        parts.append(text)
        hits.append(Hit(document.path, worth, section.trail))
        left -= size
    if len(hits) < len(ranked):
        parts.append(f"({len(ranked) - len(hits)} more sections match and are not shown)")
    return Found(_within("".join(parts), budget, count), tuple(hits), matched, names)


def _within(text: str, budget: int, count: CountText) -> str:
    """The first lines of a text that fit the budget, with a mark if some are left out."""
    if count(text) <= budget:
        return text
    lines = text.splitlines(keepends=True)
    low, high = 0, len(lines)
    while low < high:
        middle = (low + high + 1) // 2
        if count("".join(lines[:middle]) + "[… cut]") <= budget:
            low = middle
        else:
            high = middle - 1
    return "".join(lines[:low]) + "[… cut]"
