"""What a chat request weighs, what an API would refuse in it, and the nearest request that it would take."""

from __future__ import annotations

import json
from typing import Any

from brim.apis.openai_chat.framing import chat_tokens
from brim.tokens.tokenizers import tokenizer

Chat = list[dict[str, Any]]
MODEL = "gpt-4o"
_count = tokenizer("o200k")


def size(messages: Chat) -> int:
    """Tokens of a request as OpenAI counts them, whether or not it would be taken.

    Example: size([{"role": "user", "content": "hello"}]) -> 8
    """
    return chat_tokens({"messages": messages}, _count, model=MODEL).tokens


def wrong(messages: Chat) -> list[str]:
    """What OpenAI's API refuses: a result without its call, a call without its result, nothing to answer.

    Example: wrong([{"role": "tool", "tool_call_id": "a", "content": "1"}]) -> ["0: a result without its call"]
    """
    found: list[str] = []
    waiting: list[str] = []
    for number, message in enumerate(messages):
        if message["role"] == "tool":
            if message.get("tool_call_id") in waiting:
                waiting.remove(message["tool_call_id"])
            else:
                found.append(f"{number}: a result without its call")
            continue
        found += [f"{number}: the call {call} has no result" for call in waiting]
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
        if not message.get("content") and not waiting:
            found.append(f"{number}: empty")
    found += [f"the call {call} has no result" for call in waiting]
    return found or ([] if messages else ["no messages"])


def answerable(asked: Chat, fitted: Chat) -> bool:
    """Whether a request ends on what the model is to answer: the newest message, whole or shortened.

    Example: answerable([system, user], [system]) -> False
    """
    if not fitted:
        return False
    newest, last = asked[-1], fitted[-1]
    return bool(last["role"] == newest["role"] and last.get("tool_call_id") == newest.get("tool_call_id"))


def mended(messages: Chat) -> Chat:
    """The same texts in a request that can be read: pairs that were torn apart become plain messages.

    Only for judging what a request still holds: it counts as refused all the same.
    """
    answered: set[str] = set()
    asked: set[str] = set()
    for before, message in enumerate(messages):
        if message["role"] == "tool":
            answered |= _calls_just_before(messages, before) & {str(message.get("tool_call_id"))}
    made: Chat = []
    for message in messages:
        calls = [call for call in message.get("tool_calls") or () if call["id"] in answered]
        if message["role"] == "tool" and message.get("tool_call_id") not in asked & answered:
            made.append({"role": "user", "content": _text(message) or "…"})
        elif message.get("tool_calls") and len(calls) < len(message["tool_calls"]):
            made.append({"role": "assistant", "content": f"{_text(message)}\n{json.dumps(message['tool_calls'])}"})
            answered -= {call["id"] for call in calls}
        elif not message.get("content") and not calls:
            made.append({**message, "content": "…"})
        else:
            asked |= {call["id"] for call in calls}
            made.append(message)
    return made


def _calls_just_before(messages: Chat, place: int) -> set[str]:
    """The calls of the message that the results around `place` answer."""
    while place and messages[place]["role"] == "tool":
        place -= 1
    return {call["id"] for call in messages[place].get("tool_calls") or ()}


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, list):
        return "\n".join(block.get("text", "") for block in content if isinstance(block, dict))
    return str(content)


def shared(before: Chat, after: Chat) -> int:
    """How many messages two requests have in common from their start."""
    for number, (one, other) in enumerate(zip(before, after, strict=False)):
        if one != other:
            return number
    return min(len(before), len(after))
