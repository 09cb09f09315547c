"""One interface for every provider's framing: the cost of a message, of what surrounds it, and what is uncertain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from brim.apis.anthropic import framing as anthropic
from brim.apis.anthropic.deferred_tools import loaded
from brim.apis.framed import Framed
from brim.apis.gemini import framing as gemini
from brim.apis.openai_chat import framing as openai
from brim.apis.openai_chat import templates
from brim.apis.openai_responses import framing as responses
from brim.conversation import Conversation, decode
from brim.count_text import CountText

_SCHEMAS = ("responseSchema", "response_schema", "responseJsonSchema", "response_json_schema")


@dataclass(frozen=True, slots=True)
class Framing:
    """How one API wraps the text of a request for one model."""

    key: str
    verified: bool  # whether published counts confirm it
    message: Callable[[Any], int]
    head: Callable[[Conversation], int]
    slack: Callable[[Conversation], int]
    # What the head takes from the messages: the definitions that a search has loaded.
    loaded: Callable[[Conversation], tuple[tuple[str, int], ...]] | None = None


def framing_for(api: str, model: str, count: CountText) -> Framing:
    """The framing of an API. Example: framing_for("openai_chat", "gpt-4o", count).message({...}) -> 8"""
    made = _MAKERS[api](model, count)
    return _by_template(made, count) if api != "gemini" and templates.is_open(api, model) else made


def _by_template(made: Framing, count: CountText) -> Framing:
    """The framing of an open model: tools and calls cost what a chat template makes of them, if that is more."""

    def message(value: Any) -> int:
        size, calls = made.message(value), templates.calls_of(value)
        if not calls:
            return size
        return max(size, templates.calls_tokens(calls, count) + made.message(_without_calls(value)))

    def head(conversation: Conversation) -> int:
        size, functions = made.head(conversation), _field(conversation, "functions")
        if not conversation.tools and not functions:
            return size
        bare = replace(conversation, tools=None, fields=_without(conversation, "functions", "tools"))
        return max(size, made.head(bare) + templates.tools_tokens(_tools(conversation), count, functions))

    return Framing(made.key, made.verified, message, head, made.slack)


def _without(conversation: Conversation, *names: str) -> dict[str, bytes]:
    return {name: raw for name, raw in conversation.fields.items() if name not in names}


def _without_calls(value: Any) -> Any:
    """A message without its calls."""
    if not isinstance(value, dict) or "arguments" in value or "input" in value:
        return {"role": "assistant", "content": ""}
    content = value.get("content")
    if isinstance(content, list):
        content = [block for block in content if not (isinstance(block, dict) and block.get("type") == "tool_use")]
    return {**value, "tool_calls": None, "content": content}


def _field(conversation: Conversation, *names: str) -> Any:
    for name in names:
        if name in conversation.fields:
            return decode(conversation.fields[name])
    return None


def _tools(conversation: Conversation) -> Any:
    return decode(conversation.tools) if conversation.tools else None


def _openai_chat(model: str, count: CountText) -> Framing:
    def era(conversation: Conversation) -> str:
        return "functions" if "functions" in conversation.fields else "tools"

    def choice(conversation: Conversation) -> Any:
        return _field(conversation, "tool_choice", "function_call")

    def head(conversation: Conversation) -> int:
        leading = [message.value for message in conversation.messages if message.role == "system"][:1]
        tools, functions = _tools(conversation), _field(conversation, "functions")
        size = openai.BASE + openai.format_tokens(_field(conversation, "response_format"), count)
        if tools or functions:
            system = openai.first_system_text(leading)
            size += openai.tools_tokens(tools, choice(conversation), functions, count, era(conversation), system)
        return size

    def slack(conversation: Conversation) -> int:
        tools, functions = _tools(conversation), _field(conversation, "functions")
        unsure = 0
        if tools or functions:
            unsure += openai.tools_slack(tools, choice(conversation), functions, count, era(conversation))
        if "response_format" in conversation.fields:
            unsure += openai.chat_tokens({"response_format": _field(conversation, "response_format")}, count).slack
        called = [message.value for message in conversation.messages if message.calls]
        return unsure + sum(openai.message_slack(message, count) for message in called)

    return Framing(
        f"openai_chat/{model}", True, lambda value: openai.message_tokens(value, count, "tools", model), head, slack
    )


def _ollama(model: str, count: CountText) -> Framing:
    """Ollama's chat, counted by OpenAI's rules: its messages are a variant of OpenAI's."""
    made = _openai_chat(model, count)
    return replace(made, key=f"ollama/{model}", verified=False, message=lambda value: made.message(_as_chat(value)))


