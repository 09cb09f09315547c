"""A small MCP server over stdio that does what it is told, faults included. Standard library only.

Run as a script: `python fake_server.py [--tools N] [--slow SECONDS] [--no-resources]`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

READ_ONLY = {"readOnlyHint": True}
OBJECT = {"type": "object"}
state: dict[str, Any] = {"calls": 0, "extra": False}


def argument(name: str, default: float = 0) -> float:
    return float(sys.argv[sys.argv.index(name) + 1]) if name in sys.argv else default


def write(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False, separators=(", ", ": ")) + "\n")
    sys.stdout.flush()


def tools() -> list[dict[str, Any]]:
    number = {"type": "object", "title": "Args", "properties": {"n": {"type": "integer", "title": "N"}}}
    found = [
        {"name": "echo", "description": "Say it again", "inputSchema": {"type": "object", "properties": {"text": {}}}},
        {"name": "lines", "description": "Many lines", "inputSchema": number, "annotations": READ_ONLY},
        {"name": "rows", "description": "JSON rows", "inputSchema": number, "annotations": READ_ONLY},
        {"name": "orders", "description": "JSON rows, one of which is another each time", "inputSchema": number},
        {"name": "structured", "inputSchema": number, "outputSchema": {"type": "object", "required": ["rows"]}},
        {
            "name": "read_back",
            "inputSchema": number,
            "outputSchema": OBJECT,
            "_meta": {"dev.brim/roundTrip": True},
        },
        {"name": "counter", "inputSchema": OBJECT, "annotations": READ_ONLY},
        {"name": "mixed", "inputSchema": number},
    ]
    for name in ("later", "write", "die", "hang", "garbage", "flood", "wrong", "progress", "sample", "extend", "raw"):
        found.append({"name": name, "inputSchema": OBJECT})
    for i in range(int(argument("--tools"))):
        schema = {"type": "object", "properties": {f"p{i}": {"type": "string", "description": f"The value {i}"}}}
        found.append({"name": f"area{i % 10}_do_{i}", "description": f"Does the thing {i} " * 8, "inputSchema": schema})
    if state["extra"]:
        found.append({"name": "late", "inputSchema": OBJECT})
    return found


def text(value: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}], "isError": False}


def rows(n: int) -> list[dict[str, Any]]:
    return [{"id": f"row-{i}", "status": "open", "owner": {"name": f"user{i}"}} for i in range(n)]


def call(id: Any, params: dict[str, Any]) -> dict[str, Any] | None:
    name, given = params["name"], params.get("arguments") or {}
    n = int(given.get("n", 10))
    state["calls"] += 1
    if "task" in params or name == "later":
        state["task"] = {**params, "name": given.get("name", name), "task": None}
        task = {"taskId": f"t{os.getpid()}", "status": "working"}
        return {"task": task} if "task" in params else {"resultType": "task", **task}
    if name == "echo" and "wrong" in given:
        return {**text("1 validation error: text is required"), "isError": True}
    if name == "echo":
        return text(str(given.get("text")))
    if name == "lines":
        return text("\n".join(f"line {i} of the output, value {i * 37 % 1000}" for i in range(n)))
    if name in ("rows", "structured", "read_back"):
        body = {"rows": rows(n)}
        return {**text(json.dumps(body)), **({"structuredContent": body} if name != "rows" else {})}
    if name == "orders":
        changing = [{**row, "status": f"seen {state['calls']}"} if i == 3 else row for i, row in enumerate(rows(n))]
        return text(json.dumps(changing))
    if name == "counter":
        return text(f"call {state['calls']}")
    if name == "mixed":
        resource = {"uri": "file:///a.txt", "mimeType": "text/plain", "text": "word " * n}
        image = {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}
        return {"content": [image, {"type": "resource", "resource": resource}, *text("short")["content"]]}
    if name == "raw":
        return given["result"]
    return fault(id, name, params)


def fault(id: Any, name: str, params: dict[str, Any]) -> dict[str, Any] | None:
    if name == "die":
        print("out of luck", file=sys.stderr, flush=True)
        os._exit(7)
    elif name == "hang":
        return None
    elif name == "garbage":
        sys.stdout.write("Debug: something was printed\n{not json}\n" + f'{{"jsonrpc": "2.0", "id": {id}, "result": \n')
        sys.stdout.flush()
        return None
    elif name == "wrong":
        write({"id": id, "result": "not an object"})
        return None
    elif name == "flood":
        for _ in range(2_000):
            sys.stderr.write("x" * 1_000 + "\n")
    elif name == "progress":
        token = (params.get("_meta") or {}).get("progressToken")
        for i in range(3):
            write({"method": "notifications/progress", "params": {"progressToken": token, "progress": i}})
    elif name == "sample":
        write({"id": 1, "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 5}})
        answer = json.loads(sys.stdin.readline())
        return text(json.dumps(answer.get("result")))
    elif name == "extend":
        state["extra"] = True
        write({"method": "notifications/tools/list_changed"})
    return text(f"{name} done")


def finished(id: Any) -> dict[str, Any] | None:
    return call(id, {key: value for key, value in state["task"].items() if key != "task"})


def hello(modern: bool, params: dict[str, Any]) -> dict[str, Any]:
    capabilities: dict[str, Any] = {"tools": {"listChanged": True}, "prompts": {}, "logging": {}}
    if "--no-resources" not in sys.argv:
        capabilities["resources"] = {"subscribe": True}
    if modern:
        return {"supportedVersions": ["2026-07-28"], "capabilities": capabilities, "ttlMs": 0, "cacheScope": "private"}
    version = min(params.get("protocolVersion", "2025-11-25"), "2025-11-25")
    return {
        "protocolVersion": version,
        "capabilities": capabilities,
        "serverInfo": {"name": "fake", "version": "1"},
        "instructions": "Be brief.",
    }


def listing(params: dict[str, Any], modern: bool) -> dict[str, Any]:
    """Pages of five, as a server with many tools gives them."""
    start = int(params.get("cursor") or 0)
    found = tools()
    page: dict[str, Any] = {"tools": found[start : start + 5]}
    if start + 5 < len(found):
        page["nextCursor"] = str(start + 5)
    return {"ttlMs": 0, "cacheScope": "private", **page} if modern else page


def answer(message: dict[str, Any]) -> dict[str, Any] | None:
    method, params = message["method"], message.get("params") or {}
    modern = "io.modelcontextprotocol/protocolVersion" in (params.get("_meta") or {})
    result: dict[str, Any] | None
    if method in ("initialize", "server/discover"):
        result = hello(method == "server/discover", params)
    elif method == "tools/list":
        result = listing(params, modern)
    elif method == "tools/call":
        result = call(message["id"], params)
    elif method == "prompts/list":
        result = {"prompts": [{"name": "greet"}]}
    elif method == "prompts/get":
        result = {"messages": [{"role": "user", "content": {"type": "text", "text": params["name"]}}]}
    elif method == "resources/list" and "--no-resources" not in sys.argv:
        result = {"resources": [{"uri": f"mem://{os.getpid()}", "name": "me"}]}
    elif method == "resources/read":
        result = {"contents": [{"uri": params["uri"], "text": str(os.getpid())}]}
    elif method.startswith("tasks/") and method != "tasks/list" and params["taskId"] != f"t{os.getpid()}":
        write({"id": message["id"], "error": {"code": -32602, "message": "no such task"}})
        return None
    elif method == "tasks/result":
        result = finished(message["id"])
    elif method == "tasks/get":
        result = {"taskId": params["taskId"], "status": "completed", "result": finished(message["id"])}
    elif method == "tasks/list":
        result = {"tasks": [{"taskId": f"t{os.getpid()}", "status": "completed"}]}
    elif method in ("ping", "logging/setLevel"):
        result = {}
    elif method == "subscriptions/listen":
        for name in ("subscriptions/acknowledged", "tools/list_changed"):
            meta = {"io.modelcontextprotocol/subscriptionId": message["id"]}
            write({"method": f"notifications/{name}", "params": {"_meta": meta}})
        return None
    elif method == "test/hang":
        return None
    elif method == "test/pid":
        result = {"pid": os.getpid()}
    else:
        write({"id": message["id"], "error": {"code": -32601, "message": f"no {method}"}})
        return None
    return {"resultType": "complete", **result} if modern and result is not None else result


def main() -> None:
    if "--sick" in sys.argv and os.environ.get("SERVER_NAME") == sys.argv[sys.argv.index("--sick") + 1]:
        sys.exit("no database")
    time.sleep(argument("--slow"))
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            result = answer(message)
            if result is not None:
                write({"id": message["id"], "result": result})
        elif message.get("method") == "notifications/cancelled":
            print(f"cancelled {message['params']['requestId']}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
