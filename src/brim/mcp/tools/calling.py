"""MCP tools on the command line: list them, describe them, call one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from brim.docsearch.tool_index import ToolIndex
from brim.errors import BadInput, NotFound
from brim.mcp.options import WrapperOptions
from brim.mcp.transport.asking import WAIT, AskServer, asking
from brim.mcp.transport.child_process import ChildLog
from brim.mcp.transport.json_rpc import RpcObject
from brim.mcp.transport.upstream import Upstream
from brim.stores.resilient import is_address, open_store

# Results are read unchanged here; the command line shortens them itself.
PLAIN = replace(WrapperOptions(), compact=False, shrink=False, grouping="off", repeat_seconds=0.0)
# The most pages to read from a server; the largest known list has some thousand tools, at least 50 a page.
PAGES = 100
# About a screenful.
LISTED = 10
# Characters of a description in a list; `brim mcp tools SERVER TOOL` shows all of it.
LINE = 100


async def tools(upstreams: Sequence[Upstream], log: ChildLog) -> list[RpcObject]:
    """The tools of the servers, with their own descriptions."""
    async with asking(upstreams, PLAIN, log) as (_, ask):
        return await _listed(ask)


async def _listed(ask: AskServer) -> list[RpcObject]:
    """All pages of a server's list."""
    found: list[RpcObject] = []
    page: RpcObject = {}
    for _ in range(PAGES):
        told = await ask("tools/list", page)
        found += [tool for tool in told.get("tools") or () if isinstance(tool, dict) and "name" in tool]
        if not told.get("nextCursor"):
            break
        page = {"cursor": told["nextCursor"]}
    return found


async def call(
    upstreams: Sequence[Upstream], name: str, words: Sequence[str], log: ChildLog, wait: float = 0.0
) -> RpcObject:
    """Call a tool. Raises NotFound if it doesn't exist, and BadInput for arguments it doesn't accept."""
    async with asking(upstreams, PLAIN, log, wait=wait or 10 * WAIT) as (_, ask):
        known = {tool["name"]: tool for tool in await _listed(ask)}
        if name not in known:
            raise NotFound(f"there is no tool {name!r}: the server has {', '.join(sorted(known)) or 'none'}")
        return await ask("tools/call", {"name": name, "arguments": arguments(name, known[name], words)})


def described(known: Sequence[RpcObject], query: str) -> str:
    """The tools that match a query, a line each; the full description if the query is a tool's name."""
    named = [tool for tool in known if tool["name"] == query]
    if named:
        return _whole(named[0])
    found = [known[place] for place in ToolIndex(known).search(query, LISTED)] if query else known
    if not found:
        return f"no tool is about {query!r}: without a query all {len(known)} are listed\n"
    return "".join(f"{_signature(tool)}  {_first_line(tool)}\n" for tool in found)


def _signature(tool: RpcObject) -> str:
    """Example: read_file(path, head?)"""
    properties, required = _schema(tool)
    return f"{tool['name']}({', '.join(name if name in required else name + '?' for name in properties)})"


def _first_line(tool: RpcObject) -> str:
    line = " ".join(str(tool.get("description") or "").split("\n", 1)[0].split())
    return line if len(line) <= LINE else line[: LINE - 1] + "…"


def _whole(tool: RpcObject) -> str:
    properties, required = _schema(tool)
    lines = [_signature(tool), str(tool.get("description") or "").strip()]
    for name, kind in properties.items():
        needed = ", needed" if name in required else ""
        about = " ".join(str(kind.get("description") or "").split())
        lines.append(f"  --{name} {kind.get('type') or 'value'}{needed}  {about}".rstrip())
    return "\n".join(line for line in lines if line) + "\n"


def _schema(tool: RpcObject) -> tuple[dict[str, RpcObject], list[str]]:
    schema = tool.get("inputSchema")
    schema = schema if isinstance(schema, dict) else {}
    properties, required = schema.get("properties"), schema.get("required")
    kinds = properties if isinstance(properties, dict) else {}
    return {name: kind if isinstance(kind, dict) else {} for name, kind in kinds.items()}, list(required or ())


def arguments(name: str, tool: RpcObject, words: Sequence[str]) -> RpcObject:
    """A tool's arguments from command-line words, converted to the types in its schema.

    Example: ["--max_count", "5"] -> {"max_count": 5}; ['{"max_count": 5}'] -> the same
    """
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        value = _json(words[0], "arguments")
        if isinstance(value, dict):
            return value
    properties, required = _schema(tool)
    found: RpcObject = {}
    for flag, given in _flags(words):
        key = flag if flag in properties else flag.replace("-", "_")
        if properties and key not in properties:
            raise BadInput(f"--{flag}", f"is no argument of {name}: it takes {', '.join(properties)}")
        kind = properties.get(key, {}).get("type")
        if kind == "array" and given is not None and not given.lstrip().startswith("["):
            found.setdefault(key, []).append(given)  # said once for each
        else:
            found[key] = _value(given, kind, flag)
    missing = [key for key in required if key not in found]
    if missing:
        raise BadInput(f"--{missing[0]}", f"is needed by {name}: see `brim mcp tools SERVER {name}`")
    return found


def _flags(words: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Flags with their values; None for one that stands alone."""
    left = list(words)
    while left:
        word = left.pop(0)
        if not word.startswith("--") or word == "--":
            raise BadInput(word, "stands alone: write arguments as --name value")
        flag, mark, value = word[2:].partition("=")
        if mark:
            yield flag, value
        else:
            yield flag, left.pop(0) if left and not left[0].startswith("--") else None


def _value(given: str | None, kind: Any, flag: str) -> Any:
    if given is None:
        return True
    kinds = kind if isinstance(kind, list) else [kind]
    if "string" in kinds or kinds == [None]:
        return given
    return _json(given, f"--{flag}")


def _json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise BadInput(where, f"{text[:80]!r} is not JSON: numbers, true, false, lists and objects are") from None


def text_of(result: RpcObject) -> str:
    """A result's text; blocks of other kinds are named."""
    blocks = [block for block in result.get("content") or () if isinstance(block, dict)]
    if not blocks and "structuredContent" in result:
        return json.dumps(result["structuredContent"], ensure_ascii=False)
    return "\n".join(_block(block) for block in blocks)


def _block(block: RpcObject) -> str:
    if isinstance(block.get("text"), str):
        return str(block["text"])
    inner = block.get("resource")
    if isinstance(inner, dict) and isinstance(inner.get("text"), str):
        return str(inner["text"])
    told = [str(block[key]) for key in ("type", "mimeType", "uri") if key in block]
    size = f", {len(block['data']) * 3 // 4:,} bytes" if isinstance(block.get("data"), str) else ""
    return f"[{' '.join(told)}{size}]"


def archive(place: str, texts: Iterable[str]) -> None:
    """Archive results in the store, where `brim recall` finds them by handle."""
    if not is_address(place):
        Path(place).expanduser().parent.mkdir(parents=True, exist_ok=True)
    store = open_store(place)
    try:
        store.put_blobs([text.encode("utf-8", "surrogatepass") for text in texts])
    finally:
        store.close()
