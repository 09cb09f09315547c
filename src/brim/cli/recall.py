"""`brim recall`: print what a handle stands for."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from brim.cli.terminal.reading import apply_settings
from brim.cli.terminal.writing import put
from brim.errors import NotFound
from brim.stores.resilient import open_store

_EXAMPLES = """examples:
  brim recall brim:3f2a9c01
  brim recall brim:3f2a9c01 | grep -n timeout
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
    parser.add_argument("--store", metavar="FILE", help="the store (from the settings: store.path)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the archived content. Raises NotFound for a handle that the store does not know."""
    path = Path(args.store or apply_settings().store.path).expanduser()
    if not path.is_file():
        raise NotFound(f"there is no store at {path}: name one with --store, or set store.path")
    store = open_store(path)
    try:
        found = store.find_blob(args.handle.removeprefix("brim:"))
    finally:
        store.close()
    if found is None:
        raise NotFound(f"nothing is archived under {args.handle!r} in {path}")
    put(found.decode("utf-8", "replace"))
    return 0
