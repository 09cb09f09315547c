"""`brim mcp`: wrap MCP servers, audit what their tools cost, serve Brim's own tools."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable
from typing import Any

from brim.cli.terminal.reading import tokens
from brim.errors import BrimError

_LEVELS = ("full", "standard", "compact", "minimal")

_WRAP_EXAMPLES = """examples:
  brim mcp wrap -- npx -y @modelcontextprotocol/server-filesystem /data
  brim mcp wrap --exempt 'read_*' --max-calls 50 -- mcp-server-git --repository .
  brim mcp wrap --url https://example.com/mcp --token-env EXAMPLE_TOKEN
  brim mcp wrap --url https://example.com/mcp --token-command 'gh auth token'
  brim mcp wrap --server git='mcp-server-git' --server time='mcp-server-time'
  brim mcp wrap --config mcp.json            every server of an mcpServers file
"""
_AUDIT_EXAMPLES = """examples:
  brim mcp audit -- mcp-server-git --repository .
  brim mcp audit --url https://example.com/mcp --json
"""
_SERVE_EXAMPLES = """examples:
  brim mcp serve                              tools for this folder, over stdio
  brim mcp serve --root ~/project --docs docs/features --learnings docs/learnings
"""
_TOOLS_EXAMPLES = """examples:
  brim mcp tools git "what changed lately"    of the server that .mcp.json calls git
  brim mcp tools git git_log                  all of one tool: its description and its arguments
  brim mcp tools 'mcp-server-git --repository .'
"""
_CALL_EXAMPLES = """examples:
  brim mcp call git git_log --repo_path . --max_count 5
  brim mcp call --budget 500 --query timeout logs search --pattern error
  brim mcp call https://example.com/mcp search '{"q": "harbour", "tags": ["crane"]}'
  brim recall brim:3f2a9c01                   all of a result, by the handle in what was printed
"""


def add(subparsers: Any) -> None:
    """Register `mcp` with the command line."""
    parser = subparsers.add_parser(
        "mcp",
        help="make MCP servers frugal, audit their tools, serve Brim's own",
        description="Model Context Protocol: a wrapper around any server, an audit of its tools, a server.",
        epilog=_WRAP_EXAMPLES + _AUDIT_EXAMPLES.replace("examples:\n", "") + _SERVE_EXAMPLES.replace("examples:\n", ""),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="mcp_command", required=True, metavar="COMMAND")
    _add_wrap(commands)
    _add_audit(commands)
    _add_serve(commands)
    _add_tools(commands)
    _add_call(commands)
    _add_guide(commands)


def _sub(commands: Any, name: str, help: str, epilog: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=help, description=help, epilog=epilog, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    return parser


def _add_servers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--server", action="append", default=[], metavar="NAME=COMMAND", help="one of several servers")
    parser.add_argument(
        "--url", action="append", default=[], metavar="[NAME=]URL", help="a server over streamable HTTP"
    )
    parser.add_argument(
        "--header",
        action="append",
        default=[],
        metavar="'NAME: VALUE'",
        help="sent to every --url; ${VARIABLE} is taken from the environment",
    )
    parser.add_argument(
        "--token-env", metavar="VARIABLE", help="environment variable with the bearer token for servers over HTTP"
    )
    parser.add_argument(
        "--token-command", metavar="COMMAND", help="prints that token instead; run again when it is refused"
    )
    parser.add_argument("--config", metavar="FILE", help='a JSON file with {"mcpServers": {NAME: {command|url …}}}')
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND …", help="the server to start")


def _add_wrap(commands: Any) -> None:
    """Flags for settings have the setting's name and no default, because the settings provide it."""
    parser = _sub(commands, "wrap", "run MCP servers and keep what they send within budgets", _WRAP_EXAMPLES)
    parser.add_argument(
        "--level", choices=("auto", *_LEVELS), help="how much a result says (auto: as the session fills)"
    )
    number: dict[str, Any] = {"type": int, "metavar": "N"}
    parser.add_argument(
        "--budget", dest="result_tokens", type=int, metavar="TOKENS", help="the most that one result may take (8000)"
    )
    parser.add_argument("--session-tokens", **number, help="tokens of results that fill a session (100000)")
    parser.add_argument("--session-calls", **number, help="calls that fill a session (40)")
    parser.add_argument("--hint-every", **number, help="calls between two hints that results are cut (10)")
    parser.add_argument("--exempt", action="append", metavar="TOOL", help="results pass untouched; patterns allowed")
    parser.add_argument("--max-calls", **number, help="cap on tool calls of the session (off)")
    parser.add_argument("--grouping", choices=("auto", "meta", "virtual", "off"), help="how very many tools are listed")
    parser.add_argument(
        "--threshold", dest="group_tools_above", **number, help="more tools than this are grouped (128)"
    )
    parser.add_argument("--description-tokens", **number, help="longer descriptions of tools are cut (80)")
    parser.add_argument(
        "--repeat-seconds", type=float, metavar="SECONDS", help="a repeated read-only call is answered again (60)"
    )
    parser.add_argument(
        "--timeout", dest="call_timeout", type=float, metavar="SECONDS", help="give up on a silent server (off)"
    )
    parser.add_argument(
        "--verbosity",
        action="store_const",
        const=True,
        help="give every tool an argument for how much it returns",
    )
    parser.add_argument("--no-compact", action="store_true", help="leave results as they are")
    parser.add_argument("--no-shrink", action="store_true", help="leave tool definitions as they are")
    parser.add_argument("--no-repeat", action="store_true", help="send identical read-only calls every time")
    parser.add_argument(
        "--no-changes", action="store_true", help="send repeated results whole, not what changed in them"
    )
    _add_servers(parser)
    parser.set_defaults(run=_does("wrap"))


