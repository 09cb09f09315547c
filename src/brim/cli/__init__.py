"""The `brim` command. Each subcommand is one file, loaded only when it is called."""

from __future__ import annotations

import argparse
import difflib
import importlib
import io
import logging
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import brim
from brim.cli.terminal.parser import SuggestingParser, in_flags
from brim.cli.terminal.writing import LINES, printable
from brim.errors import BrimError

# The exit code that shells use for a program ended by Ctrl-C.
INTERRUPTED = 130
COMMANDS = {
    "demo": "count, fit and explain a sample conversation",
    "count": "count the tokens of a text, a conversation, a request or a folder",
    "fit": "bring a request into a budget",
    "explain": "show what a fit would do, and why",
    "replay": "what other budgets and policies would have done to recorded requests",
    "compact": "make a log, JSON, diff, page … smaller",
    "run": "run a command and print its output in fewer tokens",
    "recall": "print what a handle stands for",
    "models": "list models with their windows and prices",
    "settings": "show the settings in force and where they come from",
    "search": "search a folder of Markdown documents",
    "serve": "run the gateway that any OpenAI, Anthropic or Gemini client can point at",
    "wrap": "run a coding agent through the gateway, for this run only",
    "setup": "point a coding agent at the gateway for good, or undo that",
    "doctor": "check the installation, and say what to fix",
    "init": "write a brim.toml with every setting as a comment",
    "top": "watch a running gateway in the terminal",
    "status": "one line on a running gateway, for a status line",
    "sessions": "list, show, export, import and delete the conversations of a store",
    "store": "set up, check, copy and clean what a gateway keeps",
    "usage": "requests, tokens and cost by day and model",
    "keys": "create, list and revoke virtual keys with budgets, for clients of the gateway",
    "mcp": "make MCP servers frugal, audit their tools, serve Brim's own",
    "completion": "complete commands and flags in bash, zsh or fish",
    "version": "show the versions of Brim and Python",
    "bench": "measure Brim and the libraries beside it",
}
# Commands that live in a sub-package.
PLACES = {
    name: f"{folder}.{name}"
    for folder, names in (("agents", "wrap setup"), ("service", "serve top status usage keys store"))
    for name in names.split()
}
_FIRST = """Brim keeps every LLM request inside its context window: full to the brim, never over.

Try this first:
  brim count --model gpt-4o README.md           how many tokens is that?
  cat build.log | brim compact --budget 1000    a long log in 1,000 tokens
  brim demo                                     a sample conversation, counted, fitted and explained
  brim serve --demo                             the gateway with its dashboard, without any key

Commands:
{commands}

`brim COMMAND --help` has examples. In Python: brim.fit(messages, model="gpt-4o", budget=8_000).messages"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code: 0 done, 1 not found or not fitting, 2 wrong use or bad input."""
    try:
        return _guarded(list(sys.argv[1:] if argv is None else argv))
    except KeyboardInterrupt:  # at any time, even while modules load or output is flushed
        return INTERRUPTED


def _guarded(given: list[str]) -> int:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a lone surrogate is printed as its JSON escape
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            return _run(given)
        finally:  # also after --help, which raises SystemExit
            sys.stdout.flush()
    except BrokenPipeError:  # the reader (head, less) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _run(given: list[str]) -> int:
    if not given or given[0] in ("-h", "--help", "help"):
        print(overview())
        return 0
    if given[0] in ("-V", "--version"):
        print(f"brim {brim.__version__}")
        return 0
    if given[0] not in COMMANDS:
        near = difflib.get_close_matches(given[0], COMMANDS, n=2)
        hint = f"did you mean {' or '.join(near)}?" if near else f"\n{overview()}"
        print(f"brim: there is no command {given[0]!r}\n{hint}", file=sys.stderr)
        return 2
    logging.basicConfig(format="brim: %(message)s", level=logging.ERROR)
    args = parsed(given)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.showwarning = lambda message, *_, **__: print(
                f"brim {given[0]}: {printable(str(message))}", file=sys.stderr
            )
            return int(args.run(args))
    except BrimError as problem:
        print(f"brim {given[0]}: {printable(in_flags(str(problem)), LINES)}", file=sys.stderr)
        return 1 if isinstance(problem, (brim.BudgetTooSmall, brim.NotFound)) else 2
    except FileNotFoundError as problem:
        folder = os.path.dirname(str(problem.filename))
        missing = f"folder {folder!r}" if folder and not os.path.isdir(folder) else f"file {problem.filename!r}"
        print(f"brim {given[0]}: there is no {missing}", file=sys.stderr)
        return 2
    except IsADirectoryError as problem:
        print(f"brim {given[0]}: {problem.filename!r} is a folder", file=sys.stderr)
        return 2
    except PermissionError as problem:
        print(f"brim {given[0]}: {problem.filename!r} may not be read or written", file=sys.stderr)
        return 2
    except BrokenPipeError:
        raise
    except OSError as problem:  # a full disk or a failing device
        place = problem.filename or getattr(args, "file", "")
        print(f"brim {given[0]}: {f'{place!r}: ' if place else ''}{problem.strerror or problem}", file=sys.stderr)
        return 2


def module_of(name: str) -> Any:
    """The module of a command; imports it."""
    return importlib.import_module(f"brim.cli.{PLACES.get(name, name)}")


def parsed(given: list[str]) -> argparse.Namespace:
    """Parse a command line; for a command that starts a program, `after` holds the program's arguments."""
    command = module_of(given[0])
    parser = SuggestingParser(prog="brim")
    command.add(parser.add_subparsers(dest="command_name"))
    after: list[str] = []
    if getattr(command, "STARTS_A_PROGRAM", False) and "--" in given:
        end = given.index("--")
        given, after = given[:end], given[end + 1 :]
    return parser.parse_args(given, argparse.Namespace(after=after))


def overview() -> str:
    width = max(map(len, COMMANDS))
    return _FIRST.format(commands="\n".join(f"  {name:{width}}  {text}" for name, text in COMMANDS.items()))
