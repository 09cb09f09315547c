"""DSPy: a ReAct whose trajectory is fitted to the room that the rest of its prompt leaves.

Example: BrimReAct("request -> answer", tools=[...], model="gpt-4o", budget=8_000)
"""

from __future__ import annotations

import json
from typing import Any

import brim
from brim.errors import MissingFramework
from brim.integrations.conversion.fitter import MessageFitter, PlainCodec
from brim.integrations.conversion.messages import ChatDict, call, text_of
from brim.models import Model, model_of

try:
    import dspy
except ImportError as problem:
    raise MissingFramework("brim.integrations.dspy", "dspy>=3.4,<4") from problem

# The keys of a step in a trajectory; each is followed by the step's number.
PARTS = ("thought", "tool_name", "tool_args", "observation")
# DSPy writes a trajectory as fields of one text, whose headings take more tokens than messages. Each retry
# subtracts the excess and this share of the budget (the second was over by at most .5% in the runs of the tests).
MARGIN = 0.01
ATTEMPTS = 5


class BrimReAct(dspy.ReAct):
    """dspy.ReAct with prompts within the budget; the prediction's own trajectory keeps everything."""

    def __init__(
        self,
        signature: Any,
        tools: list[Any],
        max_iters: int = 20,
        *,
        model: str | Model = "",
        budget: int | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(signature, tools, max_iters)
        self._model, self._budget, self._settings = model, budget, settings

    def _call_with_potential_trajectory_truncation(self, module: Any, trajectory: Any, **given: Any) -> Any:
        return super()._call_with_potential_trajectory_truncation(
            module, self._fitted(module, trajectory, given), **given
        )

    async def _async_call_with_potential_trajectory_truncation(self, module: Any, trajectory: Any, **given: Any) -> Any:
        fitted = self._fitted(module, trajectory, given)
        return await super()._async_call_with_potential_trajectory_truncation(module, fitted, **given)

    def _fitted(self, module: Any, trajectory: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
        """The trajectory with long and old observations shortened, so that the whole prompt fits."""
        model = model_of(self._model or dspy.settings.lm.model)
        budget = self._budget or model.max_input(self._settings.get("reserve"))
        over = self._size(module, trajectory, given, model) - budget
        if over <= 0:
            return trajectory
        rest = self._prompt(module, {}, given)
        room = budget
        for _ in range(ATTEMPTS):
            settings = {**self._settings, "budget": max(1, room)}
            fitter: MessageFitter[ChatDict] = MessageFitter(PlainCodec(), model, **settings)
            kept = _trajectory(fitter.fit([*rest, *_steps(trajectory)]), trajectory)
            over = self._size(module, kept, given, model) - budget
            if over <= 0:
                return kept
            room -= over + int(budget * MARGIN)
        raise brim.BudgetTooSmall(budget + over, budget)

    def _size(self, module: Any, trajectory: dict[str, Any], given: dict[str, Any], model: Model) -> int:
        return brim.count(self._prompt(module, trajectory, given), model=model, api="openai_chat").tokens

    def _prompt(self, module: Any, trajectory: dict[str, Any], given: dict[str, Any]) -> list[ChatDict]:
        """The messages that DSPy sends."""
        predict = getattr(module, "predict", module)
        adapter = dspy.settings.adapter or dspy.ChatAdapter()
        inputs = {**given, "trajectory": self._format_trajectory(trajectory)}
        messages = adapter.format(predict.signature, predict.demos, inputs)
        return [{"role": one["role"], "content": text_of(one["content"])} for one in messages]


def _numbers(trajectory: dict[str, Any]) -> list[str]:
    return [key.removeprefix("thought_") for key in trajectory if key.startswith("thought_")]


def _steps(trajectory: dict[str, Any]) -> list[ChatDict]:
    """The steps as chat messages."""
    found: list[ChatDict] = []
    for number in _numbers(trajectory):
        name, arguments = trajectory[f"tool_name_{number}"], trajectory[f"tool_args_{number}"]
        written = json.dumps(arguments, ensure_ascii=False, default=str)
        found += [
            {
                "role": "assistant",
                "content": str(trajectory[f"thought_{number}"]),
                "tool_calls": [call(number, str(name), written)],
            },
            {"role": "tool", "tool_call_id": number, "content": str(trajectory.get(f"observation_{number}", ""))},
        ]
    return found


def _trajectory(fitted: list[ChatDict], whole: dict[str, Any]) -> dict[str, Any]:
    """The kept steps in DSPy's format; the first observation replaces the others."""
    results = {chat["tool_call_id"]: text_of(chat["content"]) for chat in fitted if chat["role"] == "tool"}
    thoughts = {
        chat["tool_calls"][0]["id"]: text_of(chat["content"])
        for chat in fitted
        if chat["role"] == "assistant" and chat.get("tool_calls")
    }
    said = [text_of(chat["content"]) for chat in fitted[1:] if not chat.get("tool_calls") and chat["role"] != "tool"]
    found: dict[str, Any] = {"summary": "\n".join(said[1:])} if len(said) > 1 else {}
    for number in _numbers(whole):
        if number in results:
            found |= {f"{part}_{number}": whole[f"{part}_{number}"] for part in PARTS[1:3]}
            found |= {f"thought_{number}": thoughts.get(number, ""), f"observation_{number}": results[number]}
    return found
