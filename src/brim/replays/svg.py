"""A chart of a replay's outcomes: tokens, money and prefix reuse, each relative to sending everything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape

from brim.replays.result import Replay, ReplayOutcome, counted

LABEL, WIDTH, GAP, ROW, TOP = 190, 200, 110, 30, 84
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1c2733}.small{font-size:12px;fill:#5b6b7a}.title{font-size:16px;"
    "font-weight:600}.all{fill:#dfe5ea}.part{fill:#1f7a8c}.less{fill:#b4552d}.mark{stroke:#1c2733;stroke-width:2}"
    "@media(prefers-color-scheme:dark){text{fill:#e8edf2}.small{fill:#9fb0bf}.all{fill:#33414e}.part{fill:#4fb3c6}"
    ".less{fill:#e08a5f}.mark{stroke:#e8edf2}}"
)
# A row in a panel: the length of the bar, the position of a mark, and the label.
ShownPoint = tuple[float, float | None, str]
Panel = tuple[str, Callable[[ReplayOutcome], ShownPoint]]


def chart(replay: Replay) -> str:
    """An SVG of the outcomes, one per row.

    Example: Path("replay.svg").write_text(brim.replays.chart(replay))
    """
    panels: list[Panel] = [("Tokens sent", _tokens), ("Input cost", _money), ("Prefix reused", _reuse)]
    if all(outcome.usd_before is None for outcome in replay.outcomes):
        del panels[1]
    width = LABEL + len(panels) * (WIDTH + GAP) + 10
    title = f"Replay of {counted(replay.requests, 'request')} in {counted(replay.conversations, 'conversation')}"
    height = TOP + ROW * len(replay.outcomes) + 34
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        ' role="img" aria-labelledby="t d">',
        f'<title id="t">{title}</title>',
        f'<desc id="d">{escape(str(replay))}</desc>',
        f"<style>{STYLE}</style>",
        f'<text class="title" x="10" y="26">{title}</text>',
        '<text class="small" x="10" y="46">Tokens and cost as shares of sending everything; the prefix as a share of '
        "the tokens, with a line where it is without Brim.</text>",
        *_panels(panels, replay),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _panels(panels: list[Panel], replay: Replay) -> Iterator[str]:
    for number, outcome in enumerate(replay.outcomes):
        yield f'<text x="10" y="{TOP + ROW * number + 15}">{escape(outcome.label)}</text>'
    for column, (title, show) in enumerate(panels):
        x = LABEL + column * (WIDTH + GAP)
        yield f'<text class="small" x="{x}" y="{TOP - 10}">{title}</text>'
        for number, outcome in enumerate(replay.outcomes):
            yield from _bar(x, TOP + ROW * number, *show(outcome))


def _bar(x: int, y: int, share: float, mark: float | None, words: str) -> Iterator[str]:
    """A bar on its background; a value above 100% is a full bar in another colour."""
    length = min(1.0, max(0.0, share)) * WIDTH
    yield f'<rect class="all" x="{x}" y="{y}" width="{WIDTH}" height="20" rx="3"/>'
    yield f'<rect class="{"part" if share <= 1 else "less"}" x="{x}" y="{y}" width="{length:.1f}" height="20" rx="3"/>'
    if mark is not None:
        at = x + min(1.0, max(0.0, mark)) * WIDTH
        yield f'<line class="mark" x1="{at:.1f}" x2="{at:.1f}" y1="{y - 3}" y2="{y + 23}"/>'
    yield f'<text class="small" x="{x + WIDTH + 6}" y="{y + 15}">{escape(words)}</text>'


def _tokens(outcome: ReplayOutcome) -> ShownPoint:
    if not outcome.sent:
        return 0.0, None, "all refused"
    share = 1 - outcome.tokens_saved
    return share, None, f"{share:.0%}"


def _money(outcome: ReplayOutcome) -> ShownPoint:
    if not outcome.usd_before or outcome.usd_after is None:
        return 0.0, None, "no prices" if outcome.sent else ""
    share = outcome.usd_after / outcome.usd_before
    return share, None, f"{share:.0%} (${outcome.usd_after:,.2f})"


def _reuse(outcome: ReplayOutcome) -> ShownPoint:
    if not outcome.sent:
        return 0.0, None, ""
    return outcome.reuse_after, outcome.reuse_before, f"{outcome.reuse_after:.0%}"
