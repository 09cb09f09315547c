"""An endpoint that speaks like OpenAI, Anthropic or Gemini, to ask for summaries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from brim.errors import BadSetting, MissingExtra

try:
    import aiohttp
except ImportError:  # pragma: no cover - the gateway extra brings it
    aiohttp = None  # type: ignore[assignment]

PATHS = {
    "openai_chat": "/chat/completions",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/{model}:generateContent",
}
VERSION = "2023-06-01"
# OpenAI's own newer models refuse the older name of this field; servers that speak like it often know no other.
OPENAI = "https://api.openai.com"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Asks a model over HTTP. `url` is the base that the provider documents, such as https://api.openai.com/v1.

    Example: LlmSummarizer(Endpoint("http://localhost:8080/v1", "qwen3-4b"))
    """

    url: str
    model: str
    key: str = field(default="", repr=False)
    api: str = "openai_chat"

    def __post_init__(self) -> None:
        if self.api not in PATHS:
            raise BadSetting("summarizer.api", f"{self.api!r} is not one of {', '.join(PATHS)}")
        if aiohttp is None:
            raise MissingExtra("asking an endpoint for summaries", "gateway")

    async def __call__(self, system: str, text: str, tokens: int) -> str:
        return self.answer(await self.asked(system, text, tokens))

    async def asked(self, system: str, text: str, tokens: int) -> Mapping[str, Any]:
        """The whole response: the answer, and what it took."""
        address = self.url.rstrip("/") + PATHS[self.api].format(model=self.model)
        async with (
            aiohttp.ClientSession(headers=self._headers()) as http,
            http.post(address, json=self._body(system, text, tokens)) as response,
        ):
            response.raise_for_status()
            body: Mapping[str, Any] = await response.json()
            return body

    def answer(self, body: Mapping[str, Any]) -> str:
        return answer_of(body, self.api)

    def _headers(self) -> dict[str, str]:
        if self.api == "anthropic":
            return {"x-api-key": self.key, "anthropic-version": VERSION}
        if self.api == "gemini":
            return {"x-goog-api-key": self.key}
        return {"authorization": f"Bearer {self.key}"} if self.key else {}

    def _body(self, system: str, text: str, tokens: int) -> dict[str, Any]:
        said = [{"role": "user", "content": text}]
        if self.api == "anthropic":
            return {"model": self.model, "max_tokens": tokens, "system": system, "messages": said}
        if self.api == "gemini":
            return {
                "systemInstruction": {"parts": [{"text": system}]},
                "contents": [{"role": "user", "parts": [{"text": text}]}],
                "generationConfig": {"maxOutputTokens": tokens},
            }
        return {
            "model": self.model,
            "max_completion_tokens" if self.url.startswith(OPENAI) else "max_tokens": tokens,
            "messages": [{"role": "system", "content": system}, *said],
        }


def answer_of(body: Mapping[str, Any], api: str) -> str:
    """The text of a response; empty if it has none."""
    if api == "anthropic":
        return _joined(body.get("content"))
    if api == "gemini":
        candidate = _first(body.get("candidates"))
        return _joined((candidate.get("content") or {}).get("parts"))
    return str((_first(body.get("choices")).get("message") or {}).get("content") or "")


def _first(listed: Any) -> Mapping[str, Any]:
    return listed[0] if isinstance(listed, list) and listed and isinstance(listed[0], Mapping) else {}


def _joined(blocks: Any) -> str:
    return "".join(str(block.get("text", "")) for block in blocks or [] if isinstance(block, Mapping))
