"""Measure the MCP wrapper, its tool lists and the document search.

    python bench/mcp.py --data DIR [--repo DIR] [--only schemas,search,session,runs,latency,docs]

DIR holds `mcp_tool_schemas.jsonl` and `livemcp_sonnet4.jsonl` (LiveMCPBench, Apache-2.0,
https://github.com/icip-cas/LiveMCPBench). What needs them is skipped when they are not there.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from brim.docsearch import search as search_docs
from brim.errors import NotDecodable
from brim.ladders import decode
from brim.mcp.audit import measure
from brim.mcp.child import Log
from brim.mcp.compacting import count_tokens
from brim.mcp.jsonrpc import Message, dump
from brim.mcp.options import Options
from brim.mcp.stash import MemoryStash
from brim.mcp.toolindex import ToolIndex
from brim.mcp.tooling import Tools
from brim.mcp.toollist import ToolList, tokens_of
from brim.mcp.wrapper import Wrapper

Row = tuple[str, str, str]
Step = tuple[str, dict[str, Any], str]


def load(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


# Tool lists


def schemas(data: Path) -> Iterator[Row]:
    rows = load(data / "mcp_tool_schemas.jsonl")
    by_owner: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_owner.setdefault(row["server"], []).append({k: v for k, v in row.items() if k != "server" and v is not None})
    tools = ToolList(Options(), count_tokens)
    tools.fill(list(by_owner.items()), prefixed=True)
    report = measure(tools)
    yield f"{len(report.tools)} tool schemas, tokens", f"{report.tokens:,}", ""
    yield "shrunk, saved", f"{1 - report.shrunk / report.tokens:.1%}", ">= 25%"
    uncut = ToolList(Options(description_tokens=1_000_000), count_tokens)
    uncut.fill(list(by_owner.items()), prefixed=True)
    whole = measure(uncut)
    yield "  of it without cutting descriptions", f"{1 - whole.shrunk / whole.tokens:.1%}", ""
    yield "behind meta-tools, of the tokens", f"{report.grouped / report.tokens:.1%}", "<= 5%"
    virtual = ToolList(Options(grouping="virtual"), count_tokens)
    virtual.fill(list(by_owner.items()), prefixed=True)
    shown = sum(tokens_of(tool, count_tokens) for tool in virtual.shown(virtual=True, recall=False))
    yield "as virtual tools, all closed", f"{shown / report.tokens:.1%}", "<= 5%"


def tool_search(data: Path) -> Iterator[Row]:
    """The right tool among the first five, for what the agent itself searched for and for what it then did."""
    rows = load(data / "mcp_tool_schemas.jsonl")
    keys = [(row["server"], row["name"]) for row in rows]
    index = ToolIndex(rows, [row["server"] for row in rows])
    by_owner: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_owner.setdefault(row["server"], []).append(row)
    tools = ToolList(Options(), count_tokens)
    tools.fill(list(by_owner.items()), prefixed=True)

    def found(query: str) -> list[tuple[str, str]]:
        return [keys[place] for place in index.search(query, 5)]

    def mentioned(query: str) -> frozenset[str]:
        text = tools.find(query, 5)
        sizes.append(count_tokens(text))
        return frozenset(re.findall(r"[\w.-]+", text))

    total = last = ever = named = listed = 0
    sizes: list[int] = []
    for run in load(data / "livemcp_sonnet4.jsonl"):
        hits: list[list[tuple[str, str]]] = []
        names: list[frozenset[str]] = []
        for message in run["messages"]:
            for call in message.get("tool_calls") or []:
                given = json.loads(call["function"]["arguments"])
                if call["function"]["name"] == "route":
                    hits.append(found(given["query"]))
                    names.append(mentioned(given["query"]))
                    continue
                key = (given["server_name"], given["tool_name"])
                total += 1
                last += bool(hits) and key in hits[-1]
                ever += any(key in one for one in hits)
                listed += any(f"{key[0]}__{key[1]}" in one for one in names)
                # The list names every tool, so a model that knows what it wants asks by server and name.
                words = key[1].replace("_", " ").replace("-", " ")
                named += key in found(f"{words} {key[0]}")
    yield f"right tool in first 5, {total} calls, query by its name's words", f"{named / total:.1%}", ">= 90%"
    yield "  by any of the agent's own vague queries so far", f"{ever / total:.1%}", ">= 90%"
    yield "  by the agent's last query alone", f"{last / total:.1%}", ""
    yield "  named in the answer to one of its own queries", f"{listed / total:.1%}", ""
    yield "  tokens of such an answer, median", f"{statistics.median(sizes):.0f}", ""


# Sessions


class Replay:
    """An upstream that answers each call with a recorded text."""

    def __init__(self, steps: list[Step]) -> None:
        self.name = ""
        self.alive = True
        self._texts = [text for _, _, text in steps]
        self._next = 0
        self._events: Any = None

    async def start(self, events: Any) -> None:
        self._events = events

    def send(self, line: bytes, message: Message | None = None) -> None:
        body = json.loads(line)
        if body.get("method") == "initialize":
            result: Any = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {}}
        elif body.get("method") == "tools/call":
            result = {"content": [{"type": "text", "text": self._texts[self._next]}]}
            self._next += 1
        else:
            result = {"tools": []}
        self._events.from_server(self, dump({"jsonrpc": "2.0", "id": body["id"], "result": result}))

    def may_restart(self) -> bool:
        return False

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def finish_input(self) -> None: ...

    async def stop(self) -> None: ...

    def kill(self) -> None: ...


async def wrapped(steps: list[Step], options: Options) -> tuple[list[str], MemoryStash]:
    """The texts that the model sees when the steps go through a wrapper."""
    answers: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    stash = MemoryStash()
    upstream = Replay(steps)
    wrapper = Wrapper([upstream], options, lambda line: answers.put_nowait(json.loads(line)), log=Log(), stash=stash)
    await wrapper.start()
    wrapper.from_client(dump({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}))
    await answers.get()
    texts = []
    for number, (tool, arguments, _) in enumerate(steps, 1):
        params = {"name": tool, "arguments": arguments}
        wrapper.from_client(dump({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}))
        result = (await answers.get())["result"]
        texts.append("\n".join(block.get("text") or block.get("uri", "") for block in result["content"]))
    return texts, stash


def kept(steps: list[Step], texts: list[str], stash: MemoryStash) -> tuple[int, int, int]:
    """Values of later calls that stood in an earlier raw result: all, seen now, seen or one recall away."""
    total = seen = reachable = 0
    for place, (_, arguments, _) in enumerate(steps):
        for value in literals(arguments):
            holders = [i for i in range(place) if value in steps[i][2]]
            if not holders:
                continue
            total += 1
            if any(value in texts[i] for i in holders):
                seen += 1
                reachable += 1
            elif any(_recalled(texts[i], value, stash) for i in holders):
                reachable += 1
    return total, seen, reachable


def _recalled(text: str, value: str, stash: MemoryStash) -> bool:
    if value in _decoded(text):
        return True  # a lossless form may write a value as a template
    at = text.find("brim:")
    while at >= 0:
        handle = text[at : at + 37]
        try:
            if value in stash.get(handle):
                return True
        except LookupError:
            pass  # a word that only looks like a handle
        at = text.find("brim:", at + 5)
    return False


def _decoded(text: str) -> str:
    try:
        value = decode(text) if text.startswith("#brim ") else ""
    except NotDecodable:
        return ""  # an extract
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def literals(arguments: Any) -> list[str]:
    if isinstance(arguments, dict):
        return [value for item in arguments.values() for value in literals(item)]
    if isinstance(arguments, list):
        return [value for item in arguments for value in literals(item)]
    text = str(arguments)
    return [text] if isinstance(arguments, str) and 4 <= len(text) <= 200 and "\n" not in text else []


def code_session(root: Path) -> list[Step]:
    """46 calls of a coding session: maps, searches, reads and diffs, each led to by what came before."""
    tools = Tools(root, root, root)
    steps: list[Step] = []

    def add(tool: str, arguments: dict[str, Any], value: Any) -> Any:
        text = value if isinstance(value, str) else json.dumps(value, indent=2)
        steps.append((tool, arguments, text))
        return value

    def hits(query: str, mode: Any, limit: int = 20) -> list[dict[str, Any]]:
        found = add("search", {"query": query, "mode": mode}, tools.search(query, mode, limit, "full"))
        results: list[dict[str, Any]] = found["results"]
        return results

    def read(path: str) -> None:
        add("read_source", {"path": path}, (root / path).read_text(encoding="utf-8", errors="replace"))

    whole = add("map_repo", {}, tools.map_repo("", "full"))
    folder = max((c for c in whole["tree"]["children"] if c["is_dir"]), key=lambda c: c["file_count"])["path"]
    add("map_repo", {"path": folder}, tools.map_repo(folder, "full"))
    add("semantic_diff", {"base": "HEAD~3", "target": "HEAD"}, tools.semantic_diff("HEAD~3", "HEAD", "full"))
    add("semantic_diff", {"base": "HEAD~1", "target": "HEAD"}, tools.semantic_diff("HEAD~1", "HEAD", "full"))
    names = most_used(tools, folder)
    for name in names[:6]:
        found = hits(name, "definitions")
        read(found[0]["path"])
        used = hits(name, "references", 40)
        if used:
            read(used[-1]["path"])
    for name in names[6:]:
        add("search_def_and_refs", {"symbol": name}, tools.search_def_and_refs(name, 30, "full"))
        hits(name, "lexical", 30)
    for back in range(1, 12):
        diff = subprocess.run(
            ["git", "-C", str(root), "diff", f"HEAD~{back}", f"HEAD~{back - 1}"], capture_output=True, check=True
        )
        add("git_diff", {"commit": f"HEAD~{back}"}, diff.stdout.decode("utf-8", "replace"))
    return steps[:46]


def most_used(tools: Tools, folder: str) -> list[str]:
    counts: dict[str, int] = {}
    repository = tools.repository
    for path in repository.files():
        if path.startswith(folder + "/"):
            for symbol in repository.symbols(path):
                if len(symbol.name) > 4 and not symbol.name.startswith("_"):
                    counts[symbol.name] = counts.get(symbol.name, 0) + 1
    alone = [name for name, times in counts.items() if times == 1]
    return sorted(alone, key=lambda name: (-len(name), name))[:60:5]


def session(root: Path) -> Iterator[Row]:
    steps = code_session(root)
    texts, stash = asyncio.run(wrapped(steps, Options()))
    raw = sum(count_tokens(text) for _, _, text in steps)
    sent = sum(count_tokens(text) for text in texts)
    total, seen, reachable = kept(steps, texts, stash)
    yield f"{len(steps)}-call session of map, search, read and diff, tokens", f"{raw:,} -> {sent:,}", ""
    yield "  saved", f"{1 - sent / raw:.1%}", ">= 50%"
    yield f"  {total} values of later calls: still there", f"{seen / max(total, 1):.1%}", ""
    yield "  still there or one recall away", f"{reachable / max(total, 1):.1%}", "100%"
    for level in ("standard", "compact", "minimal"):
        texts, stash = asyncio.run(wrapped(steps, Options(level=level)))
        sent = sum(count_tokens(text) for text in texts)
        yield f"  saved at level {level} throughout", f"{1 - sent / raw:.1%}", ""


def runs(data: Path) -> Iterator[Row]:
    """Real agent runs against real servers, their results through the wrapper."""
    raw = sent = total = seen = reachable = 0
    for run in load(data / "livemcp_sonnet4.jsonl"):
        asked: dict[str, tuple[str, dict[str, Any]]] = {}
        steps: list[Step] = []
        for message in run["messages"]:
            for call in message.get("tool_calls") or []:
                asked[call["id"]] = (call["function"]["name"], json.loads(call["function"]["arguments"]))
            if message["role"] == "tool" and message.get("tool_call_id") in asked:
                name, arguments = asked[message["tool_call_id"]]
                steps.append((name, arguments, str(message["content"])))
        texts, stash = asyncio.run(wrapped(steps, Options()))
        raw += sum(count_tokens(text) for _, _, text in steps)
        sent += sum(count_tokens(text) for text in texts)
        counts = kept(steps, texts, stash)
        total, seen, reachable = total + counts[0], seen + counts[1], reachable + counts[2]
        stash.close()
    yield "LiveMCP runs, tokens of results", f"{raw:,} -> {sent:,} ({1 - sent / raw:.1%} saved)", ""
    yield f"  {total} values of later calls: still there", f"{seen / max(total, 1):.1%}", ""
    yield "  still there or one recall away", f"{reachable / max(total, 1):.1%}", ""


# Latency

_ECHO = """
import json, sys
texts = {}
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    if m["method"] == "initialize":
        info = {"name": "e", "version": "1"}
        r = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    elif m["method"] == "tools/list":
        r = {"tools": [{"name": "text", "inputSchema": {"type": "object"}}]}
    else:
        n = m["params"]["arguments"]["n"]
        if n not in texts:
            texts[n] = "\\n".join("line %d of a log, value %d" % (i, i * 37 % 1000) for i in range(n // 25))[:n]
        r = {"content": [{"type": "text", "text": texts[n]}]}
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}) + "\\n")
    sys.stdout.flush()
