"""`brim fit`: bring a request within a budget."""

from __future__ import annotations

import argparse
import json
from typing import Any

from rich.console import Console

import brim
from brim.cli.terminal.reading import add_model, apply_settings, names_model, need_request, policy_of, reserved, tokens
from brim.cli.terminal.showing import plain, show_report
from brim.cli.terminal.writing import LINES, apart, put, write_all
from brim.planning.policies.policy import NAMES

_EXAMPLES = """examples:
  brim fit chat.json --model gpt-4o --budget 8000 --out fitted.json
  brim fit - --model claude-sonnet-4-5 --budget 20000 < body.json
  brim fit chat.json --model gpt-4o --budget 8k --out fitted.json --archive originals.json
  brim fit chat.json --model gpt-4o --policy rolling --explain
"""


def add(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "fit",
        help="bring a request into a budget",
        description="Bring a messages file or a request body into a budget, and print it.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_request(parser)
    parser.add_argument("--explain", action="store_true", help="say on standard error what was done, and why")
    parser.add_argument("--out", metavar="FILE", help="write the fitted request there instead of printing it")
    parser.add_argument(
        "--archive", metavar="FILE", help="write the originals of what left the request there, by handle"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON instead of the request")
    parser.set_defaults(run=run)


def add_request(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", default="-", help="a JSON file, or - for standard input")
    add_model(parser)
    parser.add_argument(
        "--budget", "-b", type=tokens, metavar="N", help="input tokens; without it the model's own limit"
    )
    parser.add_argument("--reserve", type=reserved, metavar="N", help="tokens to keep free for the answer")
    parser.add_argument("--policy", choices=NAMES, help="how (default: agent)")


def fitted(args: argparse.Namespace) -> brim.Fitted:
    loaded = apply_settings()
    request = need_request(args.file)
    policy = policy_of(loaded, args.policy)
    model = args.model or ("" if names_model(request) else loaded.cli.model) or None
    return brim.fit(request, model=model, budget=args.budget, reserve=args.reserve, policy=policy)


def run(args: argparse.Namespace) -> int:
    apart(("--out", args.out), ("--archive", args.archive))
    found = fitted(args)
    raw = isinstance(found.body, bytes)
    body = found.body.decode("utf-8", "surrogatepass") if raw else json.dumps(found.body, ensure_ascii=False, indent=1)
    write_all({args.out: body, args.archive: json.dumps(found.archive, ensure_ascii=False, indent=1)})
    if args.json:
        print(json.dumps(found.report.as_dict(), ensure_ascii=False))
    elif not args.out:
        put(body + "\n")
    console = Console(stderr=True)
    if args.explain:
        show_report(console, found.report)
    elif not args.json:
        console.print(plain(str(found.report), LINES), highlight=False)
    return 0
