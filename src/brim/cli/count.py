"""`brim count`: tokens of a text, a conversation, a request or a folder."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

import brim
from brim import apis, models
from brim.batch import CountTask
from brim.cli.terminal.batches import add_batch, run_batch, without_lines
from brim.cli.terminal.named_files import files_named
from brim.cli.terminal.reading import add_model, apply_settings, as_text, json_problem, place_of, read_bytes, request_in
from brim.cli.terminal.showing import STYLE, certainty, plain, plural
from brim.counting import NO_WINDOW, approximate, approximation
from brim.errors import BadInput, UnknownModel
from brim.models import Model
from brim.planning.items import current
from brim.planning.reports.decisions import LAYERS, level_of
from brim.tokens.counter import Count, Counter

# A name that resembles a known one so much is a typing error.
TYPED = 0.75
_EXAMPLES = """examples:
  brim count README.md --model gpt-4o              a text
  brim count chat.json --model claude-sonnet-4-5   a list of messages, or a request body
  brim count src --model gpt-4o                    every file in a folder
  brim count *.md 'docs/**/*.md' --model gpt-4o    several files, folders and patterns
  git diff | brim count - --model gpt-4o --json
  brim count --lines 'traffic/*.jsonl'             every request of recordings, on all cores
"""


def add(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "count",
        help="count tokens",
        description="Count the tokens of a text, a messages file, a request body or a folder.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        help="files, folders, patterns such as 'docs/**/*.md', or - for standard input",
    )
    add_model(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_batch(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    loaded = apply_settings()
    args.default = loaded.cli.model
    if args.lines:
        for name in filter(None, (args.model, args.default)):
            models.find(name)
        return run_batch(args, CountTask(args.model or "", args.default, args.field), loaded)
    without_lines(args)
    if len(args.files) > 1 or any(name != "-" and not Path(name).is_file() for name in args.files):
        return _several(args)
    args.file = args.files[0] if args.files else "-"
    data = read_bytes(args.file)
    request = request_in(data)
    if request is None:
        known = _model(args, "")
        if problem := json_problem(data):
            print(f"{place_of(args.file)} is not JSON ({problem}): counted as plain text", file=sys.stderr)
        _print(args, _certain(brim.count(as_text(data, args.file), model=known), known), {})
        return 0
    conversation = apis.parse(request, model=args.model or "")
    model = _model(args, conversation.model)
    counter = Counter(model, conversation.api)
    count = counter.count(conversation)
    rows = [
        (message.role, size, message.text) for message, size in zip(conversation.messages, count.messages, strict=True)
    ]
    layers = [count.head, 0, 0, 0, 0]
    now = current(conversation.messages)
    for number, (role, size, _) in enumerate(rows):
        layers[0 if role == "system" else 4 if number == now else 3] += size
    _print(args, _certain(count, model), {"model": model, "rows": rows, "layers": layers})
    return 0


def _certain(count: Count, model: Model) -> Count:
    """A count for a model that nobody knows is an estimate, however exact the vocabulary is that it was taken for."""
    return replace(count, source="estimated") if model.source == "unknown" else count


def _model(args: argparse.Namespace, named: str) -> Model:
    """The model that is named; one that nobody knows is estimated, unless its name is most likely a typing error."""
    name = args.model or named or args.default
    if not name:
        told = "is missing: name the model that the tokens are for, such as gpt-4o, or set cli.model in brim.toml"
        raise BadInput("--model", told)
    try:
        return models.find(str(name))
    except UnknownModel as unknown:
        if get_close_matches(unknown.name, unknown.near, 1, TYPED):
            raise
        model = approximate(unknown.name)
        print(approximation(model, unknown.near), file=sys.stderr)
        return model


def _print(args: argparse.Namespace, count: Count, more: dict[str, Any]) -> None:
    if args.json:
        found: dict[str, Any] = {"tokens": count.tokens, "upper": count.upper, "source": count.source}
        if more:
            found["messages"] = [{"role": role, "tokens": size} for role, size, _ in more["rows"]]
            found["layers"] = {name: more["layers"][layer - 1] for layer, name in LAYERS.items()}
            if more["model"].window < NO_WINDOW:
                found["max_input"] = more["model"].max_input()
        print(json.dumps(found))
        return
    console = Console()
    if more:
        table = Table("#", "role", "tokens", "text", box=None, header_style="bold")
        table.columns[2].justify = "right"
        for number, (role, size, text) in enumerate(more["rows"]):
            table.add_row(str(number), role, f"{size:,}", plain(" ".join(text[:200].split())[:70]))
        console.print(table)
        for layer, name in LAYERS.items():
            if more["layers"][layer - 1]:
                console.print(f"L{layer} {name}: {more['layers'][layer - 1]:,}", highlight=False)
        if more["model"].window < NO_WINDOW:
            _print_share(console, count, more["model"])
    named = "token" if count.tokens == 1 else "tokens"
    console.print(f"[bold]{count.tokens:,}[/] {named} ({certainty(count)})", highlight=False)


def _print_share(console: Console, count: Count, model: Model) -> None:
    """How much of the model's window it takes."""
    limit = model.max_input()
    used = count.tokens / limit
    level = "too much" if used > 1 else level_of(used)
    style = STYLE.get(level, "red")
    console.print(f"[{style}]{used:.1%} of the {limit:,} tokens that {plain(model.name)} takes ({level})[/]")


def _several(args: argparse.Namespace) -> int:
    """Count every text file among the named files, folders (recursively) and patterns."""
    files = list(dict.fromkeys(path for name in args.files for path in files_named(name)))
    model = _model(args, "")
    found: list[tuple[str, int]] = []
    console = Console(stderr=True)
    for path in track(files, "counting", console=console, transient=True, disable=not console.is_terminal):
        data = path.read_bytes()
        if b"\0" not in data[:4096]:
            text = data.decode("utf-8", "replace")
            found.append((_shown(path, args.files), brim.count(text, model=model).tokens))
    total = sum(size for _, size in found)
    if args.json:
        print(json.dumps({"tokens": total, "files": dict(found)}))
        return 0
    table = Table("tokens", "file", box=None, header_style="bold")
    table.columns[0].justify = "right"
    for name, size in sorted(found, key=lambda row: (-row[1], row[0])):
        table.add_row(f"{size:,}", plain(name))
    Console().print(table)
    Console().print(f"[bold]{total:,}[/] tokens in {plural(len(found), 'text file')}", highlight=False)
    return 0


def _shown(path: Path, named: list[str]) -> str:
    """A file's name, relative to the folder if only one folder was named."""
    root = Path(named[0])
    return str(path.relative_to(root)) if len(named) == 1 and root.is_dir() else str(path)
