"""`brim run`: run a command, print its output in fewer tokens, and archive the rest."""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import brim
from brim.cli.terminal.reading import add_model, apply_settings, tokens
from brim.cli.terminal.writing import put
from brim.errors import BadInput
from brim.settings.secrets import without_password
from brim.stores.resilient import is_address, open_store

# About two screens of text, a comfortable amount for an agent between two steps.
BUDGET = 2_000
# Exit codes of shells for a program that doesn't exist, may not be run, or was ended by a signal.
NOT_FOUND, NOT_ALLOWED, SIGNAL = 127, 126, 128
_EXAMPLES = """examples:
  brim run -- pytest -x
  brim run --budget 500 -- cargo build
  brim run --query "timeout" -- journalctl -u web
  brim recall brim:3f2a9c01                     all of it, by the handle in the output
"""


def add(subparsers: Any) -> None:
    """Register `run` with the command line."""
    parser = subparsers.add_parser(
        "run",
        help="run a command and print its output in fewer tokens",
        description="Run a command, print its output (standard output and error together) in fewer tokens once it has "
        "ended, and leave with its exit code. What is left out is archived; `brim recall HANDLE` prints it.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_model(parser)
    parser.add_argument(
        "--budget", "-b", type=tokens, default=BUDGET, metavar="N", help=f"at most this many tokens ({BUDGET:,})"
    )
    parser.add_argument("--query", "-q", default="", help="what you are after: parts about it stay first")
    parser.add_argument("--store", metavar="STORE", help="the store (from the settings: store.path)")
    parser.add_argument("command", metavar="COMMAND", nargs=argparse.REMAINDER, help="the command, after --")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    words = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not words:
        raise BadInput("COMMAND", "is missing: write it after --, as in `brim run -- pytest -x`")
    loaded = apply_settings()
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    except FileNotFoundError:
        print(f"brim run: there is no command {words[0]!r}", file=sys.stderr)
        return NOT_FOUND
    except PermissionError:
        print(f"brim run: {words[0]!r} may not be run", file=sys.stderr)
        return NOT_ALLOWED
    text = done.stdout.decode("utf-8", "replace")
    kept: dict[str, str] = {}
    hint = brim.Hint(tool=shlex.join(words[:2]))
    made = brim.compact(text, args.budget, model=args.model or "gpt-4o", hint=hint, archive=kept, query=args.query)
    if kept:
        _archive(args.store or loaded.store_place, kept)
    put(made.text if not made.text or made.text.endswith("\n") else made.text + "\n")
    return done.returncode if done.returncode >= 0 else SIGNAL - done.returncode


def _archive(path: str, kept: dict[str, str]) -> None:
    """Archive what was left out under its handle; the output is printed even if the store fails."""
    if not is_address(path):
        Path(path).expanduser().parent.mkdir(parents=True, exist_ok=True)
    store = open_store(path)
    try:
        store.put_blobs([text.encode() for text in kept.values()])
        if store.degraded:
            print(
                f"brim run: nothing is archived: the store {without_password(path)} cannot be used: {store.degraded}",
                file=sys.stderr,
            )
    finally:
        store.close()
