"""LiteLLM: a callback that fits requests to each deployment, and a guardrail for requests that name it.

Example: litellm.callbacks = [BrimLogger()]
"""

from __future__ import annotations

from typing import Any

import brim
from brim import models
from brim.errors import MissingFramework, UnknownModel
from brim.models import Model
from brim.models.families import family_of

try:
    import litellm
    from litellm.integrations.custom_guardrail import CustomGuardrail
    from litellm.integrations.custom_logger import CustomLogger
    from litellm.types.guardrails import GuardrailEventHooks
except ImportError as problem:
    raise MissingFramework("brim.integrations.litellm", "litellm>=1.106,<2") from problem

CHATS = ("completion", "acompletion")
FIELDS = ("messages", "tools", "tool_choice", "max_tokens", "max_completion_tokens")


class Fitting:
    """Fits LiteLLM's requests into the deployment's window, beside its tools and answer."""

    def __init__(self, model: str | Model | None = None, budget: int | None = None, **settings: Any) -> None:
        self._model = model
        self._settings: dict[str, Any] = {"budget": budget, **settings}

    async def fitted(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        """The fitted messages of a request. Raises BudgetTooSmall."""
        body = {name: request[name] for name in FIELDS if request.get(name) is not None}
        model = self._model or _deployed(str(request.get("model") or ""))
        found = await brim.afit(body, model=model, api="openai_chat", **self._settings)
        return list(found.messages)


def _deployed(name: str) -> Model:
    """The model of a deployment, from Brim's catalog or else LiteLLM's. Raises UnknownModel."""
    try:
        return models.find(name)
    except UnknownModel:
        pass
    try:
        told = litellm.get_model_info(name)
    except Exception as problem:  # LiteLLM raises Exception itself
        raise UnknownModel(name, ()) from problem
    window = told.get("max_input_tokens") or told.get("max_tokens")
    if not window:
        raise UnknownModel(name, ())
    return Model(name, "", window, told.get("max_output_tokens"), family_of(name), None, "openai_chat", "litellm")


class BrimLogger(CustomLogger):
    """Fits LiteLLM's requests once the deployment, and so the window, is known."""

    def __init__(self, model: str | Model | None = None, budget: int | None = None, **settings: Any) -> None:
        super().__init__()
        self.fitting = Fitting(model, budget, **settings)

    async def async_pre_call_deployment_hook(self, kwargs: dict[str, Any], call_type: Any) -> dict[str, Any] | None:
        if getattr(call_type, "value", call_type) not in CHATS or not kwargs.get("messages"):
            return None
        return {**kwargs, "messages": await self.fitting.fitted(kwargs)}


class BrimGuardrail(CustomGuardrail):
    """Fits the requests that name it in `guardrails`, or all with `default_on=True`, before one deployment is chosen.

    Give it a model or a budget if requests name a group of several models.
    """

    def __init__(self, model: str | Model | None = None, budget: int | None = None, **settings: Any) -> None:
        own = {"policy", "reserve"}
        self.fitting = Fitting(model, budget, **{name: settings.pop(name) for name in own & settings.keys()})
        settings.setdefault("guardrail_name", "brim")
        settings.setdefault("event_hook", GuardrailEventHooks.pre_call)
        super().__init__(supported_event_hooks=[GuardrailEventHooks.pre_call], **settings)

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: Any
    ) -> dict[str, Any]:
        if call_type in CHATS and data.get("messages"):
            data["messages"] = await self.fitting.fitted(data)
        return data
