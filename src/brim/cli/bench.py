"""`brim bench`: measure Brim and other libraries on the same inputs in one run."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import Any

import brim
from brim.errors import NotFound

_EXAMPLES = """examples:
  brim bench --list                              the benchmarks by name
  brim bench --data DIR                          all of them; docs/benchmarks/ gets the numbers and charts
  brim bench fit values --data DIR --quick       two of them, on small samples, and nothing is written
  brim bench --data DIR --resume                 go on with a run that was interrupted
  brim bench values --data DIR --ours            Brim anew; the others as they were measured before
  brim bench count --data DIR --no-peers --json  Brim alone, as JSON
  brim bench --data DIR --quick --no-peers --against docs/benchmarks/quick.json
                                                 what a change of yours costs or gains, in ten minutes

docs/benchmarks.md says where the data is published. The other libraries are installed from their pins in bench/peers/,
each into an environment of its own.
"""


def add(subparsers: Any) -> None:
    """Register `bench` with the command line."""
    parser = subparsers.add_parser(
        "bench",
        help="measure Brim and the libraries beside it",
        description="Measure Brim and the libraries beside it. Needs a source checkout.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", metavar="NAME", nargs="*", help="benchmarks (default: all)")
    parser.add_argument("--data", type=Path, default=Path("data"), metavar="DIR", help="the measurement data (data)")
    parser.add_argument("--quick", action="store_true", help="small samples; nothing is written without --out")
    parser.add_argument("--no-peers", action="store_true", help="Brim alone")
    parser.add_argument(
        "--ours", action="store_true", help="keep the others' rows as written, but where times are compared"
    )
    parser.add_argument("--resume", action="store_true", help="keep what an interrupted or partly failed run measured")
    parser.add_argument("--only", metavar="TABLES", help="these tables of a benchmark only, separated by commas")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write the numbers there (docs/benchmarks)")
    parser.add_argument("--envs", type=Path, metavar="DIR", help="keep the other libraries there (.bench)")
    parser.add_argument("--against", type=Path, metavar="FILE", help="say what is worse or better than in a kept run")
    parser.add_argument(
        "--keep", type=Path, metavar="FILE", help="keep this run there, for later ones to be compared with"
    )
    parser.add_argument("--list", action="store_true", help="list the benchmarks")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    folder = suite()
    sys.path.append(str(folder))  # last, so that its files don't shadow installed libraries of the same name
    return int(importlib.import_module("suite").run(args))


def suite() -> Path:
    """The benchmarks' folder in the checkout from which this Brim is installed."""
    folder = Path(brim.__file__).resolve().parent.parent.parent / "bench"
    if not (folder / "suite.py").is_file():
        raise NotFound(
            "the benchmarks are not in the installed package: clone the repository and run `make bench DATA=DIR` there"
        )
    return folder
