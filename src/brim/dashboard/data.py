"""The data interface of the dashboard, and the one place that removes content if it must not be shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

ViewValues = Mapping[str, Any]
SWITCH = "gateway.log_content"
# The keys that hold texts of a conversation.
TEXTS = frozenset(("text", "preview", "answer"))


class DashboardData(Protocol):
    """Plain values, as in the JSON API. Unknown values are left out.

    Methods that name a session or a turn raise `brim.errors.NotFound`; text is redacted before it comes here.
    """

    def live(self, limit: int = 50) -> ViewValues:
        """Totals (requests, running, tokens_before, tokens_after, overflows_avoided, fitted, refits, recalls,
        cache_hit_share, cost_usd, saved_usd, mean_error, over_upper, added_ms_p50), and the last `turns`."""

    def numbers(self, span: str, model: str = "", client: str = "", tenant: str = "") -> ViewValues:
        """Numbers over a span ("15m" to "30d", "" for the usual one): `span`, the `spans` there are, `width` in
        seconds, `points` (each with `at`), `totals`,
        `models`, `clients` and `tenants` (each with `name`), and `choices` of names by model, client and tenant."""

    def running(self, limit: int = 20) -> Sequence[ViewValues]:
        """The turns in flight."""

    def moments(self, limit: int = 8) -> Sequence[ViewValues]:
        """Recent noteworthy events: session, number, at, kind, told."""

    def sessions(self, limit: int = 50, query: str = "") -> Sequence[ViewValues]:
        """The sessions used last: id, client, model, requests, touched, tokens_before, tokens_after, limit, used."""

    def session(self, id: str) -> ViewValues:
        """A session with its `turns` (each with `layers`, if known, and `events`), its `archive` (handle, characters)
        and its `summaries`: entries of kind "summary" or "recall" with start, end, tokens, digest and text."""

    def turn(self, id: str, number: int) -> ViewValues:
        """A turn with its `report`, and its messages `before` and `after` (at, role, brim, digest, text,
        calls, answers, tools, tokens), its `events`, and the `answer` that came."""

    def layers(self, id: str, number: int) -> Sequence[ViewValues] | None:
        """The tokens of a turn by layer, without its messages, because many are requested at once."""

    def planned_at(self, id: str, number: int, budget: int, policy: str = "") -> ViewValues:
        """The same turn at another budget: budget, tokens, report, after. Raises BudgetTooSmall."""

    def archived(self, id: str, handle: str) -> ViewValues:
        """The content behind a handle: handle, characters, text."""

    def models(self) -> Sequence[ViewValues]:
        """The models: window, max_output, input_limit, family, source, prices, requests, usage, errors, cost."""

    def usage(self, days: int = 30) -> ViewValues:
        """`days`: usage by day and model."""

    def settings(self) -> Sequence[ViewValues]:
        """The settings in force: key, value, origin; no secrets."""

    def settings_file(self, key: str = "") -> str:
        """The file in which a setting is changed; empty if it can't be changed."""

    async def change_settings(self, given: Mapping[str, Any]) -> None:
        """Set these keys (None: the default) in their file and the gateway. Raises BadSetting, changing nothing."""


def shows_content(data: DashboardData) -> bool:
    """Whether the settings allow showing content; they don't by default."""
    return any(row["key"] == SWITCH and row["value"] is True for row in data.settings())


def without_text(values: ViewValues) -> ViewValues:
    """A turn, session or plan with sizes and digests instead of texts.

    Example: {"after": [{"role": "user", "text": "hello"}]} -> {"after": [{"role": "user", "characters": 5}]}
    """
    return {key: _bare(value) for key, value in values.items() if key not in TEXTS} | _size(values)


def _bare(value: Any) -> Any:
    if isinstance(value, Mapping):
        return without_text(value)
    if isinstance(value, (list, tuple)):
        return [_bare(inner) for inner in value]
    return value


def _size(values: ViewValues) -> dict[str, int]:
    text = values.get("text")
    return {"characters": len(text)} if isinstance(text, str) and "characters" not in values else {}