"""


class Pipe:
    """A server process that is asked one thing at a time."""

    def __init__(self, command: list[str]) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, bufsize=1 << 20)
        self._id = 0

    def ask(self, method: str, params: dict[str, Any]) -> float:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._id += 1
        body = dump({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        began = time.perf_counter()
        self._process.stdin.write(body + b"\n")
        self._process.stdin.flush()
        self._process.stdout.readline()
        return time.perf_counter() - began

    def close(self) -> None:
        self._process.communicate()


def latency() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        server = Path(folder) / "server.py"
        server.write_text(_ECHO)
        direct = [sys.executable, str(server)]
        wrap = [sys.executable, "-m", "brim.cli.mcp", "wrap"]
        off = ["--no-compact", "--no-shrink", "--grouping", "off", "--no-repeat"]
        commands = {"direct": direct, "off": [*wrap, *off, "--", *direct], "on": [*wrap, "--", *direct]}
        pipes: dict[str, Pipe] = {}
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}}
        starts: dict[str, float] = {}
        for name, command in commands.items():
            began = time.perf_counter()
            pipes[name] = Pipe(command)
            pipes[name].ask("initialize", hello)
            starts[name] = time.perf_counter() - began
            pipes[name].ask("tools/list", {})
        yield "added at start", f"{starts['on'] - starts['direct']:.2f} s", ""
        for size, rounds, bar in ((1_000, 300, "<= 2 ms"), (1_000_000, 30, "<= 10 ms")):
            times: dict[str, list[float]] = {name: [] for name in pipes}
            for _ in range(rounds):
                for name, one in pipes.items():
                    times[name].append(one.ask("tools/call", {"name": "text", "arguments": {"n": size}}))
            base = statistics.median(times["direct"])
            for name, said in (("off", "passed on"), ("on", "compacted where it must")):
                added = (statistics.median(times[name]) - base) * 1e3
                yield f"added p50, {size:,} bytes, {said}", f"{added:.2f} ms", bar
        for one in pipes.values():
            one.close()


# Documents


def documents() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for i in range(1_000):
            path = root / f"area{i % 20}" / f"feature-{i}.md"
            path.parent.mkdir(exist_ok=True)
            body = " ".join(f"word{(i * k) % 500}" for k in range(400))
            path.write_text(f"# Feature {i}\n\n{body}\n\n## Notes\n\nThe chat history of area {i % 20}.\n")
        for rank in ("keywords", "bm25"):
            cold = _timed(lambda rank=rank: search_docs(root, ["chat", "word17"], rank=rank))
            warm = min(_timed(lambda rank=rank: search_docs(root, ["history", "word33"], rank=rank)) for _ in range(9))
            yield (
                f"document search, 1,000 files, {rank}: warm (cold)",
                f"{warm * 1e3:.0f} ({cold * 1e3:.0f}) ms",
                "<= 50 ms",
            )


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--repo", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--only", default="schemas,search,session,runs,latency,docs")
    args = parser.parse_args()
    parts: dict[str, Callable[[], Iterator[Row]]] = {
        "schemas": lambda: schemas(args.data),
        "search": lambda: tool_search(args.data),
        "session": lambda: session(args.repo),
        "runs": lambda: runs(args.data),
        "latency": latency,
        "docs": documents,
    }
    for name in args.only.split(","):
        try:
            for metric, value, bar in parts[name]():
                print(f"{metric:<66} {value:>28}  {bar}", flush=True)
        except FileNotFoundError as error:
            print(f"{name}: {error.filename} is not there; it is published with LiveMCPBench")
    return 0


if __name__ == "__main__":
    sys.exit(main())
