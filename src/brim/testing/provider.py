"""The fake provider: a server on loopback with scripted answers that counts tokens like real ones."""

from __future__ import annotations

import asyncio
import re
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any

from brim import apis, counting, errors
from brim import models as catalog
from brim.apis import Usage, provider_errors
from brim.conversation import Conversation, encode
from brim.models import Model
from brim.testing import speech as speaking
from brim.testing.http import Answer, serve
from brim.testing.replies import Call, Calls, Fail, Overflow, Raw, Reply, Say, Seen
from brim.tokens.counter import Counter

_GEMINI = re.compile(r"/v1(?:alpha|beta)?/models/([^/:]+):(generateContent|streamGenerateContent|countTokens)$")
_APIS = {
    "/chat/completions": "openai_chat",
    "/responses": "openai_responses",
    "/messages": "anthropic",
    "/api/chat": "ollama",
}
# The smallest prefix that providers keep in their prompt cache, and the size of cache steps.
CACHE_MINIMUM = 1024
# The model whose tokenizer counts for unknown models.
STAND_IN = "gpt-4o"
JSON = (("content-type", "application/json"),)
LINES = (("content-type", "application/x-ndjson"),)
EVENTS = (("content-type", "text/event-stream; charset=utf-8"), ("cache-control", "no-cache"))


