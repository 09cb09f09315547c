"""The models page: windows, margins, count errors, usage and cost."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from brim.dashboard import money, words
from brim.dashboard.data import ViewValues
from brim.dashboard.html import Child, Html, el, number, numbers, table
from brim.dashboard.page import NavigationPlace, page
from brim.models import Prices

COUNTED = 500
# An error above 0 is an over-count, which wastes room; below 0 is an under-count.
EDGES = (-0.05, -0.02, -0.01, -0.0005, 0.0005, 0.01, 0.02, 0.05)
NAMES = (
    "under by more than 5%",
    "under by 2–5%",
    "under by 1–2%",
    "under by less than 1%",
    "exact",
    "over by less than 1%",
    "over by 1–2%",
    "over by 2–5%",
    "over by more than 5%",
)
WIDE, HIGH = 14, 36


def render(
    models: Sequence[ViewValues], turns: Sequence[ViewValues], days: Sequence[ViewValues], place: NavigationPlace
) -> str:
    """The page from the models, the last turns and the usage by day."""
    prices = money.prices_of(models)
    return page(
        place,
        "Models",
        el("h1", "Models"),
        _windows(models),
        el("h2", "Token-count error"),
        _errors(models, turns),
        el("h2", "Usage and cost"),
        _usage(models),
        _days(days, prices),
        section="models",
    )


def _windows(models: Sequence[ViewValues]) -> Html:
    heads = ["Model", *numbers("Window", "Largest output", "Input limit"), "Tokenizer", "Known from"]
    heads += [el("th", "USD per million: in / cached / written / out", scope="col")]
    rows = [
        el(
            "tr",
            _name(model),
            number(words.tokens(model["window"])),
            number(words.tokens(model["max_output"])),
            number(words.tokens(model["input_limit"])),
            el("td", model["family"]),
            el("td", model["source"]),
            el("td", _prices(model.get("prices"))),
        )
        for model in models
    ]
    nothing = el("tr", el("td", "No model has been used or discovered yet.", colspan=7))
    return table("Windows in tokens", heads, rows or [nothing])


def _name(model: ViewValues) -> Html:
    used_last = ", the model used last there" if model.get("default") else None
    return el(
        "th", el("bdi", model["model"]), el("small", el("bdi", model.get("upstream", "")), used_last), scope="row"
    )


def _prices(prices: ViewValues | None) -> str:
    if not prices:
        return "not known"
    shown = (prices.get(kind) for kind in ("fresh", "cached", "written", "output"))
    return " / ".join(words.UNKNOWN if price is None else f"{price:g}" for price in shown)


def _errors(models: Sequence[ViewValues], turns: Sequence[ViewValues]) -> Child:
    by_model: dict[str, list[ViewValues]] = {}
    for turn in turns:
        if turn["error"] is not None:
            by_model.setdefault(turn["model"], []).append(turn)
    rows = [_error_row(model, by_model[model["model"]]) for model in models if model["model"] in by_model]
    if not rows:
        return el("p", "No provider has reported usage yet, so nothing can be compared.")
    heads = ["Model", *numbers("Compared", "Margin", "Median", "Worst under", "Worst over", "Above bound")]
    note = "How far counts were off what providers billed. The margin is what the last count kept in reserve."
    return [el("p", note, class_="note"), table("Count errors by model", [*heads, "Distribution"], rows)]


def _error_row(model: ViewValues, turns: Sequence[ViewValues]) -> Html:
    errors = sorted(turn["error"] for turn in turns)
    newest = turns[0]
    margin = newest["upper"] / newest["tokens_after"] - 1 if newest["tokens_after"] else None
    above = sum(turn["usage"]["input"] > turn["upper"] > 0 for turn in turns)
    return el(
        "tr",
        _name(model),
        number(words.tokens(len(turns))),
        number(words.share(margin)),
        number(words.signed(errors[len(errors) // 2])),
        number(words.signed(min(errors[0], 0.0))),
        number(words.signed(max(errors[-1], 0.0))),
        number(el("span", words.tokens(above), class_="critical" if above else None)),
        el("td", histogram(errors)),
    )


def histogram(errors: Sequence[float]) -> Html:
    """A histogram of count errors, with a text alternative."""
    counts = [0] * len(NAMES)
    for error in errors:
        counts[bisect_right(EDGES, error)] += 1
    most = max(counts) or 1
    parts: list[Child] = []
    for place, count in enumerate(counts):
        tall = max(2, round(HIGH * count / most)) if count else 0
        name = "under" if place < 4 else "exact" if place == 4 else "over"
        bar = el("rect", x=place * WIDE, y=HIGH - tall, width=WIDE - 2, height=tall, class_=name)
        parts.append(el("g", el("title", f"{NAMES[place]}: {count:,}"), bar))
    axis = el("line", x1=0, x2=WIDE * len(NAMES), y1=HIGH + 0.5, y2=HIGH + 0.5, class_="axis")
    told = "; ".join(f"{name} {count:,}" for name, count in zip(NAMES, counts, strict=True) if count)
    size = {"width": WIDE * len(NAMES), "height": HIGH + 2}
    return el("svg", parts, axis, class_="histogram", role="img", aria_label=told, **size)


def _usage(models: Sequence[ViewValues]) -> Html:
    heads = ["Model", *numbers("Requests", "Input", "Cached", "Output", "Paid", "Saved, net")]
    rows = [
        el(
            "tr",
            _name(model),
            number(words.tokens(model["requests"])),
            number(words.tokens(model.get("input"))),
            number(words.share(model["cached"] / model["input"]) if model.get("input") else words.UNKNOWN),
            number(words.tokens(model.get("output"))),
            number(words.money(model.get("cost_usd")) if model.get("prices") else "price not known"),
            number(words.money(model.get("saved_usd")) if model.get("prices") else words.UNKNOWN),
        )
        for model in models
        if model["requests"]
    ]
    nothing = el("tr", el("td", "No request yet.", colspan=7))
    return table("The last requests, as providers reported them", heads, rows or [nothing])


def _days(days: Sequence[ViewValues], prices: Mapping[str, Prices]) -> Html | None:
    if not days:
        return None
    heads = ["Day (UTC)", "Model", *numbers("Requests", "Failed", "Counted", "Billed in", "Cached", "Output", "USD")]
    rows = [
        el(
            "tr",
            el("th", day["day"], scope="row"),
            el("td", el("bdi", day["model"])),
            number(words.tokens(day["requests"])),
            number(words.tokens(day["failed"])),
            number(words.tokens(day["estimated"])),
            number(words.tokens(day["actual_in"])),
            number(words.share(day["cached"] / day["actual_in"]) if day["actual_in"] else words.UNKNOWN),
            number(words.tokens(day["actual_out"])),
            number(words.money(money.day_cost(day, prices))),
        )
        for day in days
    ]
    return table("By day and model, from the store", heads, rows)
