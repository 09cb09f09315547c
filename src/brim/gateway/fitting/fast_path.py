"""Requests that their bytes alone show to fit, recognised without being read.

A token stands for at least one byte, so a text of few bytes never is many tokens. A request far below its limit that
goes on from one that was read is taken as its continuation; what it takes is told by what that one took.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from brim.apis import APIS
from brim.conversation import Conversation
from brim.gateway.fitting.conversations import Live
from brim.models import Model
from brim.planning.policies.policy import Policy

# What templates and providers add around a request that its bytes do not show: instructions for tools and the like.
AROUND: Final = 1_000
# So many requests can be gone on from; the oldest are forgotten.
MOST_KNOWN: Final = 10_000

# Everything with a type that is text in the request itself. An address of an image is short, the image is not.
_OTHER: Final = re.compile(
    rb'"type"\s*:\s*"(?!(?:text|(?:in|out)put_text|message|function|function_call|function_call_output|tool_use'
    rb"|tool_result|thinking|reasoning|summary_text|ephemeral|object|string|number|integer|boolean|array|null|auto|any"
    rb'|none|enabled|disabled|adaptive|json_object|json_schema)")'
)
_TYPE: Final = re.compile(rb'"type"')  # quicker than `in`
# Letters may be written so; nobody does but to hide a name.
_HIDDEN: Final = re.compile(rb"\\u00[4-7]")
_NOTHING: Final = msgspec.Raw()


class _Body(msgspec.Struct, gc=False):
    """The fields of all APIs that say whose request it is and what it asks for; messages stay as they are."""

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
    # What stands elsewhere and counts as well.
    previous_response_id: Any = None
    conversation: Any = None
    prompt: Any = None
    container: Any = None
    mcp_servers: Any = None
    cachedContent: Any = None
    cached_content: Any = None


_body = msgspec.json.Decoder(_Body)


class Known:
    """A request that was sent: its conversation, the limit that it had, and how many tokens its bytes were."""

    __slots__ = ("asked", "limit", "live", "model", "policy", "size", "tokens")

    def __init__(
        self, live: Live, model: Model, policy: Policy, asked: int | None, limit: int, size: int, tokens: int
    ) -> None:
        self.live, self.model, self.policy, self.asked = live, model, policy, asked
        self.limit, self.size, self.tokens = limit, size, tokens


class Glance:
    """What a look at a request tells: its model, its messages, and a number for each place between them."""

    __slots__ = ("asked", "chain", "items", "model", "streamed")

    def __init__(self, model: str, streamed: bool, asked: int | None, items: list[bytes], chain: list[int]) -> None:
        self.model, self.streamed, self.asked, self.items, self.chain = model, streamed, asked, items, chain


class Glances:
    """The last requests by all that they say, and by all but their last message."""

    def __init__(self) -> None:
        self._whole: dict[int, Known] = {}
        self._stems: dict[int, Known] = {}

    def __len__(self) -> int:
        return len(self._whole)

    def keep(self, chain: list[int], known: Known) -> None:
        self._whole[chain[-1]] = known
        if len(self._whole) > MOST_KNOWN:
            del self._whole[next(iter(self._whole))]
        self._stems[chain[-2]] = known
        if len(self._stems) > MOST_KNOWN:
            del self._stems[next(iter(self._stems))]

    def before(self, chain: list[int]) -> tuple[Known | None, int]:
        """The longest request that this one goes on from, and how many messages it had."""
        whole = self._whole
        for number in range(len(chain) - 1, 0, -1):
            found = whole.get(chain[number])
            if found is not None:
                return found, number
        return None, 0

    def beside(self, chain: list[int]) -> Known | None:
        """A request that differs from this one in the last message only."""
        return self._stems.get(chain[-2])


def glance(raw: bytes, api: str, session: str) -> Glance | None:
    """Look at a request; None where its bytes do not bound its tokens, or it is not like any other.

    `session` is a name of its tenant: nobody else's requests are gone on from.

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
    if spec.window is not None:  # the limit may be another each time
        return None
    items: list[msgspec.Raw] = getattr(body, spec.list_field)
    elsewhere = body.previous_response_id or body.conversation or body.prompt or body.container or body.mcp_servers
    if not items or elsewhere or body.cachedContent or body.cached_content:
        return None
    asked = spec.max_output(
        {
            "max_tokens": body.max_tokens,
            "max_completion_tokens": body.max_completion_tokens,
            "max_output_tokens": body.max_output_tokens,
            "generationConfig": body.generationConfig,
            "generation_config": body.generation_config,
        }
    )
    system = next((found for name in spec.system_fields if (found := bytes(getattr(body, name)))), b"")
    raws = [bytes(item) for item in items]
    chain = _chain((session, api, bytes(body.tools), system), raws)
    return Glance(body.model, body.stream is True, asked, raws, chain)


def chain_of(conversation: Conversation, session: str) -> list[int]:
    """The numbers that a look at a request gives, of one that was read."""
    system = conversation.system.raw if conversation.system is not None else b""
    start = (session, conversation.api, conversation.tools or b"", system)
    return _chain(start, [message.raw for message in conversation.messages])


def _chain(start: tuple[str, str, bytes, bytes], raws: list[bytes]) -> list[int]:
    """A number for what stands before each message, and for the whole; it means nothing outside this process."""
    last = hash(start)
    return [last, *[last := hash((last, raw)) for raw in raws]]
