"""Clients of the google-genai SDK: `models`, `chats` and `aio` all send through one object, which we wrap."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any

import anyio.to_thread

from brim.integrations.sdks.conversations import Conversing, Sent

_PATH = re.compile(r"([^/:]+):(?:generateContent|streamGenerateContent)$")


def fits(client: Any) -> bool:
    """Whether this is a `genai.Client`, or its `aio`."""
    home = any(kind.__module__.startswith("google.genai.") for kind in type(client).__mro__)
    return home and hasattr(client, "_api_client")


def wrap(client: Any, conversing: Conversing) -> None:
    """Fit a client's requests from now on; a client that is already wrapped only gets the new settings."""
    sender = client._api_client
    if not hasattr(sender, "_conversing"):
        sender.__class__ = _sender_class(type(sender))
    sender._conversing = conversing


def _asks(sender: Any, path: str, request: dict[str, Any]) -> Callable[[], Sent] | None:
    """The function that fits a request; None if it isn't sent to a model."""
    found = _PATH.search(path.partition("?")[0])
    if found is None or "contents" not in request:
        return None
    # Fields that begin with an underscore tell the SDK where to send; they aren't part of the body.
    body = {name: value for name, value in request.items() if not name.startswith("_")}
    return partial(sender._conversing.fit, body, "gemini", found.group(1))


def _sender_class(kind: Any) -> Any:
    """A class for the object that sends a client's requests, which fits each in its conversation's session."""

    class WrappedSender(kind):  # type: ignore[misc]
        def request(self, method: str, path: str, request_dict: dict[str, Any], http_options: Any = None) -> Any:
            sent = _sent(_asks(self, path, request_dict))
            answer = super().request(method, path, _body(request_dict, sent), http_options)
            if sent is not None and (told := _told(answer, sent)):
                sent.learn(told)
            return answer

        def request_streamed(
            self, method: str, path: str, request_dict: dict[str, Any], http_options: Any = None
        ) -> Iterator[Any]:
            sent, told = _sent(_asks(self, path, request_dict)), 0
            for piece in super().request_streamed(method, path, _body(request_dict, sent), http_options):
                if sent is not None and not told and (told := _told(piece, sent)):
                    sent.learn(told)
                yield piece

        async def async_request(
            self, method: str, path: str, request_dict: dict[str, Any], http_options: Any = None
        ) -> Any:
            sent = await _sent_beside(_asks(self, path, request_dict))
            answer = await super().async_request(method, path, _body(request_dict, sent), http_options)
            if sent is not None and (told := _told(answer, sent)):
                await anyio.to_thread.run_sync(sent.learn, told)
            return answer

        async def async_request_streamed(
            self, method: str, path: str, request_dict: dict[str, Any], http_options: Any = None
        ) -> AsyncIterator[Any]:
            sent = await _sent_beside(_asks(self, path, request_dict))
            pieces = await super().async_request_streamed(method, path, _body(request_dict, sent), http_options)
            return _heard(pieces, sent)

    return WrappedSender


def _sent(ask: Callable[[], Sent] | None) -> Sent | None:
    return None if ask is None else ask()


async def _sent_beside(ask: Callable[[], Sent] | None) -> Sent | None:
    """Fit in a thread, because planning would block the event loop for too long."""
    return None if ask is None else await anyio.to_thread.run_sync(ask)


def _body(request: dict[str, Any], sent: Sent | None) -> dict[str, Any]:
    return request if sent is None else {**request, **sent.body}


def _told(answer: Any, sent: Sent) -> int:
    return sent.told(json.loads(answer.body)) if answer.body else 0


async def _heard(pieces: AsyncIterator[Any], sent: Sent | None) -> AsyncIterator[Any]:
    told = 0
    async for piece in pieces:
        if sent is not None and not told and (told := _told(piece, sent)):
            await anyio.to_thread.run_sync(sent.learn, told)
        yield piece
