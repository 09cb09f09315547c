"""The cost of requests by kind of token, from list prices and reported usage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from brim.models import Prices

KINDS = {
    "fresh": "Input, fresh",
    "cached": "Input, read from the cache",
    "written": "Input, written to the cache",
    "output": "Output",
}


@dataclass(slots=True)
class PricePart:
    """One kind of token: the number and the cost; `unpriced` tokens have no known price."""

    tokens: int = 0
    usd: float = 0.0
    unpriced: int = 0


def prices_of(models: Iterable[Mapping[str, Any]]) -> dict[str, Prices]:
    """Prices by model, for the models whose prices are known."""
    return {row["model"]: Prices(**row["prices"]) for row in models if row.get("prices")}


def breakdown(turns: Iterable[Mapping[str, Any]], prices: Mapping[str, Prices]) -> dict[str, PricePart]:
    """Tokens and USD by kind.

    Example: one turn of 1,000 input tokens, 900 of them cached -> fresh 100, cached 900, written 0
    """
    found = {kind: PricePart() for kind in KINDS}
    for turn in turns:
        usage = turn["usage"]
        if usage is None:
            continue
        known = prices.get(turn["model"])
        fresh = max(0, usage["input"] - usage["cached"] - usage["written"])
        for kind, count in {**usage, "fresh": fresh}.items():
            if kind not in found:
                continue
            part = found[kind]
            part.tokens += count
            if known is None:
                part.unpriced += count
            else:
                part.usd += known.cost(**{kind: count})
    return found


def day_cost(row: Mapping[str, Any], prices: Mapping[str, Prices]) -> float | None:
    """The cost of a day's usage of a model; None without prices. Cache writes count as fresh input."""
    known = prices.get(row["model"])
    if known is None:
        return None
    return known.cost(max(0, row["actual_in"] - row["cached"]), row["cached"], 0, row["actual_out"])
