"""Columns over time: SVG with a text alternative, drawn without any style attribute."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from brim.dashboard.html import Html, el

HEIGHT = 120
# How times below a chart are written here, and what the script shows of them.
_SHOWN, _PARTS = ("%H:%M", "%d %b %H:%M", "%d %b"), ("hour", "both", "day")
# Columns for the last requests, and the share of the limit up to which they are drawn.
MOST_REQUESTS, HIGHEST = 80, 2.0
Points = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Series:
    """One series of a chart: its name, CSS class, and value at a point."""

    name: str
    class_: str
    value: Callable[[Mapping[str, Any]], float]


def columns(title: str, points: Points, series: Sequence[Series], shown: Callable[[float], str], width: int) -> Html:
    """Stacked columns with a scale of round values at the left, and times below."""
    sums = [sum(max(0.0, one.value(point)) for one in series) for point in points]
    highest = max(sums, default=0.0)
    most = scale(highest)
    step = 100 / max(1, len(points))
    parts: list[Html] = [
        el("line", x1=0, x2="100%", y1=y, y2=y, class_="grid") for y in (0.5, HEIGHT / 2, HEIGHT - 0.5)
    ]
    for place, point in enumerate(points):
        parts.append(_column(point, series, place * step, step, most, shown, width))
    totals = ", ".join(f"{one.name} {_total(one, points, shown)}" for one in series)
    spoken = f"{title} over time: {totals}; the highest column is {shown(highest)}"
    drawn = el("svg", parts, class_="chart", role="img", aria_label=spoken, width="100%", height=HEIGHT)
    legend = [
        el(
            "span",
            el("span", class_=f"swatch {one.class_}"),
            f"{one.name} ",
            el("b", shown(sum(map(one.value, points)))),
        )
        for one in series
    ]
    return el(
        "figure",
        el("figcaption", el("span", title, class_="chart-title"), el("span", legend, class_="legend")),
        el("div", _scale(most, shown), drawn, class_="plot scaled"),
        el("div", _times(points, width), class_="ends") if points else None,
        class_="panel",
    )


def scale(highest: float) -> float:
    """The round value at the top of a chart, whose half is round too. Example: 91 -> 100; 0.27 -> 0.4; 1 -> 1"""
    if highest <= 0:
        return 1.0
    unit = 10.0 ** math.floor(math.log10(highest))
    return next(unit * step for step in (1, 2, 4, 6, 8, 10) if unit * step >= highest * (1 - 1e-9))


def _scale(most: float, shown: Callable[[float], str]) -> Html:
    """The values beside the three lines of a chart; the half of one request is left out."""
    half = shown(most / 2) if shown(most / 2) not in (shown(0), shown(most)) else ""
    return el("div", [el("span", value) for value in (shown(most), half, shown(0))], class_="scale", aria_hidden="true")


def _times(points: Points, width: int) -> list[Html]:
    """The times at both ends and in the middle; the script shows them in the reader's zone."""
    first, last = points[0]["at"], points[-1]["at"] + width
    return [clock(at, width) for at in (first, (first + last) / 2, last)]


def _total(one: Series, points: Points, shown: Callable[[float], str]) -> str:
    return shown(sum(map(one.value, points)))


def _column(
    point: Mapping[str, Any],
    series: Sequence[Series],
    x: float,
    step: float,
    most: float,
    shown: Callable[[float], str],
    width: int,
) -> Html:
    told = "\n".join(f"{one.name}: {shown(one.value(point))}" for one in series)
    parts = [
        el("title", f"{_told(point['at'], width)} UTC\n{told}"),
        el("rect", x=f"{x:.3f}%", y=0, width=f"{step:.3f}%", height=HEIGHT, class_="hit"),
    ]
    bottom = float(HEIGHT)
    for one in series:
        tall = HEIGHT * max(0.0, one.value(point)) / most if most else 0.0
        if tall > 0:
            bottom -= tall
            wide, left = f"{step * 0.8:.3f}%", f"{x + step * 0.1:.3f}%"
            parts.append(
                el("rect", x=left, y=round(bottom, 2), width=wide, height=round(max(tall, 1), 2), class_=one.class_)
            )
    return el("g", parts)


def clock(at: float, width: int) -> Html:
    """A time below a chart, which the script shows in the reader's zone and otherwise is UTC."""
    known = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
    return el("time", _told(at, width), datetime=known, data_with=_PARTS[_spread(width)])


def _told(at: float, width: int) -> str:
    return time.strftime(_SHOWN[_spread(width)], time.gmtime(at))


def _spread(width: int) -> int:
    """What a time needs: 0 the hour, 1 the day and the hour if the chart spans several days, 2 the day alone."""
    return 2 if width > 6 * 3_600 else 1 if width > 600 else 0


def windows(turns: Points, href: Callable[[Mapping[str, Any]], str]) -> Html:
    """The last requests as columns relative to their limit: what was sent, and above it what wasn't."""
    shown = list(reversed(turns[:MOST_REQUESTS]))
    top = max([1.15, *(min(turn["tokens_before"] / (turn["limit"] or 1), HIGHEST) for turn in shown)])
    step = 100 / max(1, len(shown))
    line = round(HEIGHT * (1 - 1 / top), 1)
    parts: list[Html] = []
    for place, turn in enumerate(shown):
        limit = turn["limit"] or 1
        before, after = min(turn["tokens_before"] / limit, top), min(turn["tokens_after"] / limit, top)
        at = {"x": f"{place * step + step * 0.12:.3f}%", "width": f"{step * 0.76:.3f}%"}
        sizes = f"{turn['tokens_before']:,} tokens came, {turn['tokens_after']:,} were sent"
        told = f"{turn['client']} · turn {turn['number']}: {sizes}"
        tall = round(HEIGHT * after / top, 1)
        drawn = [el("title", told), el("rect", y=0, height=HEIGHT, class_="hit", **at)]
        if before > after:
            out = round(HEIGHT * (before - after) / top, 1)
            drawn.append(el("rect", y=round(HEIGHT - tall - out, 1), height=out, class_="k-out", **at))
        drawn.append(el("rect", y=HEIGHT - tall, height=tall, class_="k-sent", **at))
        # The table below offers the same links to the keyboard.
        parts.append(el("a", drawn, href=href(turn), tabindex="-1"))
    parts.append(el("line", x1=0, x2="100%", y1=line, y2=line, class_="limit"))
    over = sum(turn["tokens_before"] > (turn["limit"] or 1) for turn in shown)
    spoken = f"The last {len(shown)} requests as shares of their limits: {over} came larger than it, none was sent so"
    drawn_all = el("svg", parts, class_="chart", role="group", aria_label=spoken, width="100%", height=HEIGHT)
    legend = [
        el("span", el("span", class_="swatch k-sent"), "sent"),
        el("span", el("span", class_="swatch k-out"), "came and was not sent"),
        el("span", el("span", class_="swatch mark"), "limit"),
    ]
    title = el(
        "span", f"The last {len(shown)} requests" if len(shown) != 1 else "The last request", class_="chart-title"
    )
    return el(
        "figure",
        el("figcaption", title, el("span", legend, class_="legend")),
        el("div", drawn_all, class_="plot"),
        class_="panel wide",
    )


def share_bar(share: float, label: str) -> Html:
    """A small decorative bar beside a number."""
    wide = f"{max(0.0, min(1.0, share)) * 100:.1f}%"
    bar = el("rect", x=0, y=0, width=wide, height=6, class_="k-sent", rx=3)
    return el("svg", bar, class_="share", width="100%", height=6, aria_hidden="true", data_label=label)
