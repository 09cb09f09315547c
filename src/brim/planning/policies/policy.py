"""Policies: how a request is brought into its budget, one frozen dataclass each.

A policy is data: its settings, the limit that it sets itself, and how it behaves in a session. `Policy.agent()` is the
default; the others reproduce well-known ways of windowing a chat. `strategies` has the planner of each.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar, Self

from brim import pins
from brim.errors import BadSetting

NAMES = ("agent", "rolling", "concise", "layered")
# Roles, and the ends of a chat that may be kept.
ROLES, ENDS = ("user", "assistant", "tool"), ("last", "first")
# Characters shown of a section of context that earlier turns carried.
PREVIEW = 500


@dataclass(frozen=True, slots=True)
class Policy:
    """How to fit. Make one with `Policy.agent(...)`, `.rolling(...)`, `.concise(...)` or `.layered(...)`."""

    name: ClassVar[str] = ""

    budget: int | None = None
    """The largest input in tokens; None: the model's own limit."""
    reserve: int | None = None
    """Tokens kept free for the answer; None: what the request asks for, or the model's largest output."""
    recall: float = 0.1
    """The share of the limit for archived content that is brought back because the current message is about it."""

    # Whether a session appends to the view until it compacts.
    appends: ClassVar[bool] = False
    """Requests only grow between compactions, with each turn's context in them; what fits is left alone."""
    plans_log: ClassVar[bool] = False
    """Every turn is planned from the whole log, not from what the last one sent."""
    compacts_results: ClassVar[bool] = False
    """The tool results of a turn are compacted when it is over."""
    summarizes: ClassVar[bool] = True
    """What leaves the history is summarised, by a model where there is one."""
    one_document: ClassVar[bool] = False
    """Context is one document at the front, not blocks before the current message."""

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise BadSetting("policy", f"make one with {', '.join(f'Policy.{name}(…)' for name in NAMES)}")
        for field in fields(self):
            _check_kind(field.name, getattr(self, field.name), field.default)
        for place, problem in self._problems():
            raise BadSetting(f"policy.{place}", problem)

    def _problems(self) -> list[tuple[str, str]]:
        """The problems of the settings, with their places."""
        return [
            *_whole(self, 1, "budget"),
            *_whole(self, 0, "reserve"),
            *_shares(self, "recall"),
            *_below(self, "reserve", "budget"),
        ]

    def cap(self, reserve: int | None) -> int | None:
        """The most input tokens that the policy itself allows, with `reserve` replacing its own; None: no limit."""
        return None

    @property
    def compact_at(self) -> float:
        """The share of the budget above which a session's history is compacted."""
        return 1.0

    @property
    def compact_to(self) -> float:
        """The share of the budget that a compaction leaves."""
        return 1.0

    @property
    def preview_chars(self) -> int:
        """Characters shown of a section of context that earlier turns carried."""
        return PREVIEW

    @property
    def pin(self) -> tuple[str, ...]:
        """Texts; a message that says one of them is never shortened or archived."""
        return ()

    @staticmethod
    def agent(**settings: Any) -> AgentPolicy:
        """Keep the user's words and the newest steps; of the rest what is relevant, in the form there is room for."""
        return AgentPolicy.made(settings)

    @staticmethod
    def rolling(**settings: Any) -> RollingPolicy:
        """The last messages verbatim, a summary of what came before, context trimmed to what is left."""
        return RollingPolicy.made(settings)

    @staticmethod
    def concise(**settings: Any) -> ConcisePolicy:
        """A history of so many characters: the last two user turns verbatim, one structured summary of the rest."""
        return ConcisePolicy.made(settings)

    @staticmethod
    def layered(**settings: Any) -> LayeredPolicy:
        """A total budget over five layers: oldest complete turns go first, then long answers are shortened."""
        return LayeredPolicy.made(settings)

    @staticmethod
    def named(name: str, settings: Mapping[str, Any] | None = None) -> Policy:
        """A policy by its name, as settings files and flags give it."""
        if name not in NAMES:
            raise BadSetting("policy.name", f"{name!r} is not one of {', '.join(NAMES)}")
        return KINDS[name].made(settings or {})

    @staticmethod
    def of(given: Policy | str | None) -> Policy:
        """The policy that a caller gave: itself, by name, or nothing for the default. Raises BadSetting."""
        if given is None:
            return Policy.agent()
        if isinstance(given, Policy):
            return given
        if isinstance(given, str):
            return Policy.named(given)
        raise BadSetting("policy", f"{given!r} is neither a Policy nor one of {', '.join(NAMES)}")

    @classmethod
    def made(cls, settings: Mapping[str, Any]) -> Self:
        """A policy of this kind. Raises BadSetting for an unknown setting or an invalid value."""
        cls._check_names(settings)
        return cls(**settings)

    def with_(self, **settings: Any) -> Self:
        """The same policy with other settings."""
        self._check_names(settings)
        return replace(self, **settings)

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name, **asdict(self)}

    @classmethod
    def _check_names(cls, settings: Mapping[str, Any]) -> None:
        known = [field.name for field in fields(cls)]
        for key in settings:
            if key in known:
                continue
            others = [kind.name for kind in KINDS.values() if key in (field.name for field in fields(kind))]
            near = difflib.get_close_matches(key, known, 3)
            hint = f"it is one of {', '.join(known)}"
            hint = f"did you mean {', '.join(near)}?" if near else hint
            hint = f"it is one of {' and '.join(others)}" if others else hint
            raise BadSetting(f"policy.{key}", f"{cls.name} has no such setting: {hint}")


