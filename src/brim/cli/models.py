"""`brim models`: what Brim knows about models."""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Sequence, Set
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from brim import models as catalog
from brim import settings
from brim.cli.terminal.named_store import named_store
from brim.cli.terminal.reading import apply_settings
from brim.cli.terminal.showing import plain, plural
from brim.errors import UnknownModel
from brim.gateway.fitting.last_models import default_place
from brim.gateway.proxy.upstreams import targets_of
from brim.stores.resilient import is_address
from brim.tokens.actuals import Actuals
from brim.tokens.counter import Counter

NUMBERS = ("window", "output", "input", "tokenizer", "in $", "cached $", "out $")
# Below NARROW, columns are left out; output to a file or pipe is WIDE.
NARROW, WIDE = 110, 160
_EXAMPLES = """examples:
  brim models                  all of them
  brim models claude-sonnet    those with this in their name
  brim models 'gpt-5*' --json
  brim models --forget my-model    what providers reported of it is not used any more
"""


def add(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "models",
        help="list models",
        description="List the models that Brim knows: windows, outputs, tokenizers, prices (USD per million tokens).",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("pattern", metavar="PATTERN", nargs="?", help="part of a name, or a pattern with * and ?")
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    parser.add_argument("--forget", metavar="NAME", help="forget what was learnt of a model's vocabulary from usage")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    apply_settings()
    if args.forget:
        return _forget(args.forget)
    found = sorted(catalog.models(args.pattern), key=lambda model: _rank(model, args.pattern or ""))
    used_last = _used_last()
    if args.json:
        for model in found:
            print(json.dumps(dataclasses.asdict(model) | {"is_default": model.name in used_last.values()}))
        return 0 if found else 1
    if not found:
        catalog.find(args.pattern)  # raises with similar names
        return 1
    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, WIDE)  # a file or a pipe has no edge
    console.print(_table(found, set(used_last.values()), narrow=console.width < NARROW))
    console.print(plural(len(found), "model"), highlight=False)
    if len({model.name for model in found}) < len(found):
        console.print("A name alone means its first row; provider/name means another one.", highlight=False)
    if used_last:
        told = ", ".join(f"{model} at {provider}" for provider, model in used_last.items())
        console.print(f"* used last: {plain(told)}", highlight=False)
    return 0


def _rank(model: catalog.Model, pattern: str) -> tuple[bool, bool, bool]:
    """Sorts what a pattern most likely means to the top: this name, then what a name alone means, then such a start."""
    return model.name != pattern, catalog.find(model.name) != model, not model.name.startswith(pattern)


def _used_last() -> dict[str, str]:
    """The model used last at each provider, by a gateway on the configured store."""
    loaded = settings.load()
    if not is_address(loaded.store_place) and not Path(loaded.store_place).expanduser().is_file():
        return {}
    with named_store() as store:
        kept = {target.name: store.get_value(default_place(target.name)) for target in targets_of(loaded)}
    return {provider: model.decode() for provider, model in kept.items() if model}


def _forget(name: str) -> int:
    """Forget the usage reported for a model's vocabulary; a running gateway notices within a minute."""
    try:
        kin = Counter(catalog.find(name), "openai_chat").kin
    except UnknownModel:  # a gateway may have discovered it at its upstream
        kin = f"estimate/{name}"
    with named_store() as store:
        Actuals(store).forget(kin)
    print(f"forgot what was learnt of {kin}: it is counted as if never seen")
    return 0


def _table(models: Sequence[catalog.Model], used_last: Set[str], *, narrow: bool) -> Table:
    """A table of models' limits and prices, those used last with a star; a narrow one has fewer columns."""
    table = Table(box=None, header_style="bold")
    table.add_column("model", overflow="fold")
    table.add_column("provider", overflow="fold", max_width=12)
    left_out = ("input", "cached $") if narrow else ()
    for name in (name for name in NUMBERS if name not in left_out):
        table.add_column(name, justify="left" if name == "tokenizer" else "right", no_wrap=True)
    for model in models:
        prices = model.prices
        told = {
            "window": short(model.window),
            "output": short(model.max_output) if model.max_output else "?",
            "input": short(model.max_input()),
            "tokenizer": model.family,
            "in $": _price(prices.fresh if prices else None),
            "cached $": _price(prices.cached if prices else None),
            "out $": _price(prices.output if prices else None),
        }
        table.add_row(
            plain(model.name) + (" *" if model.name in used_last else ""),
            plain(model.provider),
            *(told[name] for name in NUMBERS if name not in left_out),
        )
    return table


def short(tokens: int) -> str:
    """Example: 128_000 -> "128k"; 1_047_576 -> "1,048k"; 950 -> "950" """
    return f"{tokens / 1_000:,.0f}k" if tokens >= 10_000 else f"{tokens:,}"


def _price(value: float | None) -> str:
    return "" if value is None else f"{value:g}"