class FakeProvider:
    """Speaks OpenAI chat and responses, Anthropic, Gemini and Ollama on one port.

    Scripted replies are returned in order; after them, every request gets the result of `reader`, or `default`. A
    prompt above `window` is refused in the provider's wording, and prefixes seen before are reported as cached.
    `abandoned` counts answers that clients didn't wait for.
    """

    def __init__(
        self,
        *,
        window: int = 128_000,
        model: str = "gpt-4o",
        default: Reply = Say("All right."),  # noqa: B008, frozen
        models: Sequence[str] = (),
        host: str = "127.0.0.1",
        keep: int = 1_000,
        reader: Callable[[Conversation], Reply] | None = None,
    ) -> None:
        self.window = window
        self.model = model
        self.models = tuple(models) or (model,)
        self.default = default
        self.reader = reader
        self.requests: deque[Seen] = deque(maxlen=keep)
        self.abandoned = 0
        self.url = ""
        self._host = host
        self._script: deque[Reply] = deque()
        self._cache: dict[bytes, int] = {}
        self._number = 0
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[Any]] = set()
        self._thread: tuple[threading.Thread, asyncio.AbstractEventLoop] | None = None

    def script(self, *replies: Reply) -> None:
        """Add replies for the next requests, one each."""
        self._script.extend(replies)

    @property
    def posts(self) -> list[Seen]:
        """The requests with a body, in order, which excludes listing the models."""
        return [seen for seen in self.requests if seen.method == "POST"]

    async def start(self, port: int = 0) -> FakeProvider:
        self._server = await asyncio.start_server(self._serve, self._host, port, limit=1 << 20)
        self.url = f"http://{self._host}:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            for task in list(self._open):
                task.cancel()
            await asyncio.gather(*self._open, return_exceptions=True)

    async def __aenter__(self) -> FakeProvider:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def __enter__(self) -> FakeProvider:
        """Run in a separate thread, for synchronous tests."""
        ready = threading.Event()

        def run() -> None:
            loop = asyncio.new_event_loop()
            self._thread = (thread, loop)
            loop.run_until_complete(self.start())
            ready.set()
            loop.run_forever()
            loop.run_until_complete(self.stop())
            loop.close()

        thread = threading.Thread(target=run, name="fake-provider", daemon=True)
        thread.start()
        ready.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread is not None:
            thread, loop = self._thread
            loop.call_soon_threadsafe(loop.stop)
            thread.join()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            self.abandoned += await serve(reader, writer, self._answer)
        except asyncio.CancelledError:
            writer.transport.abort()  # the provider is being stopped
        finally:
            self._open.discard(task)

    async def _answer(self, seen: Seen) -> Answer:
        self.requests.append(seen)
        gemini = _GEMINI.search(seen.path)
        if gemini:
            action = gemini.group(2)
            return self._chat(seen, "gemini", gemini.group(1), action)
        for ending, api in _APIS.items():
            if seen.path.endswith(ending) and seen.method == "POST":
                return self._chat(seen, api, "", "")
        if seen.path.endswith("/models"):
            return self._listed(seen)
        if self._script and isinstance(self._script[0], (Raw, Fail)):
            return self._failed(self._script.popleft(), "openai_chat")
        if seen.path.endswith("/count_tokens"):
            return self._counted(seen)
        if seen.path.endswith("/embeddings"):
            vector = {"object": "embedding", "index": 0, "embedding": [0.25, -0.5]}
            usage = {"prompt_tokens": 3, "total_tokens": 3}
            return _json(200, {"object": "list", "data": [vector], "model": self.model, "usage": usage})
        return _json(404, provider_errors.error("openai_chat", 404, f"Invalid URL ({seen.method} {seen.path})"))

    def _listed(self, seen: Seen) -> Answer:
        if "anthropic-version" in seen.headers:
            named = [{"type": "model", "id": name, "display_name": name} for name in self.models]
            return _json(200, {"data": named, "has_more": False})
        listed = [{"id": name, "object": "model", "context_window": self.window} for name in self.models]
        return _json(200, {"object": "list", "data": listed})

    def _counted(self, seen: Seen) -> Answer:
        count = counting.count(seen.body, model=self._model("", seen), api="anthropic")
        return _json(200, {"input_tokens": count.tokens})

    def _model(self, name: str, seen: Seen) -> Model:
        named = name or str(seen.fields.get("model", self.model))
        try:
            return catalog.find(named)
        except errors.UnknownModel:
            return replace(catalog.find(STAND_IN), name=named)

    def _chat(self, seen: Seen, api: str, name: str, action: str) -> Answer:
        self._number += 1
        scripted = bool(self._script)
        reply = self._script.popleft() if scripted else self.default
        if isinstance(reply, (Raw, Fail)):
            return self._failed(reply, api)
        if not seen.body.lstrip().startswith(b"{"):
            return _json(400, provider_errors.error(api, 400, "We could not parse the JSON body of your request."))
        try:
            model = self._model(name, seen)
            conversation = apis.parse(seen.body, api, model=model.name)
        except (errors.BrimError, ValueError) as problem:
            return _json(400, provider_errors.error(api, 400, str(problem)))
        tokens, cached = self._size(conversation, model)
        if action == "countTokens":
            return _json(200, {"totalTokens": tokens})
        if isinstance(reply, Overflow) or tokens + (conversation.max_output or 0) > self.window:
            told = reply if isinstance(reply, Overflow) else Overflow()
            return _json(*provider_errors.overflow(api, told.tokens or tokens, told.window or self.window, told.style))
        if self.reader is not None and not scripted:
            reply = self.reader(conversation)
        said = self._speech(reply, seen, model, Usage(tokens, 0, cached))
        fault = reply.fault if isinstance(reply, Say) else None
        if action == "streamGenerateContent" and "alt=sse" not in seen.query:
            return Answer(200, JSON, tuple(speaking.gemini_array(said)), streamed=True, fault=fault)
        streamed = seen.fields.get("stream", apis.APIS[api].streams_unasked)
        if action == "streamGenerateContent" or (not action and streamed is True):
            kind = LINES if api == "ollama" else EVENTS
            return Answer(200, kind, tuple(speaking.STREAMED[api](said)), streamed=True, fault=fault)
        return replace(_json(200, speaking.WHOLE[api](said)), fault=fault)

    def _failed(self, reply: Reply, api: str) -> Answer:
        if isinstance(reply, Raw):
            return Answer(reply.status, reply.headers, reply.pieces, streamed=True, fault=reply.fault)
        assert isinstance(reply, Fail)
        answer = _json(reply.status, provider_errors.error(api, reply.status, reply.message))
        return replace(answer, headers=(*answer.headers, *reply.headers))

    def _size(self, conversation: Conversation, model: Model) -> tuple[int, int]:
        """The tokens of the prompt, and how many of them were seen before."""
        counter = Counter(model, conversation.api)
        sizes = [counter.message(message) for message in conversation.messages]
        head = counter.head(conversation)
        cached = 0
        so_far = head
        for digest, size in zip(conversation.prefix_digests()[1:], sizes, strict=True):
            so_far += size
            if digest in self._cache:
                cached = so_far
            self._cache[digest] = so_far
        total = head + sum(sizes)
        cached = min(cached, total - 1) // 128 * 128
        return total, cached if cached >= CACHE_MINIMUM else 0

    def _speech(self, reply: Reply, seen: Seen, model: Model, usage: Usage) -> speaking.Speech:
        text = reply.text if isinstance(reply, (Say, Call, Calls)) else ""
        calls = (reply,) if isinstance(reply, Call) else reply.calls if isinstance(reply, Calls) else ()
        spoken = Counter(model, "openai_chat").text(text + "".join(encode(call.arguments).decode() for call in calls))
        options = seen.fields.get("stream_options")
        return speaking.Speech(
            id=f"{self._number:08x}",
            model=model.name,
            text=text,
            pieces=reply.pieces if isinstance(reply, Say) else 4,
            thinking=reply.thinking if isinstance(reply, Say) else "",
            calls=calls,
            usage=replace(usage, output=max(1, spoken)),
            with_usage=isinstance(options, dict) and options.get("include_usage") is True,
        )


def _json(status: int, body: Any) -> Answer:
    return Answer(status, JSON, (encode(body),))
