"""The home page: current activity, numbers over time, and noteworthy events. A script refreshes its parts."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from brim.dashboard import charts, connect, requests, words
from brim.dashboard.charts import Series
from brim.dashboard.data import DashboardData, ViewValues
from brim.dashboard.glossary import term
from brim.dashboard.html import Child, Html, address, el, link, number, numbers, table, text
from brim.dashboard.page import NavigationPlace, figure, figures, page
from brim.dashboard.sessions import KINDS

# Requests and sessions shown, and recent requests searched for those matching the filter.
SHOWN, SESSIONS, COUNTED = 12, 6, 200
SPANS = {"15m": "15 minutes", "1h": "hour", "24h": "24 hours", "7d": "7 days", "30d": "30 days"}


@dataclass(frozen=True, slots=True)
class HomeFilter:
    """The filter of the numbers: a time span or the usual one, and optionally a model, client and tenant."""

    span: str = ""
    model: str = ""
    client: str = ""
    tenant: str = ""

    @property
    def query(self) -> str:
        chosen = {"span": self.span, "model": self.model, "client": self.client, "tenant": self.tenant}
        return urlencode({name: value for name, value in chosen.items() if value})


def render(data: DashboardData, place: NavigationPlace, chosen: HomeFilter) -> str:
    found = data.numbers(chosen.span, chosen.model, chosen.client, chosen.tenant)
    chosen = replace(chosen, span=found["span"])
    made = parts(data, place, chosen, found)
    return page(
        place,
        "Home",
        el("h1", "What Brim is doing", class_="visually-hidden"),
        el("p", made["sentence"], id="sentence", class_="headline"),
        el("span", role="status", id="summary", class_="visually-hidden"),
        _filters(found, chosen),
        connect.render(place, opened=not found["totals"]["requests"]),
        [el("section", made[name], id=name) for name in ("now", "figures", "charts")],
        el(
            "div", el("section", made["moments"], id="moments"), el("section", made["rows"], id="rows"), class_="halves"
        ),
        el("section", made["names"], id="names"),
        section="",
        refresh=10,
        live=f"live.json?{chosen.query}",
    )


def as_json(data: DashboardData, place: NavigationPlace, chosen: HomeFilter) -> dict[str, Any]:
    """The parts of the page by id, for the script that refreshes it."""
    found = data.numbers(chosen.span, chosen.model, chosen.client, chosen.tenant)
    chosen = replace(chosen, span=found["span"])
    return {"parts": parts(data, place, chosen, found)}


def parts(data: DashboardData, place: NavigationPlace, chosen: HomeFilter, found: ViewValues) -> dict[str, str]:
    """All parts that change."""
    live = data.live(COUNTED)
    turns = [turn for turn in live["turns"] if _chosen(turn, chosen)]
    return {
        "sentence": text(sentence(found, chosen)),
        "now": text(_now(data, place, chosen)),
        "figures": _figures(found["totals"], live, place),
        "charts": _charts(found, turns, place),
        "moments": text(_moments(data.moments(), place)),
        "rows": requests.listed(turns[:SHOWN], place),
        "names": text(_names(found, place)),
    }


def _chosen(turn: ViewValues, chosen: HomeFilter) -> bool:
    given = {"model": chosen.model, "client": chosen.client, "tenant": chosen.tenant}
    return all(not value or turn.get(name) == value for name, value in given.items())


def sentence(found: ViewValues, chosen: HomeFilter) -> str:
    """What Brim did, in one sentence.

    Example: "In the last 24 hours Brim kept 69 of 96 requests inside gpt-4o-mini's window and saved $0.13."
    """
    whole, when = found["totals"], f"In the last {SPANS[chosen.span]}"
    count, avoided, saved = whole["requests"], whole["overflows_avoided"], whole["saved_usd"]
    if not count:
        return f"{when} no request has come. Point a client here to begin."
    models = [row["name"] for row in found["models"] if row["requests"]]
    window = f"{models[0]}'s window" if len(models) == 1 and models[0] else "their models' windows"
    money = ""
    if saved >= 0.005:
        money = f" and saved {words.money(saved)}"
    elif saved <= -0.005:
        money = f"; so far its compactions cost {words.money(-saved)} more in cache writes than they saved"
    if not avoided:
        fitted = "it was" if count == 1 else "all of them were"
        return f"{when} {words.plural(count, 'request')} went through Brim, and {fitted} inside {window}{money}."
    return f"{when} Brim kept {avoided:,} of {words.plural(count, 'request')} inside {window}{money}."


def _filters(found: ViewValues, chosen: HomeFilter) -> Html:
    """A form with a button; the script submits it at every change."""
    fields: list[Child] = [_select("span", "Time", chosen.span, {span: SPANS[span] for span in found["spans"]})]
    for name in ("model", "client", "tenant"):
        listed = [choice for choice in found["choices"][name] if choice]
        given = getattr(chosen, name)
        if len(listed) > 1 or given:
            fields.append(_select(name, name.capitalize(), given, {"": f"all {name}s"} | {one: one for one in listed}))
    buttons = [
        el("button", "Show", type="submit"),
        el("button", "Pause updates", type="button", id="pause", hidden=True, aria_pressed="false"),
    ]
    return el("form", fields, buttons, method="get", id="filters", class_="controls")


def _select(name: str, label: str, given: str, choices: Mapping[str, str]) -> Html:
    if given not in choices:
        choices = {**choices, given: given}
    options = [
        el("option", words.brief(shown) if name == "tenant" else shown, value=value, selected=value == given)
        for value, shown in choices.items()
    ]
    return el("label", f"{label} ", el("select", options, name=name))


def _now(data: DashboardData, place: NavigationPlace, chosen: HomeFilter) -> list[Child]:
    """Requests in flight, and the sessions used last with how full they are."""
    running = [turn for turn in data.running() if _chosen(turn, chosen)]
    sessions = [one for one in data.sessions(50) if _chosen(one, chosen)][:SESSIONS]
    count = f"{words.plural(len(running), 'request')} in flight" if running else "Nothing in flight"
    told: list[Child] = [el("p", el("span", class_="dot on" if running else "dot"), count, class_="label")]
    if running:
        told.append(el("ul", [_running(turn, place) for turn in running], class_="running"))
    if not sessions:
        return told
    return [*told, el("ul", [_session(one, place) for one in sessions], class_="cards")]


def _running(turn: ViewValues, place: NavigationPlace) -> Html:
    where = ("sessions", turn["session"], "turns", turn["number"])
    seconds = max(0, round(time.time() - turn["at"]))
    told = f" · {words.tokens(turn['tokens_after'])} tokens · {seconds:,} s"
    return el("li", link(f"{turn['client'] or 'client'} → {turn['model']}", place.base, *where), told)


def _session(one: ViewValues, place: NavigationPlace) -> Html:
    """A card that shows how full a session's window is."""
    name = el("bdi", one["client"] or words.brief(one["id"]))
    size = f"{words.short(one['tokens_after'])} of {words.short(one['limit'])} tokens" if one["limit"] else ""
    return el(
        "li",
        el("b", link(name, place.base, "sessions", one["id"])),
        el(
            "small",
            el("bdi", one["model"]),
            " · ",
            words.plural(one["requests"], "turn"),
            " · ",
            words.moment(one["touched"]),
        ),
        words.meter(one["used"], one["level"]) if one["limit"] else None,
        el("small", size),
        class_="panel",
    )