@dataclass(frozen=True, slots=True)
class AgentPolicy(Policy):
    """Settings of `agent`."""

    name: ClassVar[str] = "agent"
    appends: ClassVar[bool] = True

    compact_at: float = 1.0
    compact_to: float = 0.6
    """Unless the user's words and the newest steps need more."""
    pin: tuple[str, ...] = ()
    """Texts; a message that says one of them is never shortened or archived. `*` stands for anything between."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "pin", tuple(self.pin) if isinstance(self.pin, list) else self.pin)
        Policy.__post_init__(self)

    def _problems(self) -> list[tuple[str, str]]:
        return [
            *Policy._problems(self),
            *_shares(self, "compact_at", "compact_to"),
            *_not_above(self, "compact_to", "compact_at"),
            *[("pin", said) for said in [pins.problem(self.pin)] if said],
        ]


@dataclass(frozen=True, slots=True)
class RollingPolicy(Policy):
    """Settings of `rolling`."""

    name: ClassVar[str] = "rolling"
    one_document: ClassVar[bool] = True

    max_prompt_tokens: int = 8192
    reserved_response_tokens: int = 512
    recent_messages_to_keep: int = 6
    min_recent_messages_to_keep: int = 2
    summary: bool = True
    """False: no summary, and as many messages as fit; the fields below say which."""
    summary_topics: int = 1
    """The most parts of the summary, each of one topic of a very long chat; 1: one summary of everything."""
    keep: str = "last"
    """Which messages stay: the `last` or the `first`."""
    start_on: tuple[str, ...] = ()
    """The roles that the kept messages may begin with; none: the user's, and any with `allow_partial`."""
    end_on: tuple[str, ...] = ()
    """The roles that the kept messages may end with; none: any."""
    include_system: bool = True
    """False: instructions are the oldest messages, and leave first."""
    allow_partial: bool = False
    """A message at the edge stays in part where it does not fit whole."""

    def __post_init__(self) -> None:
        for name in ("start_on", "end_on"):
            given = getattr(self, name)
            roles = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, list) else given
            object.__setattr__(self, name, roles)
        Policy.__post_init__(self)

    def cap(self, reserve: int | None) -> int:
        return self.max_prompt_tokens - (self.reserved_response_tokens if reserve is None else reserve)

    def _problems(self) -> list[tuple[str, str]]:
        return [
            *Policy._problems(self),
            *_whole(self, 1, "max_prompt_tokens", "recent_messages_to_keep", "min_recent_messages_to_keep"),
            *_whole(self, 1, "summary_topics"),
            *_whole(self, 0, "reserved_response_tokens"),
            *_not_above(self, "min_recent_messages_to_keep", "recent_messages_to_keep"),
            *_below(self, "reserved_response_tokens", "max_prompt_tokens"),
            *self._trimming_problems(),
        ]

    def _trimming_problems(self) -> list[tuple[str, str]]:
        trimming = ("keep", "start_on", "end_on", "include_system", "allow_partial")
        changed = [field.name for field in fields(self) if getattr(self, field.name) != field.default]
        return [
            *[(name, "needs summary = false") for name in trimming if self.summary and name in changed],
            *_wrong(self, ("keep",), lambda value: value in ENDS, f"must be one of {', '.join(ENDS)}"),
            # Never a tool result, because it would have lost its call.
            *_roles(self, "start_on", ROLES[:2]),
            *_roles(self, "end_on", ROLES),
            *([("start_on", "goes with keep = last")] if self.keep == "first" and self.start_on else []),
        ]