def _as_chat(value: Any) -> Any:
    """A message of Ollama's with its images and thoughts where OpenAI's has them."""
    if not isinstance(value, dict) or not (value.get("images") or value.get("thinking")):
        return value
    shown = [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{image}"}}
        for image in value.get("images") or ()
        if isinstance(image, str)
    ]
    content = [{"type": "text", "text": value.get("content") or ""}, *shown] if shown else value.get("content")
    return {**value, "content": content, "reasoning_content": value.get("thinking"), "images": None, "thinking": None}


def _responses(model: str, count: CountText) -> Framing:
    def head(conversation: Conversation) -> int:
        instructions = _system(conversation)
        size = openai.BASE + responses.instructions_tokens(instructions, count, model)
        choice = _field(conversation, "tool_choice")
        size += responses.tools_tokens(_tools(conversation), choice, count, instructions)
        return size + wanted(conversation).tools

    def slack(conversation: Conversation) -> int:
        unsure = responses.tools_slack(_tools(conversation), _field(conversation, "tool_choice"), count)
        return unsure + wanted(conversation).slack

    def wanted(conversation: Conversation) -> Framed:
        """The schema of a structured answer."""
        return responses.request_tokens({"text": _field(conversation, "text")}, count, model)

    def message(value: Any) -> int:
        if isinstance(value, str):
            value = {"role": "user", "content": value}
        return responses.item_tokens(value, count, model)

    return Framing(f"openai_responses/{model}", False, message, head, slack)


def _anthropic(model: str, count: CountText) -> Framing:
    def head(conversation: Conversation) -> int:
        size = anthropic.base_tokens(model) + anthropic.system_tokens(_system(conversation), count)
        choice = _field(conversation, "tool_choice")
        size += anthropic.tools_tokens(_tools(conversation), choice, count, model, loaded(conversation))
        names = [name for name in ("output_format", "output_config") if name in conversation.fields]
        wanted = {name: _field(conversation, name) for name in names}
        return size + anthropic.request_tokens(wanted, count, model).tools

    def message(value: Any) -> int:
        return anthropic.message_tokens(value, count, model)

    return Framing(f"anthropic/{model}", False, message, head, _no_slack, loaded)


def _gemini(model: str, count: CountText) -> Framing:
    def head(conversation: Conversation) -> int:
        size = gemini.BASE + gemini.system_tokens(_system(conversation), count, model)
        choice = _field(conversation, "toolConfig", "tool_config")
        size += gemini.tools_tokens(_tools(conversation), choice, count, model)
        config = _config(conversation)
        schema = next((config[name] for name in _SCHEMAS if config.get(name) is not None), None)
        if schema is not None:
            size += gemini.request_tokens({"generationConfig": {"responseSchema": schema}}, count, model).tools
        return size

    def message(value: Any) -> int:
        return gemini.message_tokens(value, count, model)

    def slack(conversation: Conversation) -> int:
        """What media may cost beyond that if the request asks for a finer resolution."""
        config = _config(conversation)
        level = config.get("mediaResolution", config.get("media_resolution"))
        if not isinstance(level, str):
            return 0
        seen = [one.value for one in conversation.messages if any(not part.text for part in one.parts)]
        return max(0, sum(gemini.message_tokens(value, count, model, level) - message(value) for value in seen))

    return Framing(f"gemini/{model}", False, message, head, slack)


def _config(conversation: Conversation) -> Mapping[str, Any]:
    found = _field(conversation, "generationConfig", "generation_config")
    return found if isinstance(found, dict) else {}


def _system(conversation: Conversation) -> Any:
    return decode(conversation.system.raw) if conversation.system else None


def _no_slack(_: Conversation) -> int:
    return 0


_MAKERS: dict[str, Callable[[str, CountText], Framing]] = {
    "openai_chat": _openai_chat,
    "openai_responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "ollama": _ollama,
}