def _add_audit(commands: Any) -> None:
    parser = _sub(commands, "audit", "print what each tool of a server costs and what Brim would save", _AUDIT_EXAMPLES)
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    _add_servers(parser)
    parser.set_defaults(run=_does("audit"))


def _add_serve(commands: Any) -> None:
    parser = _sub(
        commands, "serve", "serve Brim's tools: counting, compacting, document and code search", _SERVE_EXAMPLES
    )
    parser.add_argument("--root", default=".", metavar="DIR", help="the project (default: this folder)")
    parser.add_argument("--docs", metavar="DIR", help="feature specifications (default: .prompts/features)")
    parser.add_argument("--learnings", metavar="DIR", help="learnings (default: .prompts/learnings)")
    parser.set_defaults(run=_does("serve"))


def _add_server(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", metavar="FILE", help="a file of servers (.mcp.json, mcp.json, .vscode/mcp.json …)")
    parser.add_argument(
        "given_server", metavar="SERVER", help="its name in a file of servers, its address, or its command in quotes"
    )


def _add_tools(commands: Any) -> None:
    parser = _sub(commands, "tools", "list the tools that a query is about, or describe one", _TOOLS_EXAMPLES)
    _add_server(parser)
    parser.add_argument("query", nargs="*", metavar="QUERY", help="what you want to do, or the name of a tool")
    parser.set_defaults(run=_does("tools"))


def _add_call(commands: Any) -> None:
    parser = _sub(commands, "call", "call a tool and print its result in fewer tokens", _CALL_EXAMPLES)
    parser.add_argument("--budget", type=tokens, default=2_000, metavar="N", help="at most this many tokens (2,000)")
    parser.add_argument("--query", default="", help="what you are after: parts about it stay first")
    _add_server(parser)
    parser.add_argument("tool", metavar="TOOL", help="the name of the tool")
    parser.add_argument(
        "arguments", nargs=argparse.REMAINDER, metavar="--NAME VALUE …", help="its arguments, or one JSON object"
    )
    parser.set_defaults(run=_does("call"))


def _add_guide(commands: Any) -> None:
    text = "print text for AGENTS.md that tells agents how to ask for short results"
    parser = _sub(commands, "guide", text, "examples:\n  brim mcp guide >> AGENTS.md\n")
    parser.set_defaults(run=_does("guide"))


def _does(command: str) -> Callable[[argparse.Namespace], int]:
    """The command's implementation, imported only when it runs."""

    def run(args: argparse.Namespace) -> int:
        code: int = getattr(importlib.import_module("brim.mcp.command"), command)(args)
        return code

    return run


def main(argv: list[str] | None = None) -> int:
    """Run `brim mcp …` by itself: `python -m brim.cli.mcp wrap -- COMMAND`."""
    parser = argparse.ArgumentParser(prog="brim")
    add(parser.add_subparsers(required=True))
    args = parser.parse_args(["mcp", *(sys.argv[1:] if argv is None else argv)])
    try:
        code: int = args.run(args)
    except BrimError as error:
        print(f"brim: {error}", file=sys.stderr)
        return 2
    return code


if __name__ == "__main__":
    sys.exit(main())