def _figures(whole: ViewValues, live: ViewValues, place: NavigationPlace) -> Html:
    count, before, after = whole["requests"], whole["tokens_before"], whole["tokens_after"]
    given, failed = whole["input"], whole["failed"]
    hits = whole["cached"] / given if given else None
    error = whole["errors"] / whole["compared"] if whole["compared"] else None
    over = f"{whole['over_upper']:,} above the bound" if whole["over_upper"] else "never above the bound"
    faults = live.get("faults", 0)
    survived = f"; {words.plural(faults, 'fault')} inside Brim survived" if faults else ""
    return figures(
        figure("Requests", words.tokens(count), f"{failed:,} failed{survived}" if failed or faults else "none failed"),
        figure("Tokens sent", words.short(after), f"{words.short(before - after)} kept out" if count else ""),
        figure(
            term("overflow avoided", place, "Overflows avoided"),
            words.tokens(whole["overflows_avoided"]),
            f"{words.share(whole['overflows_avoided'] / count)} of requests" if count else "",
        ),
        figure(term("cache hits", place, "Cache hits"), words.share(hits), "of input tokens"),
        figure(
            term("saved, net", place, "Saved, net"),
            words.money(whole["saved_usd"]),
            f"{words.money(whole['cost_usd'])} paid",
        ),
        figure(
            term("recall", place, "Recalls"), words.tokens(whole["recalls"]), words.plural(whole["refits"], "refit")
        ),
        figure(term("count error", place, "Count error"), words.share(error), over),
        figure(
            term("time added", place, "Time added"),
            words.milliseconds(whole["added_ms"] / count if count else None),
            "a request, on average",
        ),
    )


