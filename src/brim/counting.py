"""Counts the tokens of a text, a conversation or a request."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

from brim import apis, models
from brim.conversation import encode
from brim.errors import BadInput, UnknownModel
from brim.framework_messages import reads_frameworks, repeatable
from brim.models import Model
from brim.models.families import family_of
from brim.sized_lru import SizedLru
from brim.tokens.actuals import MARGINS, Actuals
from brim.tokens.counter import Count, Counter

# A placeholder for the window of an unknown model, of which only the tokens are needed.
NO_WINDOW = 1 << 30
# A cache of counted requests by their bytes, so that a recount is one lookup.
_counted: SizedLru[tuple[Any, ...], Count] = SizedLru(16 << 20)


@reads_frameworks(back=False)
def count(
    request: Any,
    *,
    model: str | Model | None = None,
    tools: Any = None,
    system: Any = None,
    tool_choice: Any = None,
    api: str | None = None,
    actuals: Actuals | None = None,
    strict: bool = False,
) -> Count:
    """Count the tokens of a request, with an upper bound and the source of the number.

    `request` is a list of messages, a request body (dict or JSON bytes) of any API that Brim knows, or plain text.
    An unknown model is counted by an approximation named in a warning; `strict` raises instead.

    Example: brim.count([{"role": "user", "content": "hello"}], model="gpt-4o").tokens -> 8
    """
    if isinstance(model, str) and not strict:
        model = _known_or_near(model)
    if isinstance(request, str):
        return _text(request, model, actuals)
    if not isinstance(model, (str, Model)) and model is not None:
        models.model_of(model)  # raises an error that says what it should be
    request = repeatable(request)
    raw = request if isinstance(request, bytes) else encode(request)
    extra = encode([tools, system, tool_choice]) if tools or system or tool_choice else b""
    memory = (id(actuals), actuals.version) if actuals is not None else None
    key = (raw, model, extra, api, memory)
    return _counted.get(key) or _counted.put(
        key, _request(request, model, tools, system, tool_choice, api, actuals), len(raw)
    )


def _known_or_near(name: str) -> Model:
    """The model of a name; an unknown one is counted like the model that its name resembles, with a warning."""
    try:
        return models.find(name)
    except UnknownModel as unknown:
        if not name.strip():
            raise
        model = approximate(name)
        warnings.warn(approximation(model, unknown.near), UserWarning, stacklevel=4)
        return model


def approximate(name: str) -> Model:
    """The stand-in for an unknown model: an estimate, with the margin of one."""
    return Model(name, "", NO_WINDOW, None, family_of(name), None, "openai_chat", "unknown")


def approximation(model: Model, near: Sequence[str] = ()) -> str:
    """Example: "'my-model' is not a known model, so its tokens are estimated from bytes and characters" """
    by = "from bytes and characters"
    if model.family != "estimate":
        by = f"with the vocabulary of {model.family}"
    alike = [name for name in near if model.name.casefold() in name]
    hint = f"; did you mean {', '.join(alike)}?" if alike else ""
    return f"{model.name!r} is not a known model, so its tokens are estimated {by}{hint}"


def record(
    request: Any,
    usage: int | Mapping[str, Any] | apis.Usage,
    *,
    actuals: Actuals,
    model: str | Model | None = None,
    tools: Any = None,
    system: Any = None,
    tool_choice: Any = None,
    api: str | None = None,
) -> None:
    """Record the provider's count for a request; the next count of the conversation starts from it.

    `usage` is the number of input tokens, a `wire.Usage`, or the response with the usage.

    Example: brim.record(messages, response.usage.prompt_tokens, model="gpt-4o", actuals=actuals)
    """
    named = model if isinstance(model, (str, Model)) else ""
    conversation = apis.parse(request, api, model=named, tools=tools, system=system, tool_choice=tool_choice)
    found = models.model_of(model, conversation.model)
    told = apis.usage(usage, conversation.api) if isinstance(usage, Mapping) else usage
    tokens = told.input if isinstance(told, apis.Usage) else told
    if tokens is None:
        raise BadInput("usage", "the response does not say how many input tokens it took")
    Counter(found, conversation.api, actuals).record(conversation, tokens)


def _request(
    request: Any,
    model: str | Model | None,
    tools: Any,
    system: Any,
    tool_choice: Any,
    api: str | None,
    actuals: Actuals | None,
) -> Count:
    named = model if isinstance(model, (str, Model)) else ""
    conversation = apis.parse(request, api, model=named, tools=tools, system=system, tool_choice=tool_choice)
    found = models.model_of(model, conversation.model)
    return Counter(found, conversation.api, actuals).count(conversation)


def _text(text: str, model: str | Model | None, actuals: Actuals | None) -> Count:
    found = models.model_of(model)
    counter = Counter(found, "openai_chat", actuals)
    tokens = counter.text(text)
    if counter.tokenizer.exact:
        return Count(tokens, ceil(tokens * (1 + MARGINS["exact"])), "exact")
    likely = counter.corrected(tokens)
    return Count(likely, ceil(likely * (1 + MARGINS["estimated"])), "estimated")
