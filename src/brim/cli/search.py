"""`brim search DIR KEYWORDS…`: search a folder of Markdown documents."""

from __future__ import annotations

import argparse
import importlib
import json
from typing import Any

from brim.cli.terminal.reading import tokens
from brim.cli.terminal.writing import put
from brim.errors import BadSetting

_EXAMPLES = """examples:
  brim search docs/features chat history      the five best files, in full
  brim search docs/features                   the list of files
  brim search notes sqlite lock --rank bm25 --budget 2000
  brim search .prompts/learnings timeout --learnings
"""


def add(subparsers: Any) -> None:
    """Register `search` with the command line."""
    parser = subparsers.add_parser(
        "search",
        help="search a folder of Markdown documents",
        description="Search the Markdown files under DIR and print what a model would be given.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("dir", metavar="DIR", help="the folder, searched with all folders below it")
    parser.add_argument("keywords", metavar="KEYWORD", nargs="*", help="what to look for; none lists the files")
    parser.add_argument(
        "--rank",
        choices=("keywords", "bm25"),
        help="keywords: whole files by 3 × name + occurrences; bm25: the best sections (large folders)",
    )
    parser.add_argument("--budget", type=tokens, metavar="TOKENS", help="at most this many tokens (bm25)")
    parser.add_argument("--top", type=int, default=5, metavar="N", help="files to give in full (default 5)")
    parser.add_argument(
        "--exclude",
        action="append",
        metavar="NAME",
        help="a folder name to leave out, repeatable (default: removed-features, bugs)",
    )
    parser.add_argument("--learnings", action="store_true", help="the folder holds learnings, not features")
    parser.add_argument("--json", action="store_true", help="print paths and scores as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """0 when something matched or was listed, 1 when nothing matched."""
    if args.top < 1:
        raise BadSetting("--top", f"{args.top} files cannot be shown: give 1 or more")
    docsearch = importlib.import_module("brim.docsearch")  # so that other commands don't pay for it
    found = docsearch.search(
        args.dir,
        args.keywords,
        rank=args.rank,
        top=args.top,
        budget=args.budget,
        exclude=docsearch.EXCLUDED if args.exclude is None else args.exclude,
        collection=docsearch.LEARNINGS if args.learnings else docsearch.FEATURES,
    )
    if args.json:
        hits = [{"path": hit.path, "score": hit.score, "section": list(hit.trail)} for hit in found.hits]
        print(json.dumps({"matched": found.matched, "hits": hits, "files": list(found.files)}))
    else:
        put(found.text.rstrip("\n") + "\n")
    return 0 if found.hits or (found.files and not any(word.strip() for word in args.keywords)) else 1
