"""Splits whole recorded conversations into their requests, one before each answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from brim import apis
from brim.replays.recorded import Recorded, fields_of, joined
from brim.stores.log_records import CUT, MESSAGE


def steps(whole: Recorded) -> Iterator[Recorded]:
    """The requests of a conversation: the messages before each answer, and all of them if it ends without one.

    Example: user, assistant, user, assistant -> [user], [user, assistant, user]
    """
    conversation = apis.parse(whole.body, whole.api, model=whole.model)
    raws = [message.raw for message in conversation.messages]
    named = replace(whole, api=conversation.api, session=whole.session or whole.name or whole.place)
    others: dict[str, bytes] = {}
    if whole.body.lstrip()[:1] == b"{":
        others = fields_of(whole.body)
        others.pop(apis.APIS[conversation.api].list_field, None)
    roles: list[str] = []
    for role in [*(message.role for message in conversation.messages), "assistant"]:
        if role == "assistant" and is_asked(roles):
            yield replace(named, body=_body(conversation.api, others, raws[: len(roles)]), transcript=False)
        roles.append(role)


def is_asked(roles: Sequence[str]) -> bool:
    """Whether messages with these roles form a request: they need an answer, and aren't only instructions."""
    return bool(roles) and roles[-1] != "assistant" and any(role != "system" for role in roles)


def logged(records: Iterable[bytes], about: Recorded) -> Iterator[Recorded]:
    """The requests of a session's log in a store, including those edited away later."""
    api = about.api or "openai_chat"
    read = apis.APIS[api].messages.get
    raws: list[bytes] = []
    roles: list[str] = []
    for record in records:
        kind, content = record[:1], record[1:]
        role = read(content, f"record {len(raws)}").role if kind == MESSAGE else ""
        if (kind == CUT or role == "assistant") and is_asked(roles):
            yield replace(about, body=_body(api, {}, raws))
        if kind == CUT:
            del raws[int(content) :], roles[int(content) :]
        elif kind == MESSAGE:
            raws.append(content)
            roles.append(role)
    if is_asked(roles):
        yield replace(about, body=_body(api, {}, raws))


def _body(api: str, others: dict[str, bytes], raws: list[bytes]) -> bytes:
    listed = b"[" + b",".join(raws) + b"]"
    if not others:
        return listed
    return joined({**others, apis.APIS[api].list_field: listed})
