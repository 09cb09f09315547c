"""Tool lists and the search over them."""

from __future__ import annotations

import hashlib
import json
import re
import statistics
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from brim.docsearch.tool_index import ToolIndex
from brim.mcp.options import WrapperOptions
from brim.mcp.results.compacting import count_tokens
from brim.mcp.tools.audit import measure
from brim.mcp.tools.tool_list import ToolList, tokens_of
from brim.relevance.terms import words
from mcp_parts.rows import Row, load

Asked = tuple[str, tuple[str, str], list[str]]


def schemas(data: Path) -> Iterator[Row]:
    rows = load(data / "mcp_tool_schemas.jsonl")
    by_owner: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_owner.setdefault(row["server"], []).append({k: v for k, v in row.items() if k != "server" and v is not None})
    tools = ToolList(WrapperOptions(), count_tokens)
    tools.fill(list(by_owner.items()), prefixed=True)
    report = measure(tools)
    yield f"{len(report.tools)} tool schemas, tokens", f"{report.tokens:,}", ""
    yield "shrunk, saved", f"{1 - report.shrunk / report.tokens:.1%}", ">= 25%"
    uncut = ToolList(WrapperOptions(description_tokens=1_000_000), count_tokens)
    uncut.fill(list(by_owner.items()), prefixed=True)
    whole = measure(uncut)
    yield "  of it without cutting descriptions", f"{1 - whole.shrunk / whole.tokens:.1%}", ""
    yield "behind meta-tools, of the tokens", f"{report.grouped / report.tokens:.1%}", "<= 5%"
    virtual = ToolList(WrapperOptions(grouping="virtual"), count_tokens)
    virtual.fill(list(by_owner.items()), prefixed=True)
    shown = sum(tokens_of(tool, count_tokens) for tool in virtual.shown(virtual=True, recall=False))
    yield "as virtual tools, all closed", f"{shown / report.tokens:.1%}", "<= 5%"


def tool_search(data: Path) -> Iterator[Row]:
    """The right tool among the first five: for a query by name, misspelt, and for what the agents searched for.

    The agents used another search, which showed three tools a query, and could only call what it had shown
    (95% of the calls). Their queries as a test of this search therefore ask how far it agrees with that one.
    """
    rows = load(data / "mcp_tool_schemas.jsonl")
    keys = [(row["server"], row["name"]) for row in rows]
    index = ToolIndex(rows, [row["server"] for row in rows])

    @cache
    def found(query: str) -> list[tuple[str, str]]:
        return [keys[place] for place in index.search(query, 5)]

    asked = calls_and_queries(data)
    total = len(asked)
    named = sum(key in found(f"{spoken(key[1])} {key[0]}") for _, key, _ in asked)
    yield f"right tool in first 5, {total} calls, query by its name's words", f"{named / total:.1%}", ">= 90%"
    for said, misspelt in (("a letter missing in each long word", dropped), ("the words run together", joined)):
        hits = sum(key in found(f"{misspelt(key[1])} {key[0]}") for key in keys)
        yield f"  {len(keys)} names with {said}", f"{hits / len(keys):.1%}", ""
    hit = [any(key in found(query) for query in queries) for _, key, queries in asked]
    last = sum(key in found(queries[-1]) for _, key, queries in asked if queries)
    yield "  by any of the agent's own queries so far", f"{sum(hit) / total:.1%}", ">= 90%"
    for half in (0, 1):
        part = [one for (run, _, _), one in zip(asked, hit, strict=True) if digest_half(run) == half]
        yield f"    half {half} of the runs, {len(part)} calls", f"{sum(part) / len(part):.1%}", ""
    yield "    by the agent's last query alone", f"{last / total:.1%}", ""
    for share, said in ((1, "all of"), (2, "half of")):
        clear = [
            one
            for (_, key, queries), one in zip(asked, hit, strict=True)
            if any(share * len(both) >= len(name) for name, both in overlaps(key[1], queries))
        ]
        yield f"    {len(clear)} calls for which a query has {said} the name's words", f"{mean(clear):.1%}", ""
    yield from mentions(rows, asked)


def calls_and_queries(data: Path) -> list[Asked]:
    """Each call of the recorded runs: its run, its tool, and what the agent had searched for before it."""
    listed: list[Asked] = []
    for run in load(data / "livemcp_sonnet4.jsonl"):
        queries: list[str] = []
        for message in run["messages"]:
            for call in message.get("tool_calls") or []:
                given = json.loads(call["function"]["arguments"])
                if call["function"]["name"] == "route":
                    queries.append(given["query"])
                else:
                    listed.append((run["id"], (given["server_name"], given["tool_name"]), list(queries)))
    return listed


def mentions(rows: list[dict[str, Any]], asked: list[Asked]) -> Iterator[Row]:
    """What the answer of the search names beyond the first five: the neighbours of what it found."""
    by_owner: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_owner.setdefault(row["server"], []).append(row)
    tools = ToolList(WrapperOptions(), count_tokens)
    tools.fill(list(by_owner.items()), prefixed=True)
    answer = cache(lambda query: tools.find(query, 5))
    told = cache(lambda query: frozenset(re.findall(r"[\w.-]+", answer(query))))
    listed = sum(any(f"{key[0]}__{key[1]}" in told(query) for query in queries) for _, key, queries in asked)
    sizes = [count_tokens(answer(query)) for query in sorted({query for _, _, queries in asked for query in queries})]
    yield "  named in the answer to one of its own queries", f"{listed / len(asked):.1%}", ">= 90%"
    yield "    tokens of such an answer, median", f"{statistics.median(sizes):.0f}", ""


def spoken(name: str) -> str:
    return name.replace("_", " ").replace("-", " ")


def dropped(name: str) -> str:
    """Example: "read_directory" -> "read diectory" (a letter of each long word, chosen by its length)"""
    parts = [part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+", name)]
    return " ".join(part[: len(part) // 3] + part[len(part) // 3 + 1 :] if len(part) > 4 else part for part in parts)


def joined(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).lower()


def overlaps(name: str, queries: list[str]) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    own = frozenset(words(name))
    for query in queries:
        yield own, own & frozenset(words(query))


def digest_half(text: str) -> int:
    return hashlib.sha256(text.encode()).digest()[0] % 2


def mean(values: list[bool]) -> float:
    return sum(values) / max(len(values), 1)
