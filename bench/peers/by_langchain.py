"""LangChain: `trim_messages`, and the middleware of its agents that clears old tool results or summarises old messages.

All of them count with the chat model of gpt-4o, which is exact for text. The summariser is a stand-in that needs no
network and says the same each time: the beginning of every message that it is given (see stand_in.py).
"""

from __future__ import annotations

from typing import Any

from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware, SummarizationMiddleware
from langchain.agents.middleware.types import ModelRequest
from langchain_core.messages import BaseMessage, convert_to_messages, convert_to_openai_messages, trim_messages
from langchain_openai import ChatOpenAI
from langgraph.graph.message import add_messages
from stand_in import summary

PACKAGES = ("langchain", "langchain-core", "langchain-openai", "tiktoken")
MODEL = ChatOpenAI(model="gpt-4o", api_key="none")
Chat = list[dict[str, Any]]
FRAME = 7  # tokens of a message without its text, and before the answer


def written(messages: list[BaseMessage]) -> Chat:
    return list(convert_to_openai_messages(messages))


def trimmed(messages: Chat, budget: int) -> Chat:
    """As its documentation recommends for chats: the newest messages, from a user's on, and the system message."""
    return written(
        trim_messages(
            convert_to_messages(messages), max_tokens=budget, token_counter=MODEL, strategy="last",
            include_system=True, start_on="human", end_on=("human", "tool"),
        )
    )  # fmt: skip


def trimmed_in_parts(messages: Chat, budget: int) -> Chat:
    """Messages may be cut, and any may be first."""
    return written(
        trim_messages(
            convert_to_messages(messages), max_tokens=budget, token_counter=MODEL, strategy="last",
            include_system=True, allow_partial=True, text_splitter=lambda text: text.splitlines(keepends=True),
        )
    )  # fmt: skip


def cleared(messages: Chat, budget: int) -> Chat:
    """The middleware as an agent runs it before each call of the model: all but three results are cleared."""
    sent: list[list[BaseMessage]] = []
    middleware = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=budget)], token_count_method="model")
    request = ModelRequest(model=MODEL, messages=convert_to_messages(messages), tools=[])
    middleware.wrap_model_call(request, lambda edited: sent.append(edited.messages))  # type: ignore[arg-type, return-value]
    return written(sent[0])


def cut(text: str, budget: int) -> str:
    """A single message in so many tokens, and those around it."""
    kept = trimmed_in_parts([{"role": "user", "content": text}], budget + FRAME)
    return "".join(str(message["content"]) for message in kept)


class Summarised:
    """The state of an agent: what was summarised stays so, new messages are added behind it.

    It keeps half of what the system message leaves of the budget; its default, 20 messages, knows no budget.
    """

    def __init__(self) -> None:
        self._state: list[Any] = []
        self._seen = 0

    def __call__(self, messages: Chat, budget: int) -> Chat:
        every = convert_to_messages(messages)
        system = [message for message in every if message.type == "system"]
        rest = [message for message in every if message.type != "system"]
        room = budget - MODEL.get_num_tokens_from_messages(system) if system else budget
        middleware = SummarizationMiddleware(
            MODEL, trigger=("tokens", max(1, room)), keep=("tokens", max(1, room // 2)),
            token_counter=MODEL.get_num_tokens_from_messages, summarizer=_summary,
        )  # fmt: skip
        self._state = list(add_messages(self._state, rest[self._seen :]))
        self._seen = len(rest)
        update = middleware.before_model({"messages": self._state}, None)  # type: ignore[arg-type, typeddict-item]
        if update:
            self._state = list(add_messages(self._state, update["messages"]))
        return written([*system, *self._state])


def _summary(messages: list[Any]) -> str:
    return summary([message.text for message in messages])


def count(request: dict[str, Any]) -> int:
    functions = [one["function"] for one in request.get("tools") or ()] or request.get("functions")
    tools = [{"type": "function", "function": one} for one in functions or ()]
    model = ChatOpenAI(model=request["model"], api_key="none")
    return int(model.get_num_tokens_from_messages(convert_to_messages(request["messages"]), tools or None))


FITS = {
    "trim_messages": lambda: trimmed,
    "trim_messages, parts": lambda: trimmed_in_parts,
    "ClearToolUsesEdit": lambda: cleared,
    "SummarizationMiddleware": Summarised,
}
COUNTS = {"ChatOpenAI": lambda: count}
CUTS = {"trim_messages, parts": lambda: cut}
