"""Clients of the openai and anthropic SDKs, which are generated alike: every call goes through `request`.

The client becomes an instance of a subclass, so that `with_options` and `copy` return fitted clients too.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from copy import copy
from functools import partial
from inspect import iscoroutinefunction
from typing import Any

import anyio.to_thread

from brim.integrations.sdks.conversations import Conversing, Sent

# For each SDK, the ends of paths that call a model, and their APIs.
PATHS = {
    "openai": {"/chat/completions": "openai_chat", "/responses": "openai_responses"},
    "anthropic": {"/v1/messages": "anthropic"},
}


def fits(client: Any) -> bool:
    """Whether this is a sync or async client of one of the two SDKs."""
    return _sdk(client) in PATHS and callable(getattr(client, "request", None)) and hasattr(client, "base_url")


def wrap(client: Any, conversing: Conversing) -> None:
    """Fit a client's requests from now on; a client that is already wrapped only gets the new settings."""
    kind = type(client)
    if not hasattr(client, "_conversing"):
        client.__class__ = (_async_class if iscoroutinefunction(kind.request) else _sync_class)(_copied(kind))
    client._conversing = conversing


def _sdk(client: Any) -> str:
    """The SDK of a client's class or one of its base classes."""
    roots = (kind.__module__.partition(".")[0] for kind in type(client).__mro__)
    return next((root for root in roots if root in PATHS), "")


def _asks(client: Any, options: Any) -> Callable[[], Sent] | None:
    """The function that fits a call; None if it isn't a request to a model."""
    path = str(options.url).partition("?")[0]
    api = next((api for end, api in PATHS[_sdk(client)].items() if path.endswith(end)), None)
    if api is None or options.method.lower() != "post" or not isinstance(options.json_data, dict):
        return None
    return partial(client._conversing.fit, _given(options.json_data), api)


def _given(body: dict[str, Any]) -> dict[str, Any]:
    """A body without fields that weren't given; the SDK omits them later, using the same two classes."""
    left_out = [name for name, value in body.items() if type(value).__name__ in ("Omit", "NotGiven")]
    return {name: value for name, value in body.items() if name not in left_out} if left_out else body


def _copied(kind: Any) -> Any:
    """A client class whose copies share its conversations."""

    class Copied(kind):  # type: ignore[misc]
        def copy(self, **changes: Any) -> Any:
            made = super().copy(**changes)
            made._conversing = self._conversing
            return made

        with_options = copy

    return Copied


def _sync_class(kind: Any) -> Any:
    class WrappedClient(kind):  # type: ignore[misc]
        def request(self, cast_to: Any, options: Any, *rest: Any, **named: Any) -> Any:
            ask = _asks(self, options)
            if ask is None:
                return super().request(cast_to, options, *rest, **named)
            sent = ask()
            answer = super().request(cast_to, _with_body(options, sent), *rest, **named)
            if _is_stream(answer):
                answer._iterator = _heard(answer._iterator, sent)
            elif told := sent.told(_read(answer)):
                sent.learn(told)
            return answer

    return WrappedClient


def _async_class(kind: Any) -> Any:
    class WrappedAsync(kind):  # type: ignore[misc]
        async def request(self, cast_to: Any, options: Any, *rest: Any, **named: Any) -> Any:
            ask = _asks(self, options)
            if ask is None:
                return await super().request(cast_to, options, *rest, **named)
            sent = await anyio.to_thread.run_sync(ask)  # planning would block the event loop for too long
            answer = await super().request(cast_to, _with_body(options, sent), *rest, **named)
            if _is_stream(answer):
                answer._iterator = _heard_async(answer._iterator, sent)
            elif told := sent.told(_read(answer)):
                await anyio.to_thread.run_sync(sent.learn, told)
            return answer

    return WrappedAsync


def _with_body(options: Any, sent: Sent) -> Any:
    if sent.body is options.json_data:
        return options
    changed = copy(options)
    changed.json_data = sent.body
    return changed


def _is_stream(answer: Any) -> bool:
    return hasattr(answer, "_iterator")


def _read(answer: Any) -> Any:
    """A parsed response, or the content of a raw one; None if its body wasn't read, as in `with_streaming_response`."""
    raw = getattr(answer, "http_response", None)
    if raw is None:
        return answer
    if not raw.is_closed or "json" not in raw.headers.get("content-type", ""):
        return None
    return json.loads(raw.content)


def _heard(events: Iterator[Any], sent: Sent) -> Iterator[Any]:
    """The events of a stream as they come; the counter learns from the first one with usage."""
    told = 0
    try:
        for event in events:
            if not told and (told := sent.told(event)):
                sent.learn(told)
            yield event
    finally:
        events.close()  # type: ignore[attr-defined]


async def _heard_async(events: AsyncIterator[Any], sent: Sent) -> AsyncIterator[Any]:
    told = 0
    try:
        async for event in events:
            if not told and (told := sent.told(event)):
                await anyio.to_thread.run_sync(sent.learn, told)
            yield event
    finally:
        await events.aclose()  # type: ignore[attr-defined]
