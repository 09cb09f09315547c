"""An endpoint with an API like OpenAI's, Anthropic's or Gemini's that writes summaries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from brim.apis.asking import ASKING, Asking
from brim.errors import BadSetting, MissingExtra

try:
    import aiohttp
except ImportError:  # pragma: no cover - the gateway extra brings it
    aiohttp = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Asks a model over HTTP. `url` is the provider's documented base URL, such as https://api.openai.com/v1.

    Example: LlmSummarizer(Endpoint("http://localhost:8080/v1", "qwen3-4b"))
    """

    url: str
    model: str
    key: str = field(default="", repr=False)
    api: str = "openai_chat"
    temperature: float | None = None

    def __post_init__(self) -> None:
        if self.api not in ASKING:
            raise BadSetting("summarizer.api", f"{self.api!r} is not one of {', '.join(ASKING)}")
        if aiohttp is None:
            raise MissingExtra("asking an endpoint for summaries", "gateway")

    async def __call__(self, system: str, text: str, tokens: int) -> str:
        return self.answer(await self.asked(system, text, tokens))

    async def asked(self, system: str, text: str, tokens: int) -> Mapping[str, Any]:
        """The whole response: the answer and its usage."""
        address = self.url.rstrip("/") + self._asking.path.format(model=self.model)
        async with (
            aiohttp.ClientSession(headers=self._headers()) as http,
            http.post(address, json=self._body(system, text, tokens)) as response,
        ):
            response.raise_for_status()
            body: Mapping[str, Any] = await response.json()
            return body

    def answer(self, body: Mapping[str, Any]) -> str:
        return self._asking.answer(body)

    @property
    def _asking(self) -> Asking:
        return ASKING[self.api]

    def _headers(self) -> dict[str, str]:
        return dict(self._asking.headers() + self._asking.key_headers(self.key))

    def _body(self, system: str, text: str, tokens: int) -> dict[str, Any]:
        body = self._asking.body(self.model, system, text, tokens, self.url)
        if self.temperature is not None:
            holder = body.get("generationConfig")
            (body if holder is None else holder)["temperature"] = self.temperature
        return body
