"""Real servers with and without the wrapper, through the official client. Not part of the default run.

npm install --prefix DIR @modelcontextprotocol/server-everything @modelcontextprotocol/server-filesystem …
python -m venv VENV && VENV/bin/pip install mcp-server-git mcp-server-sqlite mcp-server-time
BRIM_TEST_NPM=DIR BRIM_TEST_BIN=VENV/bin pytest tests/mcp/real_servers.py
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import types
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

NPM = Path(os.environ.get("BRIM_TEST_NPM", "node_modules/.."))
BIN = Path(os.environ.get("BRIM_TEST_BIN", Path(sys.executable).parent))
WRAP = [sys.executable, "-m", "brim.cli.mcp", "wrap"]
Calls = list[tuple[str, dict[str, Any]]]
pytestmark = pytest.mark.filterwarnings("ignore")


def node(name: str) -> list[str]:
    path = NPM / "node_modules" / "@modelcontextprotocol" / name / "dist" / "index.js"
    if not path.exists():
        pytest.skip(f"{path} is not installed")
    return ["node", str(path)]


def binary(name: str) -> list[str]:
    if not (BIN / name).exists():
        pytest.skip(f"{BIN / name} is not installed")
    return [str(BIN / name)]


def repository(folder: Path) -> Path:
    """A repository that is the same, to the byte, whenever it is made."""
    root = folder / "repo"
    root.mkdir()
    git = ["git", "-C", str(root)]
    dates = {"GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}
    subprocess.run(["git", "init", "-q", "-b", "main", str(root)], check=True)
    subprocess.run([*git, "config", "user.name", "t"], check=True)
    subprocess.run([*git, "config", "user.email", "t@example.com"], check=True)
    for i in range(30):
        (root / f"file{i}.py").write_text("\n".join(f"def f{i}_{k}(x):\n    return x + {k}\n" for k in range(40)))
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-qm", f"Add file {i}"], check=True, env={**os.environ, **dates})
    (root / "file3.py").write_text("changed = True\n")
    return root


def git_case(folder: Path) -> tuple[list[str], Calls]:
    root = str(repository(folder))
    at = {"repo_path": root}
    calls: Calls = [
        ("git_status", at),
        ("git_diff_unstaged", at),
        ("git_log", {**at, "max_count": 30}),
        ("git_show", {**at, "revision": "HEAD"}),
        ("git_diff", {**at, "target": "HEAD~5"}),
        ("git_branch", {**at, "branch_type": "local"}),
        ("git_show", {**at, "revision": "nonsense"}),
        ("git_add", {**at, "files": ["file3.py"]}),
        ("git_diff_staged", at),
        ("git_reset", at),
        ("git_create_branch", {**at, "branch_name": "side"}),
        ("git_checkout", {**at, "branch_name": "side"}),
        ("git_add", {**at, "files": ["file3.py"]}),
        ("git_commit", {**at, "message": "Change a file"}),
    ]
    return [*binary("mcp-server-git"), "--repository", root], calls


def filesystem_case(folder: Path) -> tuple[list[str], Calls]:
    root = repository(folder)
    (root / "long.txt").write_text("\n".join(f"entry {i}: value {i * 7 % 1000}" for i in range(20_000)))
    path = str(root / "file5.py")
    calls: Calls = [
        ("read_text_file", {"path": path}),
        ("read_text_file", {"path": str(root / "long.txt")}),
        ("read_multiple_files", {"paths": [path, str(root / "file6.py")]}),
        ("list_directory", {"path": str(root)}),
        ("directory_tree", {"path": str(root), "excludePatterns": [".git"]}),
        ("search_files", {"path": str(root), "pattern": "**/*.py"}),
        ("get_file_info", {"path": path}),
        ("list_allowed_directories", {}),
        ("read_text_file", {"path": "/etc/passwd"}),
        ("read_file", {"path": path, "head": 3}),
        ("read_media_file", {"path": path}),
        ("write_file", {"path": str(root / "new.txt"), "content": "first\nsecond\n"}),
        ("edit_file", {"path": str(root / "new.txt"), "edits": [{"oldText": "first", "newText": "1st"}]}),
        ("create_directory", {"path": str(root / "below")}),
        ("move_file", {"source": str(root / "new.txt"), "destination": str(root / "below" / "new.txt")}),
        ("list_directory_with_sizes", {"path": str(root), "sortBy": "size"}),
    ]
    return [*node("server-filesystem"), str(root)], calls


def memory_case(folder: Path) -> tuple[list[str], Calls]:
    entities = [{"name": f"n{i}", "entityType": "person", "observations": [f"likes {i}"]} for i in range(200)]
    knows = {"from": "n1", "to": "n2", "relationType": "knows"}
    calls: Calls = [
        ("create_entities", {"entities": entities}),
        ("read_graph", {}),
        ("search_nodes", {"query": "likes 7"}),
        ("open_nodes", {"names": ["n3"]}),
        ("create_relations", {"relations": [knows]}),
        ("add_observations", {"observations": [{"entityName": "n3", "contents": ["likes tea"]}]}),
        ("delete_observations", {"deletions": [{"entityName": "n3", "observations": ["likes tea"]}]}),
        ("delete_relations", {"relations": [knows]}),
        ("delete_entities", {"entityNames": ["n3"]}),
    ]
    env = ["env", f"MEMORY_FILE_PATH={folder / 'memory.json'}"]
    return [*env, *node("server-memory")], calls


def sqlite_case(folder: Path) -> tuple[list[str], Calls]:
    numbers = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) SELECT i, i * i AS sq FROM n"
    )
    calls: Calls = [
        ("create_table", {"query": "CREATE TABLE t (a INTEGER, b TEXT)"}),
        ("write_query", {"query": "INSERT INTO t VALUES (1, 'x')"}),
        ("read_query", {"query": numbers}),
        ("list_tables", {}),
        ("describe_table", {"table_name": "t"}),
        ("append_insight", {"insight": "squares grow"}),
    ]
    return [*binary("mcp-server-sqlite"), "--db-path", str(folder / "db.sqlite")], calls


def everything_case(folder: Path) -> tuple[list[str], Calls]:
    calls: Calls = [
        ("echo", {"message": "hello"}),
        ("get-sum", {"a": 2, "b": 40}),
        ("get-tiny-image", {}),
        ("get-annotated-message", {"messageType": "error", "includeImage": True}),
        ("get-resource-links", {"count": 4}),
        ("get-resource-reference", {"resourceType": "Text", "resourceId": 2}),
        ("get-structured-content", {"location": "Chicago"}),
        ("trigger-long-running-operation", {"duration": 0.3, "steps": 3}),
        ("trigger-sampling-request", {"prompt": "say it", "maxTokens": 20}),
        ("trigger-elicitation-request", {}),
        ("get-roots-list", {}),
        ("get-env", {}),
        ("gzip-file-as-resource", {"name": "a.gz", "data": "data:text/plain,hello", "outputType": "resourceLink"}),
        ("toggle-simulated-logging", {}),
        ("toggle-simulated-logging", {}),
        ("toggle-subscriber-updates", {}),
        ("toggle-subscriber-updates", {}),
        ("trigger-url-elicitation", {"url": "https://example.com/open", "elicitationId": "e1"}),
        ("simulate-research-query", {"topic": "tides"}),
        ("no-such-tool", {}),
    ]
    return node("server-everything"), calls


def time_case(folder: Path) -> tuple[list[str], Calls]:
    at = {"source_timezone": "Europe/Berlin", "time": "16:30", "target_timezone": "Asia/Tokyo"}
    calls: Calls = [("get_current_time", {"timezone": "Mars/Base"}), ("convert_time", at)]
    return binary("mcp-server-time"), calls


CASES: dict[str, Callable[[Path], tuple[list[str], Calls]]] = {
    "git": git_case,
    "filesystem": filesystem_case,
    "memory": memory_case,
    "sqlite": sqlite_case,
    "time": time_case,
    "everything": everything_case,
}


async def sample(context: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
    said = types.TextContent(type="text", text=f"sampled {params.max_tokens}")
    return types.CreateMessageResult(role="assistant", content=said, model="test", stop_reason="endTurn")


async def elicit(context: Any, params: Any) -> types.ElicitResult:
    if isinstance(params, types.ElicitRequestURLParams):
        return types.ElicitResult(action="decline")
    return types.ElicitResult(action="accept", content={"name": "Ada", "check": True})


async def roots(context: Any) -> types.ListRootsResult:
    return types.ListRootsResult(roots=[types.Root(uri="file:///work", name="work")])


async def _said(work: Any) -> Any:
    try:
        result = await work
    except MCPError as error:
        return {"error": error.error.code, "message": error.error.message}
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


async def observe(command: list[str], calls: Calls, *, features: bool) -> dict[str, Any]:
    """All that a client sees of a server."""
    seen: dict[str, Any] = {"progress": [], "logged": False}

    async def progress(done: float, total: float | None, message: str | None) -> None:
        seen["progress"].append((done, total))

    async def logged(params: types.LoggingMessageNotificationParams) -> None:
        seen["logged"] = True

    client = Client(
        StdioServerParameters(command=command[0], args=command[1:]),
        sampling_callback=sample,
        elicitation_callback=elicit,
        list_roots_callback=roots,
        logging_callback=logged,
    )
    async with client as c:
        await asyncio.sleep(0.4)  # servers that ask for roots, or add tools for what the client can do
        seen["version"] = c.protocol_version
        seen["tools"] = await _said(c.list_tools())
        for place, (name, arguments) in enumerate(calls):
            seen[f"call {place} {name}"] = await _said(c.call_tool(name, arguments, progress_callback=progress))
        if features:
            await _features(c, seen)
    return seen


async def _features(c: Client, seen: dict[str, Any]) -> None:
    seen["resources"] = await _said(c.list_resources())
    seen["templates"] = await _said(c.list_resource_templates())
    seen["prompts"] = await _said(c.list_prompts())
    for resource in seen["resources"].get("resources", [])[:4]:
        seen[f"read {resource['uri']}"] = await _said(c.read_resource(resource["uri"]))
    seen["missing"] = await _said(c.read_resource("demo://nowhere/1"))
    seen["prompt"] = await _said(c.get_prompt("args-prompt", {"city": "Paris", "state": "x"}))
    ref = types.PromptReference(type="ref/prompt", name="completable-prompt")
    seen["complete"] = await _said(c.complete(ref, {"name": "department", "value": "E"}))
    seen["level"] = await _said(c.set_logging_level("debug"))
    seen["ping"] = await _said(c.send_ping())
    for resource in seen["resources"].get("resources", [])[:1]:
        seen["subscribe"] = await _said(c.subscribe_resource(resource["uri"]))


def plain(seen: dict[str, Any]) -> dict[str, Any]:
    """Without what differs from run to run: times, new commits, and the tool list, which has a rule of its own."""
    text = json.dumps({key: value for key, value in seen.items() if key != "tools"})
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)|\d{1,2}:\d\d:\d\d [AP]M|GMT[^\"]*", "TIME", text)
    text = text.replace(r",\n  \"LC_CTYPE\": \"C.UTF-8\"", "")  # Python sets it where there is no locale (PEP 538)
    text = re.sub(r"(with hash |session )[0-9a-f-]{36,40}", r"\1ID", text)
    found: dict[str, Any] = json.loads(text)
    return found


def run(work: Any) -> Any:
    return asyncio.run(asyncio.wait_for(work, 120))


def seen_by(name: str, folder: Path, *before: str) -> tuple[dict[str, Any], Calls]:
    """What a client sees of a server, in a folder that is made anew for it at the same place."""
    shutil.rmtree(folder / "case", ignore_errors=True)
    (folder / "case").mkdir()
    command, calls = CASES[name](folder / "case")
    return run(observe([*before, *command], calls, features=name == "everything")), calls


@pytest.mark.parametrize("name", CASES)
def test_results_are_the_same_when_nothing_is_compacted(name: str, tmp_path: Path) -> None:
    direct, calls = seen_by(name, tmp_path)
    uncalled = {tool["name"] for tool in direct["tools"]["tools"]} - {tool for tool, _ in calls}
    assert not uncalled
    for flags in (["--no-compact"], ["--no-compact", "--no-shrink", "--grouping", "off", "--no-repeat"]):
        wrapped, _ = seen_by(name, tmp_path, *WRAP, *flags, "--")
        assert plain(wrapped) == plain(direct)
    assert wrapped["tools"] == direct["tools"]
    small, _ = seen_by(name, tmp_path, *WRAP, "--")
    for key, value in plain(direct).items():
        if len(json.dumps(value)) < 2_000 and "structuredContent" not in json.dumps(value):
            assert plain(small)[key] == value


@pytest.mark.parametrize("name", CASES)
def test_every_call_is_valid_when_results_are_cut_hard(name: str, tmp_path: Path) -> None:
    seen, _ = seen_by(name, tmp_path, *WRAP, "--level", "minimal", "--budget", "120", "--")
    tools = {tool["name"]: tool for tool in seen["tools"]["tools"]}
    assert "brim_recall" in tools
    for key, value in seen.items():
        if key.startswith("call ") and "error" not in value:
            assert isinstance(value["content"], list), key
            assert "outputSchema" not in tools.get(key.split(" ", 2)[2], {})


def task_result(command: list[str]) -> dict[str, Any]:
    """The result of a call that the server takes as a task, asked for line by line: the client knows no tasks."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
    assert process.stdin is not None
    assert process.stdout is not None

    def ask(id: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
        body = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        process.stdin.write(json.dumps(body) + "\n")  # type: ignore[union-attr]
        process.stdin.flush()  # type: ignore[union-attr]
        for line in process.stdout or ():
            message = json.loads(line)
            if message.get("id") == id and "method" not in message:
                found: dict[str, Any] = message["result"]
                return found
        raise AssertionError("the server has ended")

    info = {"name": "t", "version": "1"}
    ask(1, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info})
    process.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    params = {"name": "simulate-research-query", "arguments": {"topic": "tides"}, "task": {"ttl": 60_000}}
    task = ask(2, "tools/call", params)["task"]
    result = ask(3, "tasks/result", {"taskId": task["taskId"]})
    process.stdin.close()
    process.terminate()
    process.wait(20)
    process.stdout.close()
    return result


def test_the_result_of_a_task_is_the_same_and_valid_when_it_is_cut() -> None:
    command = node("server-everything")
    direct = task_result(command)
    wrapped = task_result([*WRAP, "--no-compact", "--", *command])
    assert wrapped["content"] == direct["content"]
    cut = task_result([*WRAP, "--level", "minimal", "--budget", "60", "--", *command])
    assert cut["_meta"]["dev.brim/result"]["tokens"] <= 60 < cut["_meta"]["dev.brim/result"]["of"]
    assert set(direct["_meta"]) <= set(cut["_meta"])
