"""A plan as text: what was kept, shortened and archived, why, and what more room would bring back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import overload

from brim.errors import BudgetTooSmall
from brim.planning.reports.decisions import Decision, Form, Report

# Extra tokens to try when a plan is printed.
MORE = 2_000
# What fits on a screen: columns, rows per list, and reasons per outcome.
WIDTH, ROWS, REASONS = 100, 4, 3
_FATES: tuple[tuple[str, tuple[Form, ...]], ...] = (
    ("kept whole", ("full",)),
    ("re-encoded losslessly", ("dense",)),
    ("shortened", ("outline",)),
    ("one line left", ("line",)),
    ("archived", ("archived", "summary", "dropped")),
)


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Sequence[Decision]):
    """The decisions of a plan: iterate over them, or print it to read it.

    Example: print(fitted.plan) -> gpt-4o, policy agent: 22,174 -> 7,985 of 8,000 tokens (100%) …
    """

    report: Report
    _at: Callable[[int], Report]

    @property
    def decisions(self) -> tuple[Decision, ...]:
        return self.report.decisions

    @overload
    def __getitem__(self, at: int) -> Decision: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Decision, ...]: ...
    def __getitem__(self, at: int | slice) -> Decision | tuple[Decision, ...]:
        return self.decisions[at]

    def __len__(self) -> int:
        return len(self.decisions)

    def __repr__(self) -> str:
        done = Counter(_fate(one.form) for one in self.decisions)
        return f"Explanation({', '.join(f'{done[fate]} {fate}' for fate, _ in _FATES if done[fate])})"

    def __str__(self) -> str:
        report = self.report
        head = f"{report.model}, policy {report.policy}: {report.before:,} -> {report.after:,}"
        lines = [f"{head} of {report.limit:,} tokens ({report.used:.0%})", "", *_layers(report), "", *_fates(report)]
        changed = [one for one in self.decisions if one.after < one.before]
        largest = sorted(changed, key=lambda one: (one.after - one.before, one.item))
        lines += _listed("where the room was found", largest, lambda one: one.before, lambda one: one.after)
        lines += self._more() if changed else []
        notes = [str(report.cache_break)] if report.cache_break else []
        notes += [f"warning: {warning}" for warning in report.warnings]
        return "\n".join([*lines, "", *notes] if notes else lines)

    def _more(self) -> list[str]:
        """What more room would bring back."""
        try:
            other = self._at(self.report.limit + MORE)
        except BudgetTooSmall:
            return []
        if other.limit <= self.report.limit:
            return ["", f"the window of {self.report.model} leaves no more room"]
        now = {one.item: one.after for one in _by_message(self.decisions)}
        back = [one for one in _by_message(other.decisions) if one.after > now.get(one.item, one.after)]
        back.sort(key=lambda one: (now[one.item] - one.after, one.item))
        title = f"with {other.limit - self.report.limit:,} tokens more"
        if not back:
            return ["", f"{title}: nothing else would change"]
        return _listed(f"{title} these come back", back, lambda one: now[one.item], lambda one: one.after)


def _layers(report: Report) -> list[str]:
    """A row for each non-empty layer, with a bar of its share of the limit."""
    rows = [f"{'layer':<22} {'before':>8} {'after':>8}"]
    for use in report.layers:
        if use.before or use.after:
            bar = "█" * round(40 * use.after / max(1, report.limit)) or "▏" * bool(use.after)
            rows.append(f"{use.name:<22} {use.before:>8,} {use.after:>8,}  {bar}".rstrip())
    return rows


def _fates(report: Report) -> list[str]:
    """A row for each outcome with its reasons, the most frequent first."""
    rows = [f"{'what became of it':<22} {'before':>8} {'after':>8} {'parts':>6}  why"]
    for fate, forms in _FATES:
        those = [one for one in report.decisions if one.form in forms]
        if not those:
            continue
        before, after = sum(one.before for one in those), sum(one.after for one in those)
        row = f"{fate:<22} {before:>8,} {after:>8,} {len(those):>6,}  "
        for reason in _reasons(those):
            rows.append(row + _fitting(reason, WIDTH - len(row)))
            row = " " * len(row)
    return rows


def _reasons(decisions: Iterable[Decision]) -> list[str]:
    """Example: ["12 the user's own words", " 4 the newest steps and the last answer"]; one alone needs no number."""
    said = Counter(_why(one) for one in decisions).most_common()
    if len(said) == 1:
        return [said[0][0]]
    digits = len(f"{said[0][1]:,}")
    told = [f"{number:>{digits},} {reason}" for reason, number in said[:REASONS]]
    rest = sum(number for _, number in said[REASONS:])
    return [*told, f"{rest:>{digits},} for other reasons"] if rest else told


def _why(decision: Decision) -> str:
    """The rule behind a decision, without numbers and form."""
    before, colon, rule = decision.reason.partition(": ")
    why = rule if colon and (before == "must stay" or decision.form != "full") else before
    return why.partition(";")[0]


def _listed(
    title: str, decisions: Sequence[Decision], before: Callable[[Decision], int], after: Callable[[Decision], int]
) -> list[str]:
    if not decisions:
        return []
    names = max(len(_name(one)) for one in decisions[:ROWS])
    lines = ["", title]
    for one in decisions[:ROWS]:
        row = f"  {_name(one):<{names}} {before(one):>8,} -> {after(one):>7,}  "
        lines.append((row + _fitting(one.preview, WIDTH - len(row))).rstrip())
    rest = decisions[ROWS:]
    if rest:
        moved = sum(after(one) - before(one) for one in rest)
        lines.append(f"  and {len(rest):,} more, {moved:+,} tokens")
    return lines


def _by_message(decisions: Iterable[Decision]) -> list[Decision]:
    """Merge the parts of each message, because a session's plan splits messages differently than a single fit."""
    found: dict[str, Decision] = {}
    for one in decisions:
        name = one.item.partition(".parts")[0]
        known = found.get(name)
        larger = one if known is None or one.before > known.before else known
        tokens = one.after + (known.after if known else 0)
        found[name] = replace(larger, item=name, after=tokens)
    return list(found.values())


def _name(decision: Decision) -> str:
    """Example: "messages[12] result" for the first part of a message, which mostly has no other."""
    return f"{decision.item.removesuffix('.parts[0]')} {decision.kind}"


def _fate(form: Form) -> str:
    return next(fate for fate, forms in _FATES if form in forms)


def _fitting(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(0, width - 1)].rstrip(" ,(") + "…"
