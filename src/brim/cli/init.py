"""`brim init`: write a brim.toml with every setting explained and commented out."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from brim import settings
from brim.errors import BadInput

_EXAMPLES = """examples:
  brim init                 write brim.toml into this folder
  brim init --stdout        print it instead
"""
_HEAD = """# Settings of Brim. Every line is a comment that shows a default: take the # away to change it.
# `brim settings` shows what is in force, and where each value comes from.
"""


def add(subparsers: Any) -> None:
    """Register `init` with the command line."""
    parser = subparsers.add_parser(
        "init",
        help="write a commented brim.toml",
        description="Write a brim.toml with every setting, its meaning and its default, all of them comments.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--stdout", action="store_true", help="print it and write nothing")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    if args.stdout:
        print(commented(), end="")
        return 0
    path = Path(settings.FILE)
    if path.exists():
        raise BadInput(str(path), "is there already: Brim does not write over it")
    path.write_text(commented(), encoding="utf-8")
    print(f"{path.resolve()} has every setting as a comment")
    return 0


def commented() -> str:
    """The file's text: each section with a description and the default of every setting."""
    parts, section = [_HEAD], ""
    for key, kind, default, meaning in settings.reference():
        name, _, field = key.rpartition(".")
        if name != section:
            section = name
            parts.append(f"\n# [{section}]\n")
        parts.append(f"# {meaning} ({kind})\n# {field} = {_toml(default, kind)}\n")
    return "".join(parts)


def _toml(default: str, kind: str) -> str:
    if default in ("True", "False"):
        return default.lower()
    if "list" in kind:
        return "[]"
    try:
        float(default)
    except ValueError:
        return f'"{default}"'
    return default
