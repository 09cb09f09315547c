"""The implementation of `brim mcp`, after its arguments are parsed."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

from brim import content, settings
from brim.errors import BadSetting
from brim.mcp.options import WrapperOptions
from brim.mcp.transport.child_process import ChildLog
from brim.mcp.transport.client_stdio import wrap_stdio
from brim.mcp.transport.upstream import StdioUpstream, Upstream

# Strings of JSON, and what editors allow beside it: comments, and a comma before the end of a list.
_STRING_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_STRING_OR_COMMA = re.compile(r'"(?:\\.|[^"\\])*"|,(?=\s*[}\]])', re.DOTALL)
# Flags with the same name as their setting.
_FLAGS = (
    "level",
    "result_tokens",
    "session_tokens",
    "session_calls",
    "exempt",
    "max_calls",
    "grouping",
    "group_tools_above",
    "description_tokens",
    "hint_every",
    "verbosity",
    "repeat_seconds",
    "call_timeout",
    "token_env",
    "token_command",
)


def settings_of(args: argparse.Namespace) -> settings.Settings:
    """All settings; command-line flags override brim.toml and the environment."""
    flags: dict[str, Any] = {name: getattr(args, name, None) for name in _FLAGS}
    for off, name, value in (
        ("no_compact", "compact", False),
        ("no_shrink", "shrink", False),
        ("no_repeat", "repeat_seconds", 0.0),
        ("no_changes", "changes", False),
    ):
        if getattr(args, off, False):
            flags[name] = value
    return settings.load(mcp=flags)


def options_of(loaded: settings.Settings) -> WrapperOptions:
    return WrapperOptions.of(loaded.mcp, loaded.shapes)


def servers_of(args: argparse.Namespace, loaded: settings.Settings, log: ChildLog) -> list[Upstream]:
    """The servers named on the command line; BadSetting if there are none."""
    found: list[Upstream] = []
    largest = loaded.mcp.largest_message
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if command:
        found.append(StdioUpstream(command, log=log, largest=largest))
    for text in args.server:
        name, _, line = text.partition("=")
        if not line:
            raise BadSetting("--server", f"{text!r} is not NAME=COMMAND")
        found.append(StdioUpstream(_split(line, f"--server {name}"), name=name, log=log, largest=largest))
    headers = dict(_header(text) for text in args.header)
    for text in args.url:
        name, mark, url = text.partition("=")
        named = bool(mark) and "://" not in name
        found.append(_http(url if named else text, name if named else "", headers, loaded))
    if args.config:
        found += _from_config(Path(args.config), loaded, log)
    if not found:
        raise BadSetting("COMMAND", "no server is named: give one after --, or with --server, --url or --config")
    return _named(found)


def _named(found: list[Upstream]) -> list[Upstream]:
    """Give each of several servers a unique name, which becomes the prefix of its tools."""
    if len(found) > 1:
        names: set[str] = set()
        for place, upstream in enumerate(found, 1):
            upstream.name = upstream.name or f"server{place}"
            if upstream.name in names:
                raise BadSetting("--server", f"two servers are called {upstream.name!r}")
            names.add(upstream.name)
    return found


def _split(text: str, where: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise BadSetting(where, f"{text!r} is no command line: {error}") from error


def _http(url: str, name: str, headers: dict[str, str], loaded: settings.Settings) -> Upstream:
    """A server over HTTP; its own header takes precedence over the token in the settings."""
    http = importlib.import_module("brim.mcp.transport.http_upstream")  # needs aiohttp, unlike a stdio wrapper
    command = _split(loaded.mcp.token_command, "mcp.token_command")
    own = any(key.lower() == "authorization" for key in headers)
    if not own and not command:
        headers = {**_token(loaded), **headers}
    upstream: Upstream = http.HttpUpstream(
        url,
        name=name,
        headers=headers,
        login=http.TokenCommand(command) if command and not own else None,
        largest=loaded.mcp.largest_message,
    )
    return upstream


def _token(loaded: settings.Settings) -> dict[str, str]:
    """The header with the token from the variable that the settings name."""
    variable = loaded.mcp.token_env
    if not variable:
        return {}
    token = loaded.secret(variable)
    if not token:
        raise BadSetting("mcp.token_env", f"the environment variable {variable} is not set")
    return {"Authorization": f"Bearer {token}"}


def _header(text: str) -> tuple[str, str]:
    name, mark, value = text.partition(":")
    if not mark:
        raise BadSetting("--header", "one is not 'NAME: VALUE'")
    return name.strip(), settings.filled(value.strip(), f"--header {name.strip()}")


def _plain_json(text: str) -> str:
    """Example: '{"a": 1, // one\n}' -> '{"a": 1 \n}'"""
    for pattern in (_STRING_OR_COMMENT, _STRING_OR_COMMA):
        text = pattern.sub(lambda found: found.group() if found.group().startswith('"') else " ", text)
    return text


def _from_config(path: Path, loaded: settings.Settings, log: ChildLog) -> list[Upstream]:
    """The servers in an mcpServers file, which may refer to environment variables as ${NAME}."""
    try:
        told = json.loads(_plain_json(path.read_text(encoding="utf-8")))
        servers = told["mcpServers"] if "mcpServers" in told else told["servers"]  # .vscode/mcp.json calls them so
        listed = [(str(name), dict(one)) for name, one in servers.items()]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadSetting("--config", f"{path} is no file with mcpServers: {error}") from error
    return [_configured(name, one, path, loaded, log) for name, one in listed]


def _configured(name: str, one: dict[str, Any], path: Path, loaded: settings.Settings, log: ChildLog) -> Upstream:
    where = f"{path} {name}"

    def fill(value: Any) -> str:
        return settings.filled(str(value), where)

    if "url" in one:
        headers = {key: fill(value) for key, value in dict(one.get("headers") or {}).items()}
        return _http(fill(one["url"]), name, headers, loaded)
    if "command" not in one:
        raise BadSetting(where, "has neither command nor url")
    return StdioUpstream(
        [fill(part) for part in (one["command"], *(one.get("args") or ()))],
        name=name,
        log=log,
        largest=loaded.mcp.largest_message,
        env={key: fill(value) for key, value in dict(one.get("env") or {}).items()} or None,
        cwd=fill(one["cwd"]) if one.get("cwd") else None,
    )


def wrap(args: argparse.Namespace) -> int:
    log = ChildLog()
    loaded = settings_of(args)
    return asyncio.run(wrap_stdio(servers_of(args, loaded, log), options_of(loaded), log))


def audit(args: argparse.Namespace) -> int:
    auditing = importlib.import_module("brim.mcp.tools.audit")  # imports rich, which a wrapper doesn't need
    log = ChildLog()
    loaded = settings_of(args)
    try:
        report = asyncio.run(auditing.audit(servers_of(args, loaded, log), options_of(loaded), log))
    except OSError as error:
        raise BadSetting("COMMAND", f"the server cannot be started: {error}") from error
    sys.stdout.write(auditing.render(report, as_json=args.json))
    return 0


def guide(args: argparse.Namespace) -> int:
    sys.stdout.write(importlib.import_module("brim.mcp.guide").GUIDE)
    return 0


def tools(args: argparse.Namespace) -> int:
    listing = importlib.import_module("brim.mcp.tools.calling")
    log, loaded = ChildLog(), settings_of(args)
    found = asyncio.run(listing.tools([_named_server(args, loaded, log)], log))
    text = listing.described(found, " ".join(args.query))
    sys.stdout.write(text)
    return 0


def call(args: argparse.Namespace) -> int:
    calling = importlib.import_module("brim.mcp.tools.calling")
    log, loaded = ChildLog(), settings_of(args)
    server, wait = _named_server(args, loaded, log), loaded.mcp.call_timeout
    result = asyncio.run(calling.call([server], args.tool, args.arguments, log, wait))
    text = calling.text_of(result)
    kept: dict[str, str] = {}
    made = content.compact(text, args.budget, hint=content.Hint(tool=args.tool), archive=kept, query=args.query)
    if kept:
        calling.archive(loaded.store_place, kept.values())
    sys.stdout.write(made.text if made.text.endswith("\n") else made.text + "\n")
    return 1 if result.get("isError") else 0


# Where hosts keep a project's servers; the user's own Brim file comes last.
_PLACES = (".mcp.json", "mcp.json", ".vscode/mcp.json", ".cursor/mcp.json", "~/.config/brim/mcp.json")


def _named_server(args: argparse.Namespace, loaded: settings.Settings, log: ChildLog) -> Upstream:
    """The server named on the command line by URL, by command, or by its name in a file of servers."""
    given: str = args.given_server
    if given.startswith(("http://", "https://")):
        return _http(given, "", {}, loaded)
    places = [Path(args.config)] if args.config else [Path(place).expanduser() for place in _PLACES]
    known: dict[str, Upstream] = {}
    for path in places:
        if args.config or path.is_file():
            known |= {one.name: one for one in _from_config(path, loaded, log) if one.name not in known}
    if given in known:
        known[given].name = ""  # a single server, so its tools need no prefix
        return known[given]
    words = _split(given, "SERVER")
    if shutil.which(words[0]) is None:
        listed = f"known are {', '.join(known)}" if known else f"there is none of {', '.join(_PLACES)}"
        raise BadSetting("SERVER", f"{given!r} is no address, no command and no name of a configured server: {listed}")
    return StdioUpstream(words, log=log, largest=loaded.mcp.largest_message)


def serve(args: argparse.Namespace) -> int:
    serving = importlib.import_module("brim.mcp.server.sdk_server")  # needs the mcp package, unlike the wrapper
    root = Path(args.root)
    if not root.is_dir():
        raise BadSetting("--root", f"{args.root} is no folder")
    docs = Path(args.docs) if args.docs else root / ".prompts" / "features"
    learnings = Path(args.learnings) if args.learnings else root / ".prompts" / "learnings"
    serving.run(root, docs, learnings)
    return 0
