"""Recognises requests by their bytes, without parsing them: what they ask for, and which one they continue.

A token is at least one byte, so a short text never has many tokens. `unread` passes those far below their limit.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import Any, Final

import msgspec

from brim.apis import APIS
from brim.conversation import Conversation
from brim.gateway.fitting.conversations import Live
from brim.models import Model
from brim.planning.policies.policy import Policy

# Tokens that templates and providers add beyond a request's own bytes, such as instructions for tools.
AROUND: Final = 1_000
# Requests that can be continued; the oldest are forgotten. Twice as many as conversations are remembered.
MOST_KNOWN: Final = 2_000

# Types whose content is text in the request itself. (The URL of an image is short; the image isn't.)
_OTHER: Final = re.compile(
    rb'"type"\s*:\s*"(?!(?:text|(?:in|out)put_text|message|function|function_call|function_call_output|tool_use'
    rb"|tool_result|thinking|reasoning|summary_text|ephemeral|object|string|number|integer|boolean|array|null|auto|any"
    rb'|none|enabled|disabled|adaptive|json_object|json_schema)")'
)
_TYPE: Final = re.compile(rb'"type"')  # faster than `in`
# Letters may be escaped like this, but nobody does it except to hide a name.
_HIDDEN: Final = re.compile(rb"\\u00[4-7]")
_NOTHING: Final = msgspec.Raw()


class _Body(msgspec.Struct, gc=False):
    """The fields of all APIs that identify a request and what it asks for; messages stay unparsed."""

    model: str = ""
    stream: bool | None = None
    messages: list[msgspec.Raw] = []
    input: list[msgspec.Raw] = []
    contents: list[msgspec.Raw] = []
    system: msgspec.Raw = _NOTHING
    instructions: msgspec.Raw = _NOTHING
    systemInstruction: msgspec.Raw = _NOTHING
    system_instruction: msgspec.Raw = _NOTHING
    tools: msgspec.Raw = _NOTHING
    max_tokens: Any = None
    max_completion_tokens: Any = None
    max_output_tokens: Any = None
    generationConfig: Any = None
    generation_config: Any = None
    # Fields that refer to content elsewhere, which counts as well.
    previous_response_id: Any = None
    conversation: Any = None
    prompt: Any = None
    container: Any = None
    mcp_servers: Any = None
    cachedContent: Any = None
    cached_content: Any = None


_body = msgspec.json.Decoder(_Body)
_LIMITS: Final = ("max_tokens", "max_completion_tokens", "max_output_tokens", "generationConfig", "generation_config")


class Known(msgspec.Struct, eq=False, gc=False):
    """A request that was sent: its conversation, its limit, and the tokens of its bytes."""

    live: Live
    model: Model
    policy: Policy
    asked: int | None
    limit: int
    size: int
    tokens: int


class Glance:
    """What a quick look at a request shows: its model, its messages, and a hash for each position between them."""

    __slots__ = ("asked", "chain", "items", "model", "streamed")

    def __init__(self, model: str, streamed: bool, asked: int | None, items: list[bytes], chain: list[int]) -> None:
        self.model, self.streamed, self.asked, self.items, self.chain = model, streamed, asked, items, chain


class Glances:
    """The last requests, by their full content and by all but their last message."""

    def __init__(self) -> None:
        self._whole: OrderedDict[int, Known] = OrderedDict()
        self._stems: OrderedDict[int, Known] = OrderedDict()

    def __len__(self) -> int:
        return len(self._whole)

    def keep(self, chain: list[int], known: Known) -> None:
        self._whole[chain[-1]] = known
        if len(self._whole) > MOST_KNOWN:
            self._whole.popitem(last=False)
        self._stems[chain[-2]] = known
        if len(self._stems) > MOST_KNOWN:
            self._stems.popitem(last=False)

    def before(self, chain: list[int]) -> tuple[Known | None, int]:
        """The longest known request that this one continues, and how many messages it had."""
        whole = self._whole
        if whole.keys().isdisjoint(chain):  # most new conversations
            return None, 0
        for number in range(len(chain) - 1, 0, -1):
            found = whole.get(chain[number])
            if found is not None:
                return found, number
        return None, 0

    def beside(self, chain: list[int]) -> Known | None:
        """A known request that differs from this one only in the last message."""
        return self._stems.get(chain[-2])


def glance(raw: bytes, api: str, session: str) -> Glance | None:
    """Take a quick look at a request; None if its bytes don't bound its tokens, or it has an unusual form.

    `session` is scoped to the tenant, so that a request never continues another tenant's.

    Example: glance(b'{"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}', …).model -> "gpt-4o"
    """
    if _TYPE.search(raw) is not None and _OTHER.search(raw) is not None:
        return None
    if (b"\\" in raw and _HIDDEN.search(raw) is not None) or any(one in raw for one in APIS[api].references):
        return None
    try:
        body = _body.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    spec = APIS[api]
    if spec.window is not None:  # the limit may change with every request
        return None
    items: list[msgspec.Raw] = getattr(body, spec.list_field)
    elsewhere = body.previous_response_id or body.conversation or body.prompt or body.container or body.mcp_servers
    if not items or elsewhere or body.cachedContent or body.cached_content:
        return None
    given = {name: value for name in _LIMITS if (value := getattr(body, name)) is not None}
    asked = spec.max_output(given) if given else None
    system = b""
    for name in spec.system_fields:
        system = system or bytes(getattr(body, name))
    raws = [bytes(item) for item in items]
    chain = _chain((session, api, bytes(body.tools), system), raws)
    return Glance(body.model, body.stream is True, asked, raws, chain)


def chain_of(conversation: Conversation, session: str) -> list[int]:
    """The hashes that a quick look would give, for a request that was parsed."""
    system = conversation.system.raw if conversation.system is not None else b""
    start = (session, conversation.api, conversation.tools or b"", system)
    return _chain(start, [message.raw for message in conversation.messages])


def _chain(start: tuple[str, str, bytes, bytes], raws: list[bytes]) -> list[int]:
    """A hash for the content before each message and for the whole; meaningless outside this process."""
    last = hash(start)
    return [last, *[last := hash((last, raw)) for raw in raws]]
