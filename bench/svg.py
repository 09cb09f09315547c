"""Draws two kinds of charts as SVG: points with their names, and bars. The same numbers give the same bytes.

Colours follow the reader's scheme, light or dark; each chart has a title and a description for those who do not see it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 860
FONT = 13
_STYLE = """
  .paper { fill: #ffffff; stroke: #d8dee4 }
  .ink { fill: #1f2328 } .soft { fill: #59636e } .grid { stroke: #e6e9ed }
  .ours { fill: #0a6ebd; stroke: #0a6ebd } .held { fill: #6b7480; stroke: #6b7480 }
  .over { fill: none; stroke: #c4500c } .overbar { fill: #c4500c; opacity: .55 } .overink { fill: #a8430a }
  .name { paint-order: stroke; stroke: #ffffff; stroke-width: 4px; stroke-linejoin: round }
  .oursink { fill: #0a5f9f } .limit { stroke: #8c959f; stroke-width: .8 }
  text { font-family: system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #0d1117; stroke: #30363d }
    .ink { fill: #e6edf3 } .soft { fill: #9da7b3 } .grid { stroke: #232a33 }
    .ours { fill: #58a6ff; stroke: #58a6ff } .held { fill: #9da7b3; stroke: #9da7b3 }
    .over { stroke: #f0883e } .overbar { fill: #f0883e } .overink { fill: #f0a060 }
    .name { stroke: #0d1117 }
    .oursink { fill: #79c0ff } .limit { stroke: #6e7681 }
  }
""".rstrip()


@dataclass(frozen=True)
class Point:
    """A point with its name; `kind` is ours, held (never over) or over."""

    name: str
    x: float
    y: float
    kind: str
    note: str = ""


@dataclass(frozen=True)
class Bar:
    """A bar with its name; where there is no number, `note` says why."""

    name: str
    value: float | None
    kind: str
    note: str = ""


@dataclass(frozen=True)
class Box:
    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: Box) -> float:
        """The area that two boxes share."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(0.0, width) * max(0.0, height)


def width_of(text: str, size: float = FONT) -> float:
    """About how wide a text is. Example: width_of("Brim") -> 28.9"""
    narrow = sum(letter in "iljtfI.,:;'|()[] " for letter in text)
    return size * (0.36 * narrow + 0.62 * (len(text) - narrow))


def scatter(
    title: str,
    about: str,
    points: Sequence[Point],
    axes: tuple[str, str],
    legend: Sequence[tuple[str, str]],
    height: int = 500,
) -> str:
    """Points on two axes from 0 to 1, best at the top right; names stand beside their points."""
    left, top, right, bottom = 76.0, 92.0, WIDTH - 32.0, height - 58.0
    plot = Box(left, top, right, bottom)

    def place(point: Point) -> tuple[float, float]:
        return left + point.x * (right - left), bottom - point.y * (bottom - top)

    lines = [*_grid(plot), *_axes(plot, axes), *_legend(legend, plot)]
    taken = [Box(x - 8, y - 8, x + 8, y + 8) for x, y in map(place, points)]
    labels: list[str] = []
    for point in sorted(points, key=lambda point: (point.kind != "ours", -point.y, point.name)):
        x, y = place(point)
        box, anchor = _label(point, x, y, taken, plot)
        taken.append(box)
        lines += _leader(box, anchor, x, y)
        labels.append(_named(point, box, anchor))
        if point.kind == "ours":
            lines.append(f'<circle class="ours" cx="{x:.1f}" cy="{y:.1f}" r="8"/>')
        else:
            lines.append(f'<circle class="{point.kind}" cx="{x:.1f}" cy="{y:.1f}" r="5.5" stroke-width="2"/>')
    return _page(title, about, [*lines, *labels], height)


def _label(point: Point, x: float, y: float, taken: Sequence[Box], plot: Box) -> tuple[Box, str]:
    """Where a name disturbs least: beside its point, above or below it, as near as there is room."""
    wide = width_of(point.name, _size(point)) + (width_of(point.note, FONT - 1) + 8 if point.note else 0) + 4
    tall = 17.0
    best: tuple[float, Box, str] | None = None
    for far in (11.0, 20.0, 32.0, 46.0, 62.0):
        for anchor, dx, dy in (
            ("start", far, 0.0), ("end", -far, 0.0), ("start", far, -far), ("start", far, far), ("end", -far, -far),
            ("end", -far, far), ("middle", 0.0, -far - tall / 2), ("middle", 0.0, far + tall / 2),
        ):  # fmt: skip
            start = x + dx - (wide if anchor == "end" else wide / 2 if anchor == "middle" else 0.0)
            box = Box(start, y + dy - tall / 2, start + wide, y + dy + tall / 2)
            outside = max(0.0, plot.left + 2 - box.left) + max(0.0, box.right - plot.right - 20)
            outside += max(0.0, plot.top - 6 - box.top) + max(0.0, box.bottom - plot.bottom)
            cost = 4 * sum(map(box.overlap, taken)) + 400 * outside + far + (2 if anchor == "middle" else 0)
            if best is None or cost < best[0]:
                best = (cost, box, anchor)
    assert best is not None
    return best[1], best[2]


def _size(point: Point) -> float:
    return FONT + 2 if point.kind == "ours" else FONT


def _leader(box: Box, anchor: str, x: float, y: float) -> Iterator[str]:
    """A thin line from a point to its name where they are not beside each other."""
    at, middle = _end(box, anchor), (box.top + box.bottom) / 2
    if math.hypot(at - x, middle - y) > 24:
        yield f'<path class="limit" d="M{x:.1f} {y:.1f}L{at:.1f} {middle:.1f}"/>'


def _named(point: Point, box: Box, anchor: str) -> str:
    ink = {"ours": "oursink", "over": "overink"}.get(point.kind, "ink")
    note = f'  <tspan font-size="{FONT - 1}" opacity=".8">{escape(point.note)}</tspan>' if point.note else ""
    weight = "700" if point.kind == "ours" else "400"
    made = _text(_end(box, anchor), box.top + 13, point.name, f"name {ink}", _size(point), anchor, weight)
    return made.replace("</text>", f"{note}</text>")


def _end(box: Box, anchor: str) -> float:
    return {"start": box.left, "end": box.right, "middle": (box.left + box.right) / 2}[anchor]


def _grid(plot: Box) -> Iterator[str]:
    for step in range(0, 11, 2):
        x = plot.left + step / 10 * (plot.right - plot.left)
        y = plot.bottom - step / 10 * (plot.bottom - plot.top)
        yield f'<path class="grid" d="M{x:.1f} {plot.top}V{plot.bottom}M{plot.left} {y:.1f}H{plot.right}"/>'
        yield _text(x, plot.bottom + 18, f"{step * 10}%", "soft", FONT - 1, "middle")
        yield _text(plot.left - 8, y + 4, f"{step * 10}%", "soft", FONT - 1, "end")


def _axes(plot: Box, axes: tuple[str, str]) -> Iterator[str]:
    middle = (plot.top + plot.bottom) / 2
    yield _text((plot.left + plot.right) / 2, plot.bottom + 42, axes[0], "ink", FONT, "middle", "600")
    turned = f' transform="rotate(-90 22 {middle:.1f})"'
    yield _text(22, middle, axes[1], "ink", FONT, "middle", "600", turned)


def _legend(entries: Sequence[tuple[str, str]], plot: Box) -> Iterator[str]:
    x = plot.left
    for kind, text in entries:
        yield f'<circle class="{kind}" cx="{x + 6:.1f}" cy="70" r="5" stroke-width="2"/>'
        yield _text(x + 18, 74, text, "soft", FONT - 1)
        x += 34 + width_of(text, FONT - 1)


def bars(title: str, about: str, rows: Sequence[Bar], unit: str, log: bool = False, note: str = "") -> str:
    """Bars from the left; with `log` each step to the right is ten times as much."""
    left, top, step = 278.0, 84.0, 27.0
    said = {row: f"{_number(row.value)}{' · ' + row.note if row.note else ''}" for row in rows if row.value is not None}
    right = WIDTH - 40.0 - max(map(width_of, said.values()), default=0.0)
    height = int(top + step * len(rows) + 46)
    numbers = [row.value for row in rows if row.value]
    low = 10 ** math.floor(math.log10(min(numbers))) if log and numbers else 0.0
    high = max(numbers, default=1.0)

    def reach(value: float) -> float:
        part = math.log10(max(value, low) / low) / math.log10(high / low) if log and high > low else value / high
        return max(2.0, part * (right - left))

    lines = [_text(left, 70, note, "soft", FONT - 1)] if note else []
    for number, row in enumerate(rows):
        y = top + number * step
        ink = {"ours": "oursink", "over": "overink"}.get(row.kind, "ink")
        weight = "700" if row.kind == "ours" else "400"
        lines.append(_text(left - 12, y + 15, row.name, ink, FONT, "end", weight))
        if row.value is None:
            lines.append(_text(left, y + 15, row.note, "soft", FONT - 1))
            continue
        wide, kind = reach(row.value), {"over": "overbar"}.get(row.kind, row.kind)
        lines.append(f'<rect class="{kind}" x="{left}" y="{y + 2:.1f}" width="{wide:.1f}" height="17" rx="3"/>')
        lines.append(_text(left + wide + 8, y + 15, said[row], ink, FONT, weight=weight))
    lines.append(_text(left, height - 18, unit + (", on a scale of tens" if log else ""), "soft", FONT - 1))
    return _page(title, about, lines, height)


def _number(value: float) -> str:
    """Example: 0.1234 -> "0.12"; 12345.6 -> "12,346"; 6.0 -> "6" """
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _text(
    x: float,
    y: float,
    text: str,
    ink: str,
    size: float = FONT,
    anchor: str = "start",
    weight: str = "400",
    more: str = "",
) -> str:
    return (
        f'<text class="{ink}" x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" text-anchor="{anchor}" '
        f'font-weight="{weight}"{more}>{escape(text)}</text>'
    )


def _page(title: str, about: str, lines: Sequence[str], height: int) -> str:
    body = "\n".join(f"  {line}" for line in lines)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-labelledby="title about">\n'
        f'  <title id="title">{escape(title)}</title>\n  <desc id="about">{escape(about)}</desc>\n'
        f"  <style>{_STYLE}\n  </style>\n"
        f'  <rect class="paper" x=".5" y=".5" width="{WIDTH - 1}" height="{height - 1}" rx="10"/>\n'
        f"  {_text(28, 40, title, 'ink', 18, weight='700')}\n{body}\n</svg>\n"
    )
