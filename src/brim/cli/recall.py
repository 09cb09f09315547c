"""`brim recall`: print the archived content behind a handle."""

from __future__ import annotations

import argparse
from typing import Any

from brim.cli.terminal.named_store import named_store, place_of
from brim.cli.terminal.reading import apply_settings
from brim.cli.terminal.writing import put
from brim.errors import NotFound
from brim.query import query
from brim.settings.secrets import without_password

_EXAMPLES = """examples:
  brim recall brim:3f2a9c01
  brim recall brim:3f2a9c01 | grep -n timeout
  brim recall brim:3f2a9c01 --query 'count by state'
"""


def add(subparsers: Any) -> None:
    """Register `recall` with the command line."""
    parser = subparsers.add_parser(
        "recall",
        help="print what a handle stands for",
        description="Print the whole of what was archived under a handle, as `brim run` names it.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("handle", metavar="HANDLE", help="the handle, with or without brim: before it")
    parser.add_argument("--query", metavar="EXPRESSION", help="ask it: jq, /regex/, lines 40-60, count by FIELD")
    parser.add_argument("--store", metavar="STORE", help="the store (from the settings: store.path)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the archived content. Raises NotFound for a handle that the store does not know."""
    apply_settings()
    with named_store(args.store) as store:
        found = store.find_blob(args.handle.removeprefix("brim:"))
    if found is None:
        where = without_password(place_of(args.store))
        raise NotFound(f"nothing is archived under {args.handle!r} in {where}")
    text = found.decode("utf-8", "replace")
    put(query(text, args.query) + "\n" if args.query else text)
    return 0
