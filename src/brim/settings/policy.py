"""The [policy] table: every field of every policy, with what it may be, its default and its description."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, get_args

import msgspec
from msgspec import Meta

from brim.settings.schema import Count, SettingsSection

PolicyName = Literal["agent", "rolling", "concise", "layered"]
Speaker = Literal["user", "assistant", "tool"]
Share = Annotated[float, Meta(ge=0, le=1)]
Tokens = Annotated[int, Meta(ge=0)]


class PolicyEntry(SettingsSection, frozen=True, kw_only=True):
    name: Annotated[PolicyName, Meta(description="how requests are brought into their budget")] = "agent"
    budget: Annotated[Count | None, Meta(description="the largest input in tokens; none: the model's own limit")] = None
    reserve: Annotated[
        Tokens | None, Meta(description="tokens kept free for the answer; none: what the request asks for")
    ] = None
    recall: Annotated[Share, Meta(description="share for archived content that comes back by itself")] = 0.1

    compact_at: Annotated[Share, Meta(description="agent: above this share of the budget a session is compacted")] = 1.0
    compact_to: Annotated[
        Share, Meta(description="agent: the share of the budget beside instructions that a compaction leaves")
    ] = 0.6

    pin: Annotated[
        tuple[str, ...], Meta(description="agent: texts; a message that says one stays verbatim; `*`: anything between")
    ] = ()

    max_prompt_tokens: Annotated[
        Count, Meta(description="rolling: the most tokens that prompt and answer take together")
    ] = 8192
    reserved_response_tokens: Annotated[Tokens, Meta(description="rolling: tokens kept free for the answer")] = 512
    recent_messages_to_keep: Annotated[
        Count, Meta(description="rolling: how many of the last messages stay verbatim")
    ] = 6
    min_recent_messages_to_keep: Annotated[
        Count, Meta(description="rolling: how few of them stay where they are too long")
    ] = 2

    summary: Annotated[
        bool, Meta(description="rolling: false: no summary; as many messages as fit, and the next settings say which")
    ] = True
    summary_topics: Annotated[
        Count, Meta(description="rolling: the most parts of the summary, each of one topic of a very long chat")
    ] = 1
    keep: Annotated[Literal["last", "first"], Meta(description="rolling: which messages stay")] = "last"
    start_on: Annotated[
        tuple[Literal["user", "assistant"], ...],
        Meta(description="rolling: roles that what stays may begin with; none: the user's"),
    ] = ()
    end_on: Annotated[
        tuple[Speaker, ...], Meta(description="rolling: roles that what stays may end with; none: any")
    ] = ()
    include_system: Annotated[bool, Meta(description="rolling: false: instructions leave first")] = True
    allow_partial: Annotated[bool, Meta(description="rolling: a message at the edge may stay in part")] = False

    history_chars: Annotated[Count, Meta(description="concise: characters that the history may have")] = 12_000
    summary_chars: Annotated[
        Annotated[int, Meta(ge=200)], Meta(description="concise: characters of the longest summary")
    ] = 2_000
    recent_user_turns: Annotated[Count, Meta(description="concise: user turns that stay verbatim")] = 2
    fallback_messages: Annotated[Count, Meta(description="concise: messages that stay without a summary")] = 4
    uncounted_messages: Annotated[Count, Meta(description="concise: messages that stay of an uncountable history")] = 10
    topic_chars: Annotated[Count, Meta(description="concise: characters of a topic in the summary")] = 80
    system_role: Annotated[
        bool, Meta(description="concise: false where a model has no system role: instructions are a first message")
    ] = True

    total_budget: Annotated[Count, Meta(description="layered: the budget of all layers and the answer")] = 128_000
    output_reserve: Annotated[Tokens, Meta(description="layered: tokens kept free for the answer")] = 4_096
    block_chars: Annotated[Count, Meta(description="layered: context blocks above this may be summarised")] = 50_000
    preview_chars: Annotated[Count, Meta(description="layered: preview of a section that is carried along")] = 500
    answer_chars: Annotated[Count, Meta(description="layered: what is left at least of a long answer")] = 2_000


def in_force(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that the chosen policy uses, with their values.

    Example: in_force({"name": "rolling"}) -> {"name": "rolling", …, "max_prompt_tokens": 8192, …}
    """
    fields = msgspec.structs.fields(PolicyEntry)
    return {
        item.name: given.get(item.name, item.default) for item in fields if _OWNERS[item.name] in ("", given["name"])
    }


def owner_of(field: str) -> str:
    """The policy that a field belongs to; "" if all policies have it. Example: "compact_at" -> "agent" """
    return _OWNERS[field]


def _owner(told: str) -> str:
    name = told.partition(":")[0]
    return name if name in get_args(PolicyName) else ""


_OWNERS: Final = {
    item.name: _owner(item.type.__metadata__[-1].description) for item in msgspec.structs.fields(PolicyEntry)
}
