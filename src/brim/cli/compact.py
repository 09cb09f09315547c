"""`brim compact`: a smaller text for a log, JSON, diff, page, …"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from typing import Any

import brim
from brim import models, settings
from brim.batch import CompactTask
from brim.cli.terminal.batches import add_batch, run_batch, without_lines
from brim.cli.terminal.reading import add_model, apply_settings, as_text, place_of, read_bytes, tokens
from brim.cli.terminal.writing import printable, put
from brim.content import KINDS
from brim.content.reshape import LEVELS, Shape, reshape
from brim.errors import BadInput

_EXAMPLES = """examples:
  cat build.log | brim compact --budget 1000
  gh api repos/python/cpython/pulls | brim compact            without loss
  brim compact page.html --budget 2000 --query "refund policy"
  brim compact data.json --explain                            every form with its size
  brim compact hits.json --level compact                      a search result in its short form
  brim compact data.json | brim compact --decode              and back
  brim compact --lines 'pages/*.jsonl' --field text -b 500    the texts of many records, on all cores
"""


def add(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "compact",
        help="make a text smaller",
        description="Make a text smaller: without loss, or within a budget with what is missing marked.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "files", metavar="FILE", nargs="*", help="a file, or - for standard input; with --lines files and patterns"
    )
    add_model(parser)
    parser.add_argument(
        "--budget", "-b", type=tokens, metavar="N", help="at most this many tokens; without it, no loss"
    )
    parser.add_argument("--kind", "-k", choices=sorted(KINDS), help="what it is (default: found out)")
    parser.add_argument("--query", "-q", default="", help="what you are after: parts about it stay first")
    parser.add_argument("--explain", action="store_true", help="show every form with its size")
    parser.add_argument(
        "--level", choices=LEVELS, help="the form of a known tool result (search hits, diffs, repo maps, …)"
    )
    parser.add_argument("--tool", default="", help="with --level: the tool that the result is of")
    parser.add_argument("--decode", action="store_true", help="undo a lossless compaction")
    parser.add_argument("--json", action="store_true", help="print the text with its numbers as JSON")
    add_batch(parser)
    parser.set_defaults(run=run)


def _reshaped(text: str, args: argparse.Namespace, tables: Mapping[str, Any]) -> str:
    try:
        value = json.loads(text)
    except ValueError as problem:
        raise BadInput(place_of(args.file), f"is not JSON ({problem})") from None
    own = [Shape.from_dict(name, table) for name, table in tables.items()]
    return json.dumps(reshape(value, args.level, tool=args.tool, shapes=own), ensure_ascii=False, separators=(",", ":"))


def run(args: argparse.Namespace) -> int:
    loaded = apply_settings()
    if args.lines:
        return _lines(args, loaded)
    without_lines(args)
    if len(args.files) > 1:
        raise BadInput(args.files[1], "is a second file: give one, or --lines for the records of many")
    args.file = args.files[0] if args.files else "-"
    text = as_text(read_bytes(args.file), args.file)
    if args.level:
        text = _reshaped(text, args, loaded.shapes)
    hint = brim.Hint(path="" if args.file == "-" else args.file)
    model = args.model or loaded.cli.model or "gpt-4o"
    if args.decode:
        value = brim.decode(text)
        put(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) + "\n")
        return 0
    if args.explain:
        whole = brim.count(text, model=model).tokens
        for form in brim.forms(text, args.kind, model=model, hint=hint):
            size = brim.count(form.text, model=model).tokens
            print(f"{size:>9,} tokens  {size / max(1, whole):>6.1%}  {form.fidelity:11}  {printable(form.note)}")
        return 0
    done = brim.compact(text, args.budget, args.kind, model=model, hint=hint, query=args.query)
    if args.json:
        found = {
            "text": done.text,
            "tokens": done.tokens,
            "kept": round(done.kept, 4),
            "fidelity": done.fidelity,
            "kind": done.kind,
        }
        print(json.dumps(found, ensure_ascii=False))
    else:
        put(done.text if done.text.endswith("\n") else done.text + "\n")
        print(f"{done.kind}: {done.tokens:,} tokens, {done.kept:.0%} of the original, {done.fidelity}", file=sys.stderr)
    return 0


def _lines(args: argparse.Namespace, loaded: settings.Settings) -> int:
    for option in ("level", "decode", "explain"):
        if getattr(args, option):
            raise BadInput(f"--{option}", "takes one text: it does not go with --lines")
    model = args.model or loaded.cli.model or "gpt-4o"
    models.find(model)
    return run_batch(args, CompactTask(args.budget, args.kind, model, args.query, args.field), loaded)