def _charts(found: ViewValues, turns: Sequence[ViewValues], place: NavigationPlace) -> Html:
    points, width = found["points"], found["width"]
    tokens = (
        Series("sent", "k-sent", lambda point: point["tokens_after"]),
        Series("kept out", "k-out", lambda point: max(0, point["tokens_before"] - point["tokens_after"])),
    )
    paid = (
        Series("paid", "k-paid", lambda point: point["cost_usd"]),
        Series("saved", "k-saved", lambda point: max(0.0, point["saved_usd"])),
    )
    counted = (
        Series("as they came", "k-plain", lambda point: point["requests"] - point["overflows_avoided"]),
        Series("overflow avoided", "k-saved", lambda point: point["overflows_avoided"]),
    )

    def href(turn: ViewValues) -> str:
        return address(place.base, "sessions", turn["session"], "turns", turn["number"])

    return el(
        "div",
        charts.windows([turn for turn in turns if turn["limit"]], href) if turns else None,
        charts.columns("Tokens", points, tokens, words.short, width),
        charts.columns("Money", points, paid, words.money, width),
        charts.columns("Requests", points, counted, words.short, width),
        class_="charts",
    )


def _moments(moments: Sequence[ViewValues], place: NavigationPlace) -> list[Child]:
    """Recent noteworthy events."""
    told: list[Child] = [el("h2", "Worth a look")]
    if not moments:
        return [*told, el("p", "Compactions, recalls, lost caches and faults will be listed here.", class_="note")]
    rows = [
        el(
            "li",
            el("span", KINDS[one["kind"]], class_=f"kind e-{one['kind']}"),
            el("span", one["told"], " "),
            link(
                f"turn {one['number']} of {words.brief(one['session'])}",
                place.base,
                "sessions",
                one["session"],
                "turns",
                one["number"],
            ),
            el("small", words.moment(one["at"])),
        )
        for one in moments
    ]
    return [*told, el("ul", rows, class_="moments")]


def _turn(one: ViewValues) -> str:
    return f"turn {one['number']} of {words.brief(one['session'])}"


def _names(found: ViewValues, place: NavigationPlace) -> list[Child]:
    """The numbers by model, client and tenant."""
    made: list[Child] = []
    for name in ("model", "client", "tenant"):
        rows = found[f"{name}s"]
        if rows and (name != "tenant" or len(rows) > 1):
            made.append(_by(name, rows, place))
    return [el("h2", "By model, client and tenant"), *made] if made else []


def _by(name: str, rows: Sequence[ViewValues], place: NavigationPlace) -> Html:
    most = max(row["tokens_after"] for row in rows) or 1
    heads = [name.capitalize(), *numbers("Requests", "Avoided", "Sent", "Kept out", "Cache hits", "Paid", "Saved")]
    made = []
    for row in rows:
        shown = row["name"] or "unknown"
        given = row["input"]
        cells = (
            words.tokens(row["requests"]),
            words.tokens(row["overflows_avoided"]),
            words.short(row["tokens_after"]),
            words.short(max(0, row["tokens_before"] - row["tokens_after"])),
            words.share(row["cached"] / given if given else None),
            words.money(row["cost_usd"]),
            words.money(row["saved_usd"]),
        )
        bar = charts.share_bar(row["tokens_after"] / most, shown)
        title = el("bdi", words.brief(shown) if name == "tenant" else shown)
        made.append(el("tr", el("th", title, bar, scope="row"), [number(cell) for cell in cells]))
    return table(f"By {name}, the most tokens first", heads, made)
