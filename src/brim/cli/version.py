"""`brim version`: what is installed, for a report of a problem."""

from __future__ import annotations

import argparse
import platform
from typing import Any

import brim


def add(subparsers: Any) -> None:
    """Register `version` with the command line."""
    parser = subparsers.add_parser(
        "version",
        help="show the version",
        description="Show the versions of Brim and Python.",
        epilog="examples:\n  brim version\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    print(f"brim {brim.__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}")
    return 0
