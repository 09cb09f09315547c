"""Strands: a conversation manager that compacts an agent's messages before a model call would overflow.

Example: Agent(model=model, conversation_manager=BrimConversationManager("gpt-4o", budget=8_000))
"""

from __future__ import annotations

import base64
import json
from typing import Any

from brim.errors import MissingFramework
from brim.integrations.conversion.fitter import MessageFitter
from brim.integrations.conversion.messages import (
    ChatDict,
    arguments_of,
    call,
    content_of,
    file_block,
    image_block,
    other_block,
    parts_of,
    text_block,
    text_of,
    tool,
)

try:
    from strands.agent.conversation_manager import ConversationManager
    from strands.hooks import BeforeModelCallEvent
except ImportError as problem:
    raise MissingFramework("brim.integrations.strands", "strands-agents>=1.62,<2") from problem

# The share of their size to fit messages to after an overflow, because the provider counts more than Brim knew.
AFTER_OVERFLOW = 0.8
BESIDE = ("toolUse", "toolResult", "reasoningContent", "cachePoint")


class StrandsCodec:
    """Strands' messages, which are Bedrock's: results are in user messages."""

    def read(self, message: Any) -> list[ChatDict]:
        results = [block["toolResult"] for block in message["content"] if "toolResult" in block]
        found = [{"role": "tool", "tool_call_id": one["toolUseId"], "content": _result(one)} for one in results]
        blocks = [block for block, _ in _blocks(message)]
        if blocks or not found:
            found.append({"role": message["role"], "content": content_of(blocks)})
        calls = [block["toolUse"] for block in message["content"] if "toolUse" in block]
        if calls:
            found[-1]["tool_calls"] = [call(one["toolUseId"], one["name"], one["input"]) for one in calls]
        thoughts = [block["reasoningContent"] for block in message["content"] if "reasoningContent" in block]
        if thoughts:
            found[-1]["reasoning_content"] = json.dumps(thoughts, default=str)
        return found

    def write(self, chats: list[ChatDict], original: Any) -> Any:
        if original is None:
            return {"role": chats[0]["role"], "content": [{"text": text_of(chats[0]["content"])}]}
        results = {chat["tool_call_id"]: text_of(chat["content"]) for chat in chats if chat["role"] == "tool"}
        said: ChatDict = next((chat for chat in chats if chat["role"] != "tool"), {"content": []})
        calls = {one["id"]: arguments_of(one) for one in said.get("tool_calls", ())}
        content: list[Any] = [block for block in original["content"] if "reasoningContent" in block]
        for block in original["content"]:
            result = block.get("toolResult")
            if result and result["toolUseId"] in results:
                text = results[result["toolUseId"]]
                same = text == _result(result)
                content.append(block if same else {"toolResult": {**result, "content": [{"text": text}]}})
        content += parts_of(said["content"], _blocks(original), lambda text: {"text": text})
        for block in original["content"]:
            if "toolUse" in block and block["toolUse"]["toolUseId"] in calls:
                content.append({"toolUse": {**block["toolUse"], "input": calls[block["toolUse"]["toolUseId"]]}})
        content += [block for block in original["content"] if "cachePoint" in block]
        return {**original, "content": content}


def _blocks(message: Any) -> list[tuple[ChatDict, Any]]:
    return [(_block(block), block) for block in message["content"] if not any(key in block for key in BESIDE)]


def _block(block: Any) -> ChatDict:
    if "text" in block:
        return text_block(block["text"])
    for key in ("image", "document", "video", "audio"):
        if key in block:
            source = block[key].get("source", {})
            data = base64.b64encode(source["bytes"]).decode() if "bytes" in source else json.dumps(source, default=str)
            url = f"data:{key}/{block[key].get('format', 'png')};base64,{data}"
            return image_block(url) if key == "image" else file_block(url)
    return other_block(block)


def _result(result: Any) -> str:
    parts = [part["text"] if "text" in part else json.dumps(part, default=str) for part in result["content"]]
    return "\n".join(parts)


class BrimConversationManager(ConversationManager):
    """Compacts `agent.messages` in place, before a model call that would be too large and after one that was."""

    def __init__(self, model: Any = None, budget: int | None = None, **settings: Any) -> None:
        super().__init__()
        self.budget = budget
        self.settings = settings
        self.fitter: MessageFitter[Any] = MessageFitter(StrandsCodec(), model, budget, **settings)

    def register_hooks(self, registry: Any, **kwargs: Any) -> None:
        super().register_hooks(registry, **kwargs)
        registry.add_callback(BeforeModelCallEvent, lambda event: self.apply_management(event.agent))

    def apply_management(self, agent: Any, **kwargs: Any) -> None:
        compacted = self.fitter.compact(agent.messages, **_beside(agent))
        if compacted is not None:
            agent.messages[:] = compacted

    def reduce_context(self, agent: Any, e: Exception | None = None, **kwargs: Any) -> None:
        beside = _beside(agent)
        budget = int(self.fitter.count(agent.messages, beside["model"]) * AFTER_OVERFLOW)
        smaller = MessageFitter(StrandsCodec(), self.fitter.model, budget, **self.settings)
        agent.messages[:] = smaller.fit(agent.messages, model=beside["model"])


def _beside(agent: Any) -> dict[str, Any]:
    """The instructions, tools and model of an agent."""
    specs = agent.tool_registry.get_all_tool_specs()
    tools = [tool(one["name"], one["description"], one["inputSchema"].get("json")) for one in specs]
    prompt = agent.system_prompt if isinstance(agent.system_prompt, str) else None
    config = agent.model.get_config()
    name = config.get("model_id") if isinstance(config, dict) else getattr(config, "model_id", None)
    return {"instructions": prompt, "tools": tools, "model": name}
