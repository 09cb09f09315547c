"""Metrics for Prometheus, written by hand: counters and histograms with few labels, none from content."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

import msgspec

from brim.gateway.observe.turns import GatewayTurn, TurnOutcome
from brim.incidents import KINDS

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
_ADDED = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
_ERRORS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
# So that model names made up by clients can't fill the memory.
MOST_SERIES = 2_000
# Turns to collect before they are added.
MOST_TURNS = 256

Labels = tuple[str, ...]
_COUNTERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "brim_requests_total": ("Requests by route, status class and outcome.", ("api", "status", "outcome")),
    "brim_tokens_before_total": ("Tokens of requests as they came.", ("model",)),
    "brim_tokens_after_total": ("Tokens of requests as they were sent.", ("model",)),
    "brim_input_tokens_total": ("Input tokens that providers reported.", ("model",)),
    "brim_cached_tokens_total": ("Of these, read from the prompt cache.", ("model",)),
    "brim_output_tokens_total": ("Output tokens that providers reported.", ("model",)),
    "brim_fitted_total": ("Requests that were changed to fit.", ("model",)),
    "brim_overflows_avoided_total": ("Requests that would not have fitted as they came.", ("model",)),
    "brim_refits_total": ("Requests fitted again because the upstream said too long.", ("model",)),
    "brim_fallbacks_total": ("Requests sent to another upstream because theirs failed.", ("upstream", "to")),
    "brim_larger_models_total": ("Requests sent to a larger model because theirs has no room.", ("model", "to")),
    "brim_recalls_total": ("Archived passages brought back, by Brim or for the model.", ("model",)),
    "brim_faults_total": ("Faults by kind.", ("kind",)),
    "brim_usage_missing_total": ("Answers that told no usage.", ("api",)),
    "brim_usage_ignored_total": ("Usage that was not learnt from: the visible request cannot have taken it.", ("api",)),
    "brim_upper_exceeded_total": ("Requests that took more than the predicted upper bound.", ("model",)),
    "brim_cost_usd_total": ("What providers charge for requests and summaries, by list prices.", ("model",)),
    "brim_saved_usd_total": ("What that is less than sending everything, net of cache effects.", ("model",)),
    "brim_summaries_total": ("Summaries by a model.", ("result",)),
    "brim_summary_tokens_total": ("Tokens that summaries took, as providers reported them.", ("kind",)),
}
_HISTOGRAMS: dict[str, tuple[str, tuple[str, ...], tuple[float, ...]]] = {
    "brim_added_seconds": ("Time that Brim adds before a request is sent.", ("api",), _ADDED),
    "brim_request_seconds": ("Time from a request's arrival to the end of its answer.", ("api",), _SECONDS),
    "brim_count_error_ratio": ("How far counts were off, as a share of the actual.", ("model",), _ERRORS),
}


def _note(found: list[float], bounds: tuple[float, ...], value: float) -> None:
    found[bisect_left(bounds, value)] += 1
    found[-2] += value
    found[-1] += 1


class Metrics:
    """Counters and histograms by name and labels."""

    def __init__(self) -> None:
        self._turns: list[GatewayTurn] = []  # ended turns that aren't added yet
        self._counters: dict[str, dict[Labels, float]] = {name: {} for name in _COUNTERS}
        self._histograms: dict[str, dict[Labels, list[float]]] = {name: {} for name in _HISTOGRAMS}
        self.running = 0

    def ended(self, turn: GatewayTurn) -> None:
        """Note an ended turn. Adding many at once takes a third of the time."""
        self._turns.append(turn)
        if len(self._turns) >= MOST_TURNS:
            self._settle()

    def _settle(self) -> None:
        """Add the ended turns to the counters and histograms."""
        turns, self._turns = self._turns, []
        alike: dict[tuple[str, str, int, TurnOutcome], list[GatewayTurn]] = {}
        for turn in turns:
            alike.setdefault((turn.api, turn.model or "unknown", turn.status, turn.outcome), []).append(turn)
        for (api, model, status, outcome), some in alike.items():
            self.add("brim_requests_total", (api, f"{status // 100}xx", outcome), len(some))
            self.add("brim_tokens_before_total", (model,), sum([turn.before for turn in some]))
            self.add("brim_tokens_after_total", (model,), sum([turn.after for turn in some]))
            added, seconds = self._buckets("brim_added_seconds", (api,)), self._buckets("brim_request_seconds", (api,))
            for turn in some:
                _note(added, _ADDED, turn.added_ms / 1e3)
                _note(seconds, _SECONDS, turn.total_ms / 1e3)
            told = [turn.usage for turn in some if turn.usage is not None]
            if outcome == "done" and status == 200:
                self._more("brim_usage_missing_total", api, len(some) - len(told))
            self._more("brim_input_tokens_total", model, sum([usage.input for usage in told]))
            self._more("brim_output_tokens_total", model, sum([usage.output for usage in told]))
            self._more("brim_cached_tokens_total", model, sum([usage.cached for usage in told]))
            self._more("brim_cost_usd_total", model, sum([turn.cost or 0.0 for turn in some]))
            self._more("brim_saved_usd_total", model, sum([turn.saved or 0.0 for turn in some]))
            self._more("brim_fitted_total", model, sum([turn.changed for turn in some]))
            self._more("brim_overflows_avoided_total", model, sum([turn.overflowing for turn in some]))
            self._more("brim_refits_total", model, sum([turn.refits for turn in some]))
            self._more("brim_recalls_total", model, sum([turn.recalls + turn.recalled for turn in some]))
            for turn in some:
                if not turn.about and turn.error is not None and turn.usage is not None:
                    self.observe("brim_count_error_ratio", (model,), abs(turn.error))
                    self._more("brim_upper_exceeded_total", model, turn.usage.input > turn.upper)

    def _more(self, name: str, label: str, amount: float) -> None:
        if amount:
            self.add(name, (label,), amount)

    def add(self, name: str, labels: Labels = (), amount: float = 1) -> None:
        series = self._counters[name]
        known = series.get(labels)
        if known is None:
            if len(series) >= MOST_SERIES:
                labels = ("other",) * len(labels)
            known = series.get(labels, 0)
        series[labels] = known + amount

    def observe(self, name: str, labels: Labels, value: float) -> None:
        _note(self._buckets(name, labels), _HISTOGRAMS[name][2], value)

    def _buckets(self, name: str, labels: Labels) -> list[float]:
        series = self._histograms[name]
        found = series.get(labels)
        if found is None:
            if len(series) >= MOST_SERIES:
                labels = ("other",) * len(labels)
            found = series.setdefault(labels, [0.0] * (len(_HISTOGRAMS[name][2]) + 3))
        return found

    def faults(self) -> int:
        """Faults inside Brim that requests survived."""
        found = self._counters["brim_faults_total"]
        return int(sum(found.get((kind,), 0) for kind in KINDS))

    def total(self, name: str) -> float:
        self._settle()
        return sum(self._counters[name].values())

    def snapshot(self) -> bytes:
        """All numbers, for the other processes."""
        self._settle()
        series = [
            {name: list(kind.items()) for name, kind in kinds.items() if kind}
            for kinds in (self._counters, self._histograms)
        ]
        return msgspec.json.encode([self.running, *series])

    def add_snapshot(self, snapshot: bytes) -> None:
        """Add the numbers of another process to these. Those of an edition with other names are left out."""
        running, counters, histograms = msgspec.json.decode(snapshot)
        self.running += running
        for name, counted in counters.items():
            for labels, value in counted if name in self._counters else ():
                self.add(name, tuple(labels), value)
        for name, observed in histograms.items():
            for labels, values in observed if name in self._histograms else ():
                mine = self._buckets(name, tuple(labels))
                if len(mine) == len(values):
                    mine[:] = [one + other for one, other in zip(mine, values, strict=True)]

    def render(self) -> str:
        """The metrics in Prometheus' text format."""
        self._settle()
        return "\n".join([*self._lines(), ""])

    def _lines(self) -> Iterator[str]:
        for name, (text, keys) in _COUNTERS.items():
            yield f"# HELP {name} {text}"
            yield f"# TYPE {name} counter"
            for labels, value in sorted(self._counters[name].items()):
                yield f"{name}{_labels(keys, labels)} {value:.10g}"
        for name, (text, keys, bounds) in _HISTOGRAMS.items():
            yield f"# HELP {name} {text}"
            yield f"# TYPE {name} histogram"
            for labels, found in sorted(self._histograms[name].items()):
                so_far = 0.0
                for bound, number in zip((*bounds, "+Inf"), found[: len(bounds) + 1], strict=True):
                    so_far += number
                    yield f"{name}_bucket{_labels((*keys, 'le'), (*labels, str(bound)))} {so_far:.10g}"
                yield f"{name}_sum{_labels(keys, labels)} {found[-2]:.10g}"
                yield f"{name}_count{_labels(keys, labels)} {found[-1]:.10g}"
        yield "# HELP brim_requests_running Requests in work now."
        yield "# TYPE brim_requests_running gauge"
        yield f"brim_requests_running {self.running}"


def _labels(keys: tuple[str, ...], values: Labels) -> str:
    if not keys:
        return ""
    pairs = (f'{key}="{_escaped(value)}"' for key, value in zip(keys, values, strict=True))
    return "{" + ",".join(pairs) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
