"""The tools of Brim's own MCP server, independent of the protocol."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from brim import counting, fitting
from brim.content import Compactor, Hint
from brim.content.reshape import REPO_MAP, SEARCH_HITS, SEMANTIC_DIFF, apply
from brim.content.types import Room
from brim.docsearch import FEATURES, LEARNINGS, Collection, search
from brim.errors import BadInput, NotFound
from brim.mcp.code import diffing, mapping
from brim.mcp.code import search as finding
from brim.mcp.code.repository import Repository
from brim.mcp.options import LEVELS, Level
from brim.mcp.results.archive import MemoryArchive
from brim.mcp.results.compacting import count_tokens
from brim.mcp.results.recall_tool import recall
from brim.mcp.transport.json_rpc import RpcObject

_RECALL_TOKENS = 4_000
_DOC_TOKENS = 8_000


@dataclass(slots=True)
class Tools:
    """The tools for one project: its documents, its learnings, its code."""

    root: Path
    docs: Path
    learnings: Path
    archive: MemoryArchive = field(default_factory=MemoryArchive)
    _repository: Repository | None = None

    @property
    def repository(self) -> Repository:
        if self._repository is None:
            self._repository = Repository(self.root)
        return self._repository

    def count_tokens(self, text: str, model: str) -> RpcObject:
        counted = counting.count(text, model=model, strict=True)
        return {"tokens": counted.tokens, "upper": counted.upper, "source": counted.source}

    def compact(self, text: str, budget: int | None, kind: str | None, query: str) -> RpcObject:
        """Compact a text, losslessly without a budget; the original of a lossy form can be recalled."""
        if budget is not None and budget < 1:
            raise BadInput("budget", f"{budget} is not a number of tokens")
        compactor = Compactor(text, count_tokens, kind, Hint())
        if budget is None:
            dense = compactor.dense()
            short, fidelity, handle = (dense.text if dense else text), "lossless", ""
        else:
            handle = self.archive.put(text)
            form = compactor.at(Room(budget, count_tokens, handle, bool(handle), query))
            short, fidelity = form.text, form.fidelity
            handle = handle if fidelity == "recoverable" else ""
        found: RpcObject = {"text": short, "tokens": count_tokens(short), "of": compactor.tokens, "fidelity": fidelity}
        return {**found, "kind": compactor.kind, **({"handle": handle} if handle else {})}

    def recall(self, handle: str, offset: int, query: str) -> RpcObject:
        arguments = {"handle": handle, "offset": offset, "query": query}
        text, missing = recall(self.archive, arguments, _RECALL_TOKENS, count_tokens)
        if missing:
            raise NotFound(text)
        return {"text": text}

    def query(self, handle: str, expression: str, offset: int) -> RpcObject:
        arguments = {"handle": handle, "expression": expression, "offset": offset}
        text, wrong = recall(self.archive, arguments, _RECALL_TOKENS, count_tokens)
        if wrong:
            raise NotFound(text)
        return {"text": text}

    def search_docs(self, keywords: list[str]) -> RpcObject:
        return self._documents(self.docs, keywords, FEATURES)

    def search_learnings(self, keywords: list[str]) -> RpcObject:
        return self._documents(self.learnings, keywords, LEARNINGS)

    def _documents(self, folder: Path, keywords: list[str], collection: Collection) -> RpcObject:
        """The matching files in full, or their best sections if they are too long for a result."""
        found = search(folder, keywords, collection=collection)
        if count_tokens(found.text) > _DOC_TOKENS:
            found = search(folder, keywords, collection=collection, rank="bm25", budget=_DOC_TOKENS)
        return {"text": found.text, "files": [hit.path for hit in found.hits], "matched": found.matched}

    def context_report(self, messages: list[RpcObject], model: str, budget: int | None) -> RpcObject:
        """How full a conversation makes a model's window, by layer, and what a fit would change."""
        report = fitting.fit(messages, model=model, budget=budget).report
        layers = [{"layer": one.layer, "name": one.name, "tokens": one.before} for one in report.layers]
        found: RpcObject = {
            "model": report.model,
            "tokens": report.before,
            "limit": report.limit,
            "used": round(report.before / max(report.limit, 1), 4),
            "layers": layers,
        }
        if report.after != report.before:
            found["fitted"] = {
                "tokens": report.after,
                "compacted": report.compacted,
                "archived": report.archived,
            }
        if report.warnings:
            found["warnings"] = list(report.warnings)
        return found

    # Code

    def map_repo(self, path: str, level: Level) -> RpcObject:
        """Map the repository; each level leaves out more: line counts, names outside trees, lower folders."""
        known = _known(level)
        found = mapping.map_repo(self.repository, path, 1 if known == "minimal" else None, lines=known == "full")
        if known == "minimal":
            found = {key: value for key, value in found.items() if key not in ("dependencies", "test_layout")}
            known = "compact"
        shaped: RpcObject = apply(found, REPO_MAP, known)
        return shaped

    def search(
        self, query: str, mode: Literal["definitions", "references", "lexical"], limit: int, level: Level
    ) -> RpcObject:
        shaped: RpcObject = apply(finding.search(self.repository, query, mode, limit), SEARCH_HITS, _known(level))
        return shaped

    def search_def_and_refs(self, symbol: str, limit: int, level: Level) -> RpcObject:
        found = finding.search_def_and_refs(self.repository, symbol, limit)
        shaped: RpcObject = apply(found, SEARCH_HITS, _known(level))
        return shaped

    def semantic_diff(self, base: str, target: str, level: Level) -> RpcObject:
        shaped: RpcObject = apply(diffing.semantic_diff(self.repository, base, target), SEMANTIC_DIFF, _known(level))
        return shaped


def _known(level: Any) -> Level:
    if level not in LEVELS:
        raise BadInput("level", f"{level!r} is none of {', '.join(LEVELS)}")
    found: Level = level
    return found
