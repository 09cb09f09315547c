"""Searches code: definitions and uses of a symbol, and occurrences of a text."""

from __future__ import annotations

import re
from typing import Any, Literal

from brim.errors import BadInput
from brim.mcp.code.languages import Symbol, language_of, mentions
from brim.mcp.code.repository import Repository
from brim.mcp.transport.json_rpc import RpcObject

Mode = Literal["definitions", "references", "lexical"]
_LONGEST_PREVIEW = 160


def search(repository: Repository, query: str, mode: Mode = "definitions", limit: int = 20) -> RpcObject:
    """Hits in full form; `total` says how many there are when not all are given."""
    if not query.strip():
        raise BadInput("query", "is empty")
    if mode == "definitions":
        hits = _definitions(repository, query.strip())
    elif mode == "references":
        hits = references(repository, query.strip())
    else:
        hits = _lexical(repository, query)
    limit = max(1, min(limit, 200))
    found: RpcObject = {"results": hits[:limit]}
    if len(hits) > limit:
        found["total"] = len(hits)
    return found


def search_def_and_refs(repository: Repository, symbol: str, limit: int = 20) -> RpcObject:
    """The definitions of a symbol and the places that use it, in one answer."""
    name = symbol.strip()
    defined = [hit for hit in _definitions(repository, name) if name in (hit["symbol"]["name"], _qualified(hit))]
    used = references(repository, name.rpartition(".")[2] or name)
    limit = max(1, min(limit, 200))
    found: RpcObject = {"definitions": defined[:limit], "references": used[:limit]}
    if len(used) > limit:
        found["total_references"] = len(used)
    return found


def _qualified(hit: RpcObject) -> Any:
    return hit["symbol"]["qualified_name"]


def _definitions(repository: Repository, query: str) -> list[RpcObject]:
    """Exact names first, then names that begin with the query, then those that contain it."""
    low = query.lower()
    bare = low.rpartition(".")[2] or low
    ranked: list[tuple[int, str, int, RpcObject]] = []
    for path in repository.files():
        if not language_of(path) or bare not in repository.data(path).decode("utf-8", "replace").lower():
            continue
        for symbol in repository.symbols(path):
            rank = _rank(symbol, query, low)
            if rank is not None:
                ranked.append((rank, path, symbol.start_line, _symbol_hit(path, symbol)))
    ranked.sort(key=lambda entry: entry[:3])
    return [hit for *_, hit in ranked]


def _rank(symbol: Symbol, query: str, low: str) -> int | None:
    if query in (symbol.name, symbol.qualified):
        return 0
    name = symbol.name.lower()
    if low in (name, symbol.qualified.lower()):
        return 1
    return 2 if name.startswith(low) else 3 if low in name else None


def _symbol_hit(path: str, symbol: Symbol) -> RpcObject:
    return _hit(
        "symbol",
        path,
        (symbol.start_line, symbol.start_col, symbol.end_line, symbol.end_col),
        "def",
        symbol.preview,
        {"name": symbol.name, "kind": symbol.kind, "qualified_name": _other(symbol.qualified, symbol.name)},
    )


def _other(qualified: str, name: str) -> str | None:
    return qualified if qualified != name else None


def _hit(
    origin: str, path: str, span: tuple[int, int, int, int], kind: str, preview: str, symbol: RpcObject | None
) -> RpcObject:
    start, start_col, end, end_col = span
    hit: RpcObject = {
        "hit_id": f"{origin}:{path}:{start}:{start_col}",
        "path": path,
        "span": {"start_line": start, "start_col": start_col, "end_line": end, "end_col": end_col},
        "kind": kind,
        "preview_line": preview,
    }
    if symbol is not None:
        hit["symbol_id"] = symbol["name"]
        hit["symbol"] = symbol
    return hit


def references(repository: Repository, name: str) -> list[RpcObject]:
    """Uses of a name in code: not its definitions, not comments, not strings."""
    word = re.compile(rb"(?<![\w$])" + re.escape(name.encode()) + rb"(?![\w$])")
    hits: list[RpcObject] = []
    for path in repository.files():
        language = language_of(path)
        data = repository.data(path) if language else b""
        spots = [found.start() for found in word.finditer(data)]
        if not spots:
            continue
        symbols = [symbol for symbol in repository.symbols(path) if symbol.name == name]
        defined = {(symbol.start_line, symbol.signature) for symbol in symbols}
        for spot in mentions(data, language, iter(spots)):
            line, col, text = _line_at(data, spot)
            if any(start <= line <= start + 1 and name in signature for start, signature in defined):
                continue
            hits.append(_hit("ref", path, (line, col, line, col + len(name)), "ref", _preview(text), _named(name)))
    return hits


def _named(name: str) -> RpcObject:
    return {"name": name, "kind": "reference", "qualified_name": None}


def _lexical(repository: Repository, query: str) -> list[RpcObject]:
    word = re.compile(re.escape(query.encode()), re.IGNORECASE)
    hits: list[RpcObject] = []
    for path in repository.files():
        data = repository.data(path)
        seen = 0
        for found in word.finditer(data):
            line, _, text = _line_at(data, found.start())
            if line != seen:
                hits.append(_hit("lexical", path, (line, 0, line, 0), "text", _preview(text), None))
            seen = line
    return hits


def _line_at(data: bytes, spot: int) -> tuple[int, int, str]:
    start = data.rfind(b"\n", 0, spot) + 1
    end = data.find(b"\n", spot)
    text = data[start : end if end >= 0 else len(data)]
    return data.count(b"\n", 0, start) + 1, spot - start, text.decode("utf-8", "replace")


def _preview(text: str) -> str:
    line = text.strip()
    return line if len(line) <= _LONGEST_PREVIEW else line[: _LONGEST_PREVIEW - 1] + "…"
