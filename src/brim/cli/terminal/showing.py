"""Reports in a terminal."""

from __future__ import annotations

from itertools import groupby

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from brim.cli.terminal.writing import LINES, printable
from brim.planning.reports.decisions import LAYERS, Decision, Report
from brim.tokens.counter import Count

WIDTH = 40
STYLE = {"ok": "green", "high": "yellow", "full": "yellow", "critical": "red"}
FORMS = {
    "full": "green",
    "dense": "cyan",
    "outline": "yellow",
    "line": "yellow",
    "archived": "dim",
    "dropped": "dim",
    "summary": "magenta",
}
# Lines per layer to show.
MOST = 60


def bar(used: float, width: int = WIDTH) -> str:
    """Example: bar(0.5, 10) -> "█████░░░░░" """
    full = round(min(1.0, max(0.0, used)) * width)
    return "█" * full + "░" * (width - full)


def plural(count: int, one: str) -> str:
    """Example: plural(1, "request") -> "1 request"; plural(2_000, "request") -> "2,000 requests" """
    return f"{count:,} {one}{'' if count == 1 else 's'}"


def certainty(count: Count) -> str:
    """How certain a count is; an exact one needs no bound. Example: "exact"; "estimated, at most 1,200" """
    return count.source if count.source == "exact" else f"{count.source}, at most {count.upper:,}"


def plain(text: str, keep: str = "") -> str:
    """Foreign text made safe for the console: printable, with brackets escaped.

    Example: plain("see [/INST]") -> "see \\[/INST]", which is shown as it was
    """
    return escape(printable(text, keep))


def show_report(console: Console, report: Report) -> None:
    style = STYLE[report.level]
    console.print(
        f"[{style}]{bar(report.used)}[/] {report.used:.0%} of {report.limit:,} tokens ({report.level})", highlight=False
    )
    console.print(plain(str(report), LINES), highlight=False)
    table = Table("layer", "before", "after", "", box=None, header_style="bold")
    for column in (1, 2):
        table.columns[column].justify = "right"
    for use in report.layers:
        if use.before or use.after:
            share = use.after / report.limit if report.limit else 0
            table.add_row(f"L{use.layer} {use.name}", f"{use.before:,}", f"{use.after:,}", bar(share, 24))
            for part in use.parts:
                table.add_row(f"   {plain(part.name)}", f"{part.before:,}", f"{part.after:,}", "", style="dim")
    console.print(table)
    if report.decisions:
        biggest = ", ".join(f"{one.item} {one.after:,}" for one in report.biggest if one.after)
        console.print(f"biggest: {plain(biggest or 'nothing')}", highlight=False)
        # One line an item, which a terminal cuts off at its edge.
        console.print(_tree(report), no_wrap=True, overflow="ellipsis", crop=True)


def _tree(report: Report) -> Tree:
    tree = Tree(f"{len(report.decisions):,} items")
    for layer, name in LAYERS.items():
        lines = _lines([decision for decision in report.decisions if decision.layer == layer])
        if not lines:
            continue
        branch = tree.add(f"L{layer} {name}")
        for line in lines[-MOST:]:
            branch.add(line)
        if len(lines) > MOST:
            branch.add(f"… and {len(lines) - MOST:,} earlier lines")
    return tree


def _lines(decisions: list[Decision]) -> list[Text]:
    """A line for each changed item, and one for each run of items that stay as they are for the same reason."""
    runs = groupby(decisions, key=lambda one: one.reason if one.form == "full" and one.before == one.after else one)
    lines: list[Text] = []
    for _, found in runs:
        run = list(found)
        lines.append(_line(run[0]) if len(run) == 1 else _run(run))
    return lines


def _run(run: list[Decision]) -> Text:
    """Example: "messages[36] – [57]  24 items  1,204 full  the newest steps and the last answer" """
    first, last = (one.item.partition(".")[0] for one in (run[0], run[-1]))
    text = _columns(
        first if first == last else f"{first} – {last.removeprefix('messages')}",
        plural(len(run), "item"),
        sum(one.after for one in run),
    )
    text.append(f"{run[0].form:<8}", style=FORMS[run[0].form])
    text.append(f" {printable(run[0].reason)}")
    return text


def _line(decision: Decision) -> Text:
    """Example: "messages[3]  tool  1,983 → 769 outline  the most useful 39% of it  brim:3f2a9c01  {"orders": …" """
    line = _columns(_place(decision), decision.role, decision.after, decision.before)
    line.append(f"{decision.form:<8}", style=FORMS[decision.form])
    line.append(f" {printable(decision.reason)}")
    if decision.handle:
        line.append(f" {decision.handle}", style="dim")
    if decision.preview:
        line.append(f"  {printable(' '.join(decision.preview[:60].split()))}", style="dim")
    return line


def _columns(place: str, what: str, after: int, before: int | None = None) -> Text:
    size = f"{after:>14,}" if before in (None, after) else f"{before:>6,} → {after:>5,}"
    return Text(f"{printable(place):<23} {what:<9} {size} ")


def _place(decision: Decision) -> str:
    """Example: "messages[3].parts[0] at 111" -> "messages[3] at 111" """
    return decision.item.replace(".parts[0]", "")
