"""Reports in a terminal."""

from __future__ import annotations

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
# Items per layer to show.
MOST = 40


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
        console.print(_tree(report))


def _tree(report: Report) -> Tree:
    tree = Tree(f"{len(report.decisions):,} items")
    for layer, name in LAYERS.items():
        found = [decision for decision in report.decisions if decision.layer == layer]
        if not found:
            continue
        branch = tree.add(f"L{layer} {name}")
        for decision in found[-MOST:]:
            branch.add(_line(decision))
        if len(found) > MOST:
            branch.add(f"… and {len(found) - MOST:,} older items")
    return tree


def _line(decision: Decision) -> Text:
    line = Text(f"{printable(decision.item)} {decision.role} ")
    line.append(decision.form, style=FORMS[decision.form])
    kept = "" if decision.fidelity == "full" else f", {decision.fidelity}"
    line.append(f"{kept} {decision.before:,} → {decision.after:,}: {printable(decision.reason)}")
    if decision.handle:
        line.append(f" {decision.handle}", style="dim")
    if decision.preview:
        line.append(f"  {printable(decision.preview[:60])}", style="dim")
    return line
