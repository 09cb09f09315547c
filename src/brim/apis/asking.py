"""How to ask each provider's model one question, and where the provider lists its models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from brim.apis.anthropic import asking as anthropic
from brim.apis.gemini import asking as gemini
from brim.apis.openai_chat import asking as openai_chat


@dataclass(frozen=True, slots=True)
class Asking:
    """How to ask one provider: the paths below its base address, key headers, body and answer."""

    path: str
    models: str
    key_headers: Callable[[str], list[tuple[str, str]]]
    # Headers that every request needs.
    headers: Callable[[], list[tuple[str, str]]]
    # Model, instructions, text, most tokens of the answer, and the base address.
    body: Callable[[str, str, str, int, str], dict[str, Any]]
    answer: Callable[[Mapping[str, Any]], str]


# In order of preference: the first API that an upstream offers is used.
ASKING: Final = {
    name: Asking(made.PATH, made.MODELS, made.key_headers, made.headers, made.body, made.answer)
    for name, made in (("openai_chat", openai_chat), ("anthropic", anthropic), ("gemini", gemini))
}


def key_headers(api: str, key: str) -> list[tuple[str, str]]:
    """The headers that carry a key. Example: key_headers("anthropic", "k") -> [("x-api-key", "k")]"""
    return ASKING.get(api, ASKING["openai_chat"]).key_headers(key)
