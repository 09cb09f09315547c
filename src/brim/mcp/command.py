"""What `brim mcp` does once its arguments are read."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from brim import settings
from brim.errors import BadSetting
from brim.ladders.shapes import Shape
from brim.mcp.child import Log
from brim.mcp.options import LEVELS, Level, Options
from brim.mcp.stdio import wrap_stdio
from brim.mcp.upstream import StdioUpstream, Upstream


def options_of(args: argparse.Namespace) -> Options:
    """The wrapper's settings: its defaults, changed by brim.toml and the environment, then by the command line."""
    given = from_settings(settings.load())
    flags: dict[str, Any] = {
        "level": args.level,
        "session_tokens": args.session_tokens,
        "exempt": tuple(args.exempt) if args.exempt else None,
        "max_calls": args.max_calls,
        "grouping": args.grouping,
        "tool_threshold": args.threshold,
        "call_timeout": args.timeout,
        "result_tokens": _budgets(args.budget) if args.budget is not None else None,
        "compact": False if args.no_compact else None,
        "shrink": False if args.no_shrink else None,
        "repeat_seconds": 0.0 if args.no_repeat else None,
    }
    return Options(**given | {name: value for name, value in flags.items() if value is not None})


def _budgets(tokens: int) -> dict[Level, int]:
    """One budget for all levels: it is the largest, and lower levels keep their own where that is smaller."""
    own = Options().result_tokens
    return {level: tokens if level == "full" else min(own[level], tokens) for level in LEVELS}


def from_settings(loaded: settings.Settings) -> dict[str, Any]:
    """What [mcp] and [shapes] say; a value that nobody set leaves the wrapper's own default."""
    mcp = loaded.mcp
    read: dict[str, Callable[[], dict[str, Any]]] = {
        "result_tokens": lambda: {"result_tokens": _budgets(mcp.result_tokens)},
        "group_tools_above": lambda: {"tool_threshold": mcp.group_tools_above},
        "compact_after_calls": lambda: {"session_calls": round(mcp.compact_after_calls / Options().rises[1])},
        "max_calls": lambda: {"max_calls": mcp.max_calls},
        "call_timeout": lambda: {"call_timeout": mcp.call_timeout},
    }
    found: dict[str, Any] = {}
    for name, option in read.items():
        if loaded.origin(f"mcp.{name}") != "default":
            found |= option()
    if loaded.shapes:
        found["shapes"] = tuple(Shape.from_dict(name, table) for name, table in loaded.shapes.items())
    return found


def servers_of(args: argparse.Namespace, options: Options, log: Log) -> list[Upstream]:
    """The servers that the command line names; BadSetting when there is none."""
    found: list[Upstream] = []
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if command:
        found.append(_stdio(command, "", options, log))
    for text in args.server:
        name, _, line = text.partition("=")
        if not line:
            raise BadSetting("--server", f"{text!r} is not NAME=COMMAND")
        found.append(_stdio(shlex.split(line), name, options, log))
    headers = dict(_header(text) for text in args.header)
    for text in args.url:
        name, mark, url = text.partition("=")
        named = bool(mark) and "://" not in name
        found.append(_http(url if named else text, name if named else "", headers))
    if args.config:
        found += _from_config(Path(args.config), options, log)
    if not found:
        raise BadSetting("COMMAND", "no server is named: give one after --, or with --server, --url or --config")
    return _named(found)


def _named(found: list[Upstream]) -> list[Upstream]:
    """With several servers each has a name of its own; it becomes the prefix of its tools."""
    if len(found) > 1:
        names: set[str] = set()
        for place, upstream in enumerate(found, 1):
            upstream.name = upstream.name or f"server{place}"
            if upstream.name in names:
                raise BadSetting("--server", f"two servers are called {upstream.name!r}")
            names.add(upstream.name)
    return found


def _stdio(command: list[str], name: str, options: Options, log: Log, **more: Any) -> StdioUpstream:
    return StdioUpstream(command, name=name, log=log, largest=options.largest_message, **more)


def _http(url: str, name: str, headers: dict[str, str]) -> Upstream:
    http = importlib.import_module("brim.mcp.http")  # needs aiohttp, which a stdio wrapper does not
    upstream: Upstream = http.HttpUpstream(url, name=name, headers=headers)
    return upstream


def _header(text: str) -> tuple[str, str]:
    name, mark, value = text.partition(":")
    if not mark:
        raise BadSetting("--header", f"{text!r} is not 'NAME: VALUE'")
    return name.strip(), value.strip()


def _from_config(path: Path, options: Options, log: Log) -> list[Upstream]:
    try:
        servers = json.loads(path.read_text(encoding="utf-8"))["mcpServers"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadSetting("--config", f"{path} is no file with mcpServers: {error}") from error
    found: list[Upstream] = []
    for name, one in servers.items():
        if "url" in one:
            found.append(_http(one["url"], name, dict(one.get("headers", {}))))
        else:
            command = [one["command"], *one.get("args", [])]
            found.append(_stdio(command, name, options, log, env=one.get("env"), cwd=one.get("cwd")))
    return found


def wrap(args: argparse.Namespace) -> int:
    log = Log()
    options = options_of(args)
    return asyncio.run(wrap_stdio(servers_of(args, options, log), options, log))


def audit(args: argparse.Namespace) -> int:
    auditing = importlib.import_module("brim.mcp.audit")  # draws tables, which a wrapper has no use for
    log = Log()
    options = Options()
    try:
        report = asyncio.run(auditing.audit(servers_of(args, options, log), options, log))
    except OSError as error:
        raise BadSetting("COMMAND", f"the server cannot be started: {error}") from error
    sys.stdout.write(auditing.render(report, as_json=args.json))
    return 0


def serve(args: argparse.Namespace) -> int:
    serving = importlib.import_module("brim.mcp.serve")  # needs the mcp package, which the wrapper does not
    root = Path(args.root)
    if not root.is_dir():
        raise BadSetting("--root", f"{args.root} is no folder")
    docs = Path(args.docs) if args.docs else root / ".prompts" / "features"
    learnings = Path(args.learnings) if args.learnings else root / ".prompts" / "learnings"
    serving.run(root, docs, learnings)
    return 0
