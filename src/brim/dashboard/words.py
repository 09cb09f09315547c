"""Numbers, times and levels as people read them."""

from __future__ import annotations

import json
import time
from typing import Any

from brim.dashboard.html import Html, el
from brim.planning.reports.decisions import FULL, HIGH, level_of

UNKNOWN = "–"


def tokens(value: float | None) -> str:
    """Example: 41200 -> "41,200" """
    return UNKNOWN if value is None else f"{value:,.0f}"


def short(value: float | None) -> str:
    """Example: 48_210_000 -> "48.2M"; 41_200 -> "41.2k"; 812 -> "812" """
    if value is None:
        return UNKNOWN
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            scaled = value / (1e3 if unit == "k" else size)
            return f"{scaled:.0f}{unit}" if scaled >= 100 else f"{scaled:.1f}{unit}"
    return f"{value:,.0f}"


def money(value: float | None) -> str:
    """Cents, and below a cent its parts. Example: 12.3 -> "$12.30"; -0.00042 -> "−$0.0004" """
    if value is None:
        return UNKNOWN
    size = abs(value)
    sign = "−" if value < 0 and size >= 0.00005 else ""
    return f"{sign}${size:,.2f}" if size >= 0.01 or size < 0.00005 else f"{sign}${size:.4f}"


def share(value: float | None) -> str:
    """Example: 0.834 -> "83%"; 0.0042 -> "0.4%"; 0.9995 -> "100%" """
    if value is None:
        return UNKNOWN
    return f"{value:.0%}" if value == 0 or abs(value) >= 0.0995 else f"{value:.1%}"


def filled(used: float) -> str:
    """How full a window is, rounded down so that it agrees with its level. Example: 0.896 -> "89%"; 0.999 -> "99%" """
    return f"{int(used * 100 + 1e-9)}%"


def signed(value: float | None) -> str:
    """Example: 0.012 -> "+1.2%"; -0.5 -> "−50%" """
    if value is None:
        return UNKNOWN
    return "0%" if abs(value) < 0.0005 else ("−" if value < 0 else "+") + share(abs(value))


def milliseconds(value: float | None) -> str:
    """Example: 1.234 -> "1.2 ms"; 4200 -> "4.2 s" """
    if value is None:
        return UNKNOWN
    return f"{value / 1000:,.1f} s" if value >= 1000 else f"{value:.1f} ms"


def moment(at: float | None, now: float | None = None) -> Html:
    """A time, without its date if that is today's; the script shows it in the reader's own zone."""
    if not at:
        return Html(UNKNOWN)
    known = time.gmtime(at)
    today = time.gmtime(time.time() if now is None else now)
    same = known[:3] == today[:3]
    shown = time.strftime("%H:%M:%S" if same else "%Y-%m-%d %H:%M", known)
    return el("time", shown, datetime=time.strftime("%Y-%m-%dT%H:%M:%SZ", known))


def brief(id: str) -> str:
    """An id that fits a table, without the tenant that it begins with.

    Example: "k3nv~support-desk.3fa91c02" -> "support-desk"; "claude-code-17f0-aa.3fa91c02" -> "claude-code-…f0-aa"
    """
    own = id.rpartition("~")[2]
    name, dot, digest = own.rpartition(".")
    own = name if dot and len(digest) == 8 else own
    return own if len(own) <= 18 else f"{own[:12]}…{own[-5:]}"


def before_after(before: float | None, after: float | None) -> str:
    """Example: (41200, 7930) -> "41,200 → 7,930"; the same number once if nothing changed."""
    return tokens(after) if before == after else f"{tokens(before)} → {tokens(after)}"


def plural(count: int, one: str, many: str = "") -> str:
    """Example: plural(2, "message") -> "2 messages" """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def level(kind: str) -> str:
    """A level of a window. Example: "high" -> "high, above 75%" """
    return {
        "ok": "comfortable",
        "high": f"high, above {HIGH:.0%}",
        "full": f"full, above {FULL:.0%}: older turns give way as new ones come",
        "critical": f"critical: what cannot be shortened takes {FULL:.0%} and more",
    }[kind]


def filling(used: float) -> str:
    """How full a request as it came would have made its window. Example: 1.3 -> "too much" """
    return "too much" if used > 1 else level(level_of(used)).partition(":")[0]


def meter(used: float, kind: str) -> Html:
    """How full a window is: a small bar, the share and the level in words."""
    word = "" if kind == "ok" else f" {kind}"
    # A meter turns at values above its marks, the levels at the marks themselves; only near a refusal it is red.
    marks = {"low": HIGH - 1e-4, "high": FULL - 1e-4 if kind == "critical" else 1, "optimum": 0}
    bar = el("meter", min=0, max=1, value=f"{min(used, 1):.4f}", aria_hidden="true", **marks)
    return el("span", bar, " ", filled(used), word and el("b", word), class_=f"used {kind}")


def api(name: str) -> str:
    """Example: "openai_chat" -> "openai chat" """
    return name.replace("_", " ")


def plain(value: Any) -> str:
    """A setting as text. Example: True -> "true"; ("a", "b") -> '["a", "b"]'; "x" -> "x" """
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
