"""Models from an upstream's own list: the `/models` answers of OpenAI-like servers, Anthropic and Gemini."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from brim import errors
from brim.models.families import family_of
from brim.models.lookup import api_of
from brim.models.model import Model, Prices

# Where servers state a limit, as a path inside the entry of a model. The smallest that is stated counts, since
# some state both what the model could do and what this server gives it.
_WINDOW: Final = (
    ("context_window",),  # Groq, Vercel
    ("context_length",),  # OpenRouter, Together, Cohere
    ("contextLength",),  # Fireworks
    ("top_provider", "context_length"),  # OpenRouter
    ("max_model_len",),  # vLLM, SGLang
    ("loaded_context_length",),  # LM Studio
    ("max_context_length",),  # LM Studio, Mistral
    ("meta", "n_ctx"),  # llama.cpp
    ("capabilities", "limits", "max_context_window_tokens"),  # GitHub Copilot
    ("limits", "max_context_tokens"),
)
_INPUT: Final = (
    ("max_input_tokens",),  # Anthropic, LiteLLM
    ("inputTokenLimit",),  # Gemini
    ("model_info", "max_input_tokens"),  # LiteLLM's /model/info
    ("capabilities", "limits", "max_prompt_tokens"),
)
_OUTPUT: Final = (
    ("top_provider", "max_completion_tokens"),
    ("max_completion_tokens",),
    ("max_output_tokens",),
    ("max_tokens",),  # Anthropic, Vercel
    ("outputTokenLimit",),
    ("model_info", "max_output_tokens"),
    ("capabilities", "limits", "max_output_tokens"),
)
_PRICES: Final = {  # OpenRouter and Vercel, in USD per token
    "fresh": (("pricing", "prompt"), ("pricing", "input")),
    "output": (("pricing", "completion"), ("pricing", "output")),
    "cached": (("pricing", "input_cache_read"),),
    "written": (("pricing", "input_cache_write"),),
}


def discover(payload: Any, *, provider: str = "", api: str = "") -> list[Model]:
    """The models in a `/models` answer that state their limits; entries without limits are skipped.

    Example: `{"data": [{"id": "my-llama", "max_model_len": 8192}]}` -> one Model with a window of 8,192.
    """
    return [model for entry in _entries(payload) if (model := _model(entry, provider, api))]


def with_default(body: bytes, name: str) -> bytes:
    """A `/models` answer with this model marked as the default; unchanged if it isn't listed.

    Example: (b'{"data": [{"id": "gpt-4o"}]}', "gpt-4o") -> b'{"data": [{"id": "gpt-4o", "is_default": true}]}'
    """
    try:
        listed = json.loads(body)
        entry = next((one for one in _entries(listed) if _name(one) == name), None)
    except (ValueError, RecursionError, errors.BadInput):
        return body
    if not isinstance(entry, dict):
        return body
    entry["is_default"] = True
    return json.dumps(listed, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _entries(payload: Any) -> Iterator[Mapping[str, Any]]:
    listed = payload
    if isinstance(payload, Mapping):
        listed = next((payload[key] for key in ("data", "models") if key in payload), None)
    if not isinstance(listed, list):
        raise errors.BadInput("models", "is not a list of models: neither a list, nor an object with data or models")
    return (entry for entry in listed if isinstance(entry, Mapping))


def _model(entry: Mapping[str, Any], provider: str, api: str) -> Model | None:
    name = _name(entry)
    window, limit = _smallest(entry, _WINDOW), _smallest(entry, _INPUT)
    total = window or limit
    if not name or total is None:
        return None
    output = _smallest(entry, _OUTPUT)
    return Model(
        name,
        provider,
        window=total,
        # A largest output equal to the window means that the server doesn't state one.
        max_output=output if output is not None and output < 0.9 * total else None,
        family=family_of(name),
        prices=_prices(entry),
        api=api or api_of(name, provider),
        source="discovered",
        input_limit=limit if limit is not None and limit < total else None,
    )


def _name(entry: Mapping[str, Any]) -> str:
    name: str = next((entry[key] for key in ("id", "model_name", "name") if isinstance(entry.get(key), str)), "")
    return name.removeprefix("models/")


def _at(entry: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = entry
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def _smallest(entry: Mapping[str, Any], paths: tuple[tuple[str, ...], ...]) -> int | None:
    stated = (_at(entry, path) for path in paths)
    return min((value for value in stated if type(value) is int and value > 0), default=None)


def _prices(entry: Mapping[str, Any]) -> Prices | None:
    found = {kind: _price(entry, paths) for kind, paths in _PRICES.items()}
    fresh, output = found["fresh"], found["output"]
    if fresh is None or output is None:
        return None
    return Prices(fresh, output, found["cached"], found["written"])


def _price(entry: Mapping[str, Any], paths: tuple[tuple[str, ...], ...]) -> float | None:
    """A price per token as a price per million; routers state -1 for "depends"."""
    for path in paths:
        stated = _at(entry, path)
        if isinstance(stated, (str, int, float)) and not isinstance(stated, bool):
            try:
                price = float(stated)
            except ValueError:
                return None
            return round(price * 1_000_000, 6) if math.isfinite(price) and price >= 0 else None
    return None
