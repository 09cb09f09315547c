"""Policies: how a request is brought into its budget, as one frozen settings object each.

A policy is data. `Policy.agent()` is the default; the others reproduce well-known ways of windowing a chat.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

from brim.errors import BadSetting

Name = Literal["agent", "rolling", "concise", "layered"]
NAMES: tuple[Name, ...] = ("agent", "rolling", "concise", "layered")


@dataclass(frozen=True, slots=True)
class Policy:
    """How to fit. Make one with `Policy.agent(...)`, `.rolling(...)`, `.concise(...)` or `.layered(...)`."""

    name: Name = "agent"

    # All policies.
    budget: int | None = None
    """The largest input in tokens; None: the model's own limit."""
    reserve: int | None = None
    """Tokens kept free for the answer; None: what the request asks for, or the model's largest output."""

    # agent
    compact_at: float = 1.0
    """The share of the budget above which a session's history is compacted."""
    compact_to: float = 0.6
    """The share of the budget that a compaction leaves, unless the user's words and the newest steps need more."""
    recall: float = 0.1
    """The share of the limit for archived content that is brought back because the current message is about it."""

    # rolling
    max_prompt_tokens: int = 8192
    reserved_response_tokens: int = 512
    recent_messages_to_keep: int = 6
    min_recent_messages_to_keep: int = 2

    # concise
    history_chars: int = 12_000
    summary_chars: int = 2_000
    recent_user_turns: int = 2
    fallback_messages: int = 4
    uncounted_messages: int = 10
    topic_chars: int = 80
    system_role: bool = True
    """False where the model has no system role: instructions become a first message headed [SYSTEM INSTRUCTIONS]."""

    # layered
    total_budget: int = 128_000
    output_reserve: int = 4_096
    block_chars: int = 50_000
    preview_chars: int = 500
    answer_chars: int = 2_000

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise BadSetting("policy.name", f"{self.name!r} is not one of {', '.join(NAMES)}")
        _check_kinds({name: getattr(self, name) for name in SETTINGS})
        for check in _CHECKS:
            problem = check(self)
            if problem:
                raise BadSetting(f"policy.{problem[0]}", problem[1])

    @classmethod
    def agent(cls, **settings: Any) -> Policy:
        """Keep what later steps need: identifiers, errors, decisions, what is recent and what is asked for."""
        return cls._made("agent", settings)

    @classmethod
    def rolling(cls, **settings: Any) -> Policy:
        """The last messages verbatim, a summary of what came before, context trimmed to what is left."""
        return cls._made("rolling", settings)

    @classmethod
    def concise(cls, **settings: Any) -> Policy:
        """A history of so many characters: the last two user turns verbatim, one structured summary of the rest."""
        return cls._made("concise", settings)

    @classmethod
    def layered(cls, **settings: Any) -> Policy:
        """A total budget over five layers: oldest complete turns go first, then long answers are shortened."""
        return cls._made("layered", settings)

    @classmethod
    def named(cls, name: str, settings: Mapping[str, Any] | None = None) -> Policy:
        """A policy by its name, as settings files and flags give it."""
        if name not in NAMES:
            raise BadSetting("policy.name", f"{name!r} is not one of {', '.join(NAMES)}")
        return cls._made(name, dict(settings or {}))

    @classmethod
    def of(cls, given: Policy | str | None) -> Policy:
        """What callers give as a policy: one, the name of one, or nothing for the default. Raises BadSetting."""
        if given is None:
            return cls.agent()
        if isinstance(given, Policy):
            return given
        if isinstance(given, str):
            return cls.named(given)
        raise BadSetting("policy", f"{given!r} is neither a Policy nor one of {', '.join(NAMES)}")

    @classmethod
    def _made(cls, name: Any, settings: dict[str, Any]) -> Policy:
        _check_names(settings)
        return cls(name=name, **settings)

    def with_(self, **settings: Any) -> Policy:
        """The same policy with other settings."""
        _check_names(settings)
        return replace(self, **settings)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


SETTINGS = tuple(field.name for field in fields(Policy) if field.name != "name")


def _check_names(settings: Mapping[str, Any]) -> None:
    for key in settings:
        if key not in SETTINGS:
            near = difflib.get_close_matches(key, SETTINGS, 3)
            hint = f": did you mean {', '.join(near)}?" if near else f": it is one of {', '.join(SETTINGS)}"
            raise BadSetting(f"policy.{key}", f"there is no such setting{hint}")


def _check_kinds(settings: Mapping[str, Any]) -> None:
    for key, value in settings.items():
        if value is None and key in _MAY_BE_NONE:
            continue
        if isinstance(value, bool) != (key == "system_role") or not isinstance(value, (int, float)):
            wanted = "true or false" if key == "system_role" else "a number"
            raise BadSetting(f"policy.{key}", f"must be {wanted}, not {value!r}")


def _whole(least: int, *names: str) -> Any:
    def check(policy: Policy) -> tuple[str, str] | None:
        for name in names:
            value = getattr(policy, name)
            if value is None and name in _MAY_BE_NONE:
                continue
            if not isinstance(value, int) or value < least:
                return name, f"must be a whole number of at least {least}, not {value!r}"
        return None

    return check


def _share(*names: str) -> Any:
    def check(policy: Policy) -> tuple[str, str] | None:
        for name in names:
            if not 0 <= getattr(policy, name) <= 1:
                return name, f"must be a share from 0 to 1, not {getattr(policy, name)!r}"
        return None

    return check


def _compaction(policy: Policy) -> tuple[str, str] | None:
    if policy.compact_to <= policy.compact_at:
        return None
    return "compact_to", f"must not be above compact_at ({policy.compact_at})"


def _recent(policy: Policy) -> tuple[str, str] | None:
    if policy.min_recent_messages_to_keep > policy.recent_messages_to_keep:
        return (
            "min_recent_messages_to_keep",
            f"must not be above recent_messages_to_keep ({policy.recent_messages_to_keep})",
        )
    return None


def _reserves(policy: Policy) -> tuple[str, str] | None:
    if policy.budget is not None and policy.reserve is not None and policy.reserve >= policy.budget:
        return "reserve", f"must be below budget ({policy.budget})"
    if policy.reserved_response_tokens >= policy.max_prompt_tokens:
        return "reserved_response_tokens", f"must be below max_prompt_tokens ({policy.max_prompt_tokens})"
    if policy.output_reserve >= policy.total_budget:
        return "output_reserve", f"must be below total_budget ({policy.total_budget})"
    return None


def _summary(policy: Policy) -> tuple[str, str] | None:
    if policy.summary_chars > policy.history_chars:
        return "summary_chars", f"must not be above history_chars ({policy.history_chars})"
    return None


_MAY_BE_NONE = ("budget", "reserve")
_CHECKS = (
    _whole(1, "budget", "max_prompt_tokens", "recent_messages_to_keep", "min_recent_messages_to_keep"),
    _whole(1, "history_chars", "recent_user_turns", "fallback_messages", "uncounted_messages", "topic_chars"),
    _whole(1, "total_budget", "block_chars", "preview_chars", "answer_chars"),
    # Below this a summary has no room for its header and its three titles.
    _whole(200, "summary_chars"),
    _whole(0, "reserve", "reserved_response_tokens", "output_reserve"),
    _share("compact_at", "compact_to", "recall"),
    _compaction,
    _recent,
    _reserves,
    _summary,
)
