"""Pictures of a window: SVG with a text alternative, drawn without any style attribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from brim.dashboard import words
from brim.dashboard.html import Html, address, el
from brim.planning.reports.decisions import FULL, HIGH

HEIGHT, GAP, LEFT = 160, 3, 40
NARROWEST, WIDEST, ROOM = 9, 40, 1_150
MOST_COLUMNS = 120
# What stood over the limit is drawn up to a share between these, so that the turns as sent stay readable.
LOWEST_TOP, HIGHEST_TOP = 1.25, 2.5


def layer_bar(layers: Sequence[Mapping[str, Any]], side: str, limit: int, label: str) -> Html:
    """One bar of a window by layers, with marks at 75% and 90% and at the limit; `side` is "before" or "after"."""
    total = sum(int(layer[side]) for layer in layers)
    width = max(total, limit, 1)
    parts, at = [], 0
    for layer in layers:
        size = int(layer[side])
        if size <= 0:
            continue
        x, wide = 100 * at / width, 100 * size / width
        parts.append(_rect(f"{x:.3f}%", 0, f"{wide:.3f}%", "100%", f"l{layer['layer']}"))
        if wide >= 5:
            parts.append(el("text", f"L{layer['layer']}", x=f"{x + 0.8:.3f}%", y=18))
        at += size
    for share, name in ((HIGH, "high"), (FULL, "full"), (1.0, "limit")):
        mark = f"{min(100 * share * limit / width, 99.9):.3f}%"
        parts.append(el("line", x1=mark, x2=mark, y1=0, y2="100%", class_=name))
    told = ", ".join(f"{layer['name']} {layer[side]:,}" for layer in layers if layer[side])
    spoken = f"{label}: {total:,} of {limit:,} tokens ({words.filling(total / limit if limit else 0)}); {told}"
    return el("svg", parts, class_="bar", role="img", aria_label=spoken, width="100%", height=28)


def plain_bar(used: int, limit: int, label: str) -> Html:
    """The same where the layers are not known."""
    row = {"layer": 0, "name": "tokens", "after": used}
    return layer_bar([row], "after", limit, label)


def columns(turns: Sequence[Mapping[str, Any]], base: str, session: str) -> Html:
    """A window over the turns: a column a turn, by layers, as a share of its limit; each leads to its turn."""
    shown = turns[-MOST_COLUMNS:]
    step = max(NARROWEST, min(WIDEST, ROOM // max(1, len(shown))))
    width = LEFT + step * len(shown) + 8
    came = max((turn["tokens_before"] / (turn["limit"] or 1) for turn in shown), default=0.0)
    top = min(HIGHEST_TOP, max(LOWEST_TOP, came + 0.1))
    parts = []
    for share, name in ((HIGH, "high"), (FULL, "full"), (1.0, "limit")):
        y = _height(share, top)
        parts.append(el("line", x1=LEFT - 4, x2=width, y1=y, y2=y, class_=name))
    for share, name in ((0.0, "0%"), (HIGH, f"{HIGH:.0%}"), (1.0, "limit"), (2.0, "200%")):
        if share < top:
            parts.append(el("text", name, x=LEFT - 8, y=_height(share, top) + 4, text_anchor="end", class_="axis"))
    for place, turn in enumerate(shown):
        parts.append(_column(turn, LEFT + step * place, step - GAP, base, session, top))
    label = f"The window over {words.plural(len(shown), 'turn')}, as shares of its limit; the table has the numbers"
    return el("svg", parts, class_="columns", role="group", aria_label=label, width=width, height=HEIGHT + 22)


def _column(turn: Mapping[str, Any], x: int, wide: int, base: str, session: str, top: float) -> Html:
    limit = turn["limit"] or 1
    before, after = turn["tokens_before"] / limit, turn["tokens_after"] / limit
    parts = [el("title", _spoken(turn, after)), _rect(x, 0, wide, HEIGHT, "hit")]
    ghost = min(before, top)
    if ghost > after:
        high = _height(ghost, top)
        parts.append(_rect(x, high, wide, round(_height(after, top) - high, 1), "ghost"))
    layers = turn.get("layers") or [{"layer": 0, "after": turn["tokens_after"]}]
    whole = sum(int(layer["after"]) for layer in layers) or 1
    so_far = 0.0
    for layer in layers:
        if not layer["after"]:
            continue
        size = after * int(layer["after"]) / whole
        high = _height(min(so_far + size, top), top)
        parts.append(_rect(x, high, wide, round(_height(min(so_far, top), top) - high, 1), f"l{layer['layer']}"))
        so_far += size
    if turn["level"] != "ok":
        parts.append(_rect(x, HEIGHT + 3, wide, 4, turn["level"]))
    for place, event in enumerate(turn.get("events") or ()):
        parts.append(el("circle", cx=x + wide / 2, cy=6 + 9 * place, r=3.5, class_=f"e-{event['kind']}"))
    if turn["number"] % 5 == 0:
        parts.append(el("text", turn["number"], x=x + wide / 2, y=HEIGHT + 19, text_anchor="middle", class_="axis"))
    href = address(base, "sessions", session, "turns", turn["number"])
    # The table below has the same links for the keyboard.
    return el("a", parts, href=href, tabindex="-1")


def _spoken(turn: Mapping[str, Any], used: float) -> str:
    numbers = f"{turn['tokens_before']:,} tokens as it came, {turn['tokens_after']:,} as sent"
    events = "".join(f"; {event['told']}" for event in turn.get("events") or ())
    told = f"{words.filled(used)} of the limit ({words.level(turn['level'])})"
    return f"Turn {turn['number']}: {numbers}, {told}{events}"


def _height(share: float, top: float) -> float:
    return round(HEIGHT * (1 - share / top), 1)


def _rect(x: str | float, y: float, width: str | float, height: str | float, name: str) -> Html:
    return el("rect", x=x, y=y, width=width, height=height, class_=name)
