"""The live page: totals, money and the last requests; the same texts again as JSON for the script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from brim.dashboard import money, words
from brim.dashboard.data import DashboardData, ViewValues
from brim.dashboard.html import Html, el, link, number, numbers, table
from brim.dashboard.page import NavigationPlace, figure, figures, page

SHOWN, COUNTED = 25, 100
OUTCOMES = {
    "done": "done",
    "running": "running",
    "refused": "refused",
    "failed": "failed",
    "gone": "client left",
    "incomplete": "incomplete",
}


def render(data: DashboardData, place: NavigationPlace) -> str:
    live = data.live(COUNTED)
    texts = _texts(live, data.models())
    return page(
        place,
        "Live",
        el("h1", "Live"),
        _controls(texts["summary"]),
        _figures(texts),
        el("h2", "Last requests", id="last"),
        _requests(live["turns"][:SHOWN], place),
        el("h2", "Money", id="money"),
        _money(texts),
        section="",
        refresh=10,
    )


def as_json(data: DashboardData, place: NavigationPlace) -> dict[str, Any]:
    """What the script needs to renew the page: texts by key, and the rows of the table."""
    live = data.live(COUNTED)
    rows = "".join(_row(turn, place) for turn in live["turns"][:SHOWN])
    return {"texts": _texts(live, data.models()), "rows": rows}


def _controls(summary: str) -> Html:
    """A sentence that renews with the numbers, the same now and then for screen readers, and a way to stop that."""
    button = el("button", "Pause updates", type="button", id="pause", hidden=True, aria_pressed="false")
    told = el("span", role="status", id="summary", class_="visually-hidden")
    return el("p", el("span", summary, data_live="summary", id="sentence"), told, " ", button, class_="controls")


LABELS = {
    "requests": "Requests",
    "tokens": "Tokens",
    "overflows": "Would have overflowed",
    "cache": "Cache hits",
    "saved": "Saved, net of cache effects",
    "error": "Count against bill",
    "added": "Time added",
    "recalls": "Recalls",
}


def _figures(texts: Mapping[str, str]) -> Html:
    return figures(*(figure(label, texts[key], texts[f"{key}_note"], key=key) for key, label in LABELS.items()))


def _faults(live: ViewValues) -> str:
    found = live.get("faults", 0)
    return f" · {words.plural(found, 'fault')} inside Brim survived: see the log" if found else ""


def _texts(live: ViewValues, models: Sequence[ViewValues]) -> dict[str, str]:
    before, after, requests = live["tokens_before"], live["tokens_after"], live["requests"]
    cut = after / before - 1 if before else None
    overflows = live["overflows_avoided"]
    saved, over = live["saved_usd"], live["over_upper"]
    hits = live["cache_hit_share"]
    texts = {
        "summary": f"{words.plural(requests, 'request')}, {overflows:,} of which would have overflowed.",
        "requests": words.tokens(requests),
        "requests_note": f"{live['running']:,} running · {live['fitted']:,} changed to fit" + _faults(live),
        "tokens": f"{words.short(before)} → {words.short(after)}",
        "tokens_note": f"before → after: {words.signed(cut)}" if cut is not None else "nothing counted yet",
        "overflows": words.tokens(overflows),
        "overflows_note": f"{words.share(overflows / requests)} of requests" if requests else "",
        "cache": words.share(hits),
        "cache_note": "of the input that providers reported" if hits is not None else "no usage reported yet",
        "saved": words.money(saved),
        "saved_note": f"{words.money(live['cost_usd'])} paid, by list prices" + (_loss() if saved < 0 else ""),
        "error": words.share(live["mean_error"]),
        "error_note": "mean error · " + (f"{over:,} above the upper bound" if over else "never above the upper bound"),
        "added": words.milliseconds(live["added_ms_p50"]),
        "added_note": "median before a request is sent",
        "recalls": words.tokens(live["recalls"]),
        "recalls_note": f"{words.plural(live['refits'], 'refit')} after “too long”",
    }
    return texts | _money_texts(live["turns"], models) | _reconciled(live["turns"])


def _loss() -> str:
    return "; new cache writes cost more than was cut, so far"


def _money_texts(turns: Sequence[ViewValues], models: Sequence[ViewValues]) -> dict[str, str]:
    texts = {}
    for kind, part in money.breakdown(turns, money.prices_of(models)).items():
        texts[f"{kind}_tokens"] = words.tokens(part.tokens)
        texts[f"{kind}_usd"] = UNPRICED if part.unpriced == part.tokens > 0 else words.money(part.usd)
    return texts


UNPRICED = "price not known"


def _reconciled(turns: Sequence[ViewValues]) -> dict[str, str]:
    """Predicted against billed, over the requests for which a provider told its number."""
    told = [turn for turn in turns if turn["usage"] and turn["usage"]["input"] and turn["tokens_after"]]
    counted = sum(turn["tokens_after"] for turn in told)
    billed = sum(turn["usage"]["input"] for turn in told)
    saved = sum(turn["saved_usd"] or 0.0 for turn in told)
    paid = sum(turn["cost_usd"] or 0.0 for turn in told)
    if not told:
        return {"reconciled": "No provider has reported its usage yet."}
    return {
        "reconciled": (
            f"{words.plural(len(told), 'request')} with reported usage: Brim counted {counted:,} input tokens, "
            f"providers billed {billed:,} ({words.signed(counted / billed - 1)}). Paid {words.money(paid)}; "
            f"sending everything would have cost {words.money(paid + saved)}."
        )
    }


def _money(texts: Mapping[str, str]) -> Html:
    rows = [
        el(
            "tr",
            el("th", name, scope="row"),
            number(el("span", texts[f"{kind}_tokens"], data_live=f"{kind}_tokens")),
            number(el("span", texts[f"{kind}_usd"], data_live=f"{kind}_usd")),
        )
        for kind, name in money.KINDS.items()
    ]
    made = table(
        f"What the last {COUNTED} requests cost, by list prices",
        ["Kind", *numbers("Tokens", "USD")],
        rows,
        class_="narrow",
    )
    return Html(el("p", el("span", texts["reconciled"], data_live="reconciled")) + made)


def _requests(turns: Sequence[ViewValues], place: NavigationPlace) -> Html:
    heads = ["Session and turn", *numbers("Tokens"), "Window and outcome"]
    rows = [_row(turn, place) for turn in turns]
    empty = el("tr", el("td", "No request has come yet.", colspan=3))
    return table("The last requests, newest first", heads, rows or [empty], id="rows")


def _row(turn: ViewValues, place: NavigationPlace) -> Html:
    where = ("sessions", turn["session"], "turns", turn["number"])
    name = el("bdi", f"{words.brief(turn['session'])} · {turn['number']}")
    about = el("small", words.moment(turn["at"]), " · ", el("bdi", turn["model"] or turn["api"]))
    return el(
        "tr",
        el("th", link(name, place.base, *where) if turn["session"] else "no session", about, scope="row"),
        number(words.before_after(turn["tokens_before"], turn["tokens_after"])),
        el(
            "td",
            words.meter(turn["used"]) if turn["limit"] else "window not known",
            [" ", el("span", "overflow avoided", class_="badge")] if turn["would_have_overflowed"] else None,
            None if fine(turn) else [" ", outcome(turn)],
        ),
    )


def fine(turn: ViewValues) -> bool:
    """Whether a request ended, or goes on, as it should."""
    return turn["outcome"] == "done" and int(turn["status"]) < 400


def outcome(turn: ViewValues) -> Html:
    """How a request ended, in words."""
    word = OUTCOMES.get(turn["outcome"], turn["outcome"])
    if fine(turn) or turn["outcome"] == "running":
        return el("span", word)
    return el("span", f"{word} {turn['status'] or ''}".strip(), class_="critical", title=turn["note"] or None)