@dataclass(frozen=True, slots=True)
class ConcisePolicy(Policy):
    """Settings of `concise`."""

    name: ClassVar[str] = "concise"
    plans_log: ClassVar[bool] = True

    history_chars: int = 12_000
    summary_chars: int = 2_000
    recent_user_turns: int = 2
    fallback_messages: int = 4
    uncounted_messages: int = 10
    topic_chars: int = 80
    system_role: bool = True
    """False where the model has no system role: instructions become a first message headed [SYSTEM INSTRUCTIONS]."""

    def _problems(self) -> list[tuple[str, str]]:
        return [
            *Policy._problems(self),
            *_whole(self, 1, "history_chars", "recent_user_turns", "fallback_messages", "uncounted_messages"),
            *_whole(self, 1, "topic_chars"),
            # A smaller summary has no room for its header and three titles.
            *_whole(self, 200, "summary_chars"),
            *_not_above(self, "summary_chars", "history_chars"),
        ]


@dataclass(frozen=True, slots=True)
class LayeredPolicy(Policy):
    """Settings of `layered`."""

    name: ClassVar[str] = "layered"
    plans_log: ClassVar[bool] = True
    compacts_results: ClassVar[bool] = True
    summarizes: ClassVar[bool] = False

    total_budget: int = 128_000
    output_reserve: int = 4_096
    block_chars: int = 50_000
    preview_chars: int = PREVIEW
    answer_chars: int = 2_000

    def cap(self, reserve: int | None) -> int:
        return self.total_budget - (self.output_reserve if reserve is None else reserve)

    def _problems(self) -> list[tuple[str, str]]:
        return [
            *Policy._problems(self),
            *_whole(self, 1, "total_budget", "block_chars", "preview_chars", "answer_chars"),
            *_whole(self, 0, "output_reserve"),
            *_below(self, "output_reserve", "total_budget"),
        ]


KINDS: dict[str, type[Policy]] = {
    kind.name: kind for kind in (AgentPolicy, RollingPolicy, ConcisePolicy, LayeredPolicy)
}


def _check_kind(name: str, value: Any, default: Any) -> None:
    if (value is None and default is None) or isinstance(default, (tuple, str)):
        return  # these report their own allowed values
    if isinstance(value, bool) != isinstance(default, bool) or not isinstance(value, (int, float)):
        wanted = "true or false" if isinstance(default, bool) else "a number"
        raise BadSetting(f"policy.{name}", f"must be {wanted}, not {value!r}")


def _wrong(policy: Policy, names: tuple[str, ...], holds: Callable[[Any], bool], must: str) -> list[tuple[str, str]]:
    given = {name: getattr(policy, name) for name in names}
    return [(name, f"{must}, not {value!r}") for name, value in given.items() if value is not None and not holds(value)]


def _whole(policy: Policy, least: int, *names: str) -> list[tuple[str, str]]:
    must = f"must be a whole number of at least {least}"
    return _wrong(policy, names, lambda value: isinstance(value, int) and value >= least, must)


def _roles(policy: Policy, name: str, known: tuple[str, ...]) -> list[tuple[str, str]]:
    def holds(given: Any) -> bool:
        return isinstance(given, tuple) and all(role in known for role in given)

    return _wrong(policy, (name,), holds, f"must be one or more of {', '.join(known)}")


def _shares(policy: Policy, *names: str) -> list[tuple[str, str]]:
    return _wrong(policy, names, lambda value: bool(0 <= value <= 1), "must be a share from 0 to 1")


def _below(policy: Policy, name: str, other: str) -> list[tuple[str, str]]:
    value, most = getattr(policy, name), getattr(policy, other)
    fine = value is None or most is None or value < most
    return [] if fine else [(name, f"must be below {other} ({most})")]


def _not_above(policy: Policy, name: str, other: str) -> list[tuple[str, str]]:
    value, most = getattr(policy, name), getattr(policy, other)
    return [] if value <= most else [(name, f"must not be above {other} ({most})")]
