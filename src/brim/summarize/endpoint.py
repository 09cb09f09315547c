"""An OpenAI- or Anthropic-compatible endpoint to ask for summaries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from brim.errors import BadSetting, MissingExtra

try:
    import aiohttp
except ImportError:  # pragma: no cover - the gateway extra brings it
    aiohttp = None  # type: ignore[assignment]

PATHS = {"openai_chat": "/chat/completions", "anthropic": "/v1/messages"}
VERSION = "2023-06-01"


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
        async with (
            aiohttp.ClientSession(headers=self._headers()) as http,
            http.post(self.url.rstrip("/") + PATHS[self.api], json=self._body(system, text, tokens)) as response,
        ):
            response.raise_for_status()
            return answer_of(await response.json(), self.api)

    def _headers(self) -> dict[str, str]:
        if self.api == "anthropic":
            return {"x-api-key": self.key, "anthropic-version": VERSION}
        return {"authorization": f"Bearer {self.key}"} if self.key else {}

    def _body(self, system: str, text: str, tokens: int) -> dict[str, Any]:
        said = [{"role": "user", "content": text}]
        if self.api == "anthropic":
            return {"model": self.model, "max_tokens": tokens, "system": system, "messages": said}
        return {
            "model": self.model,
            "max_tokens": tokens,
            "messages": [{"role": "system", "content": system}, *said],
        }


def answer_of(body: Mapping[str, Any], api: str) -> str:
    """The text of a response; empty if it has none."""
    if api == "anthropic":
        blocks = body.get("content") or []
        return "".join(block.get("text", "") for block in blocks if isinstance(block, Mapping))
    choices = body.get("choices") or []
    message = choices[0].get("message", {}) if choices and isinstance(choices[0], Mapping) else {}
    return str(message.get("content") or "")
