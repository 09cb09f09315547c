"""What a model is asked for when it is to summarise: one instruction, and the messages as a transcript."""

from __future__ import annotations

from collections.abc import Sequence

from brim.conversation import Message

INSTRUCTION = (
    "Summarize the conversation so far for an assistant. Keep key facts, constraints, decisions, action items, and "
    "unresolved questions. Be concise. Do not invent details."
)
SPEAKER = {"user": "User", "assistant": "Assistant", "tool": "Tool", "system": "System"}


def serialized(messages: Sequence[Message]) -> str:
    """Messages as a transcript. Example: "User: hi\\nAssistant: hello" """
    return "\n".join(f"{SPEAKER[message.role]}: {message.text}" for message in messages)


def request(messages: Sequence[Message], previous: str = "", tokens: int | None = None) -> str:
    """All that a model needs to write the next summary, with the one before it and the size that it may have."""
    length = f" Use at most {tokens:,} tokens." if tokens is not None else ""
    before = f"Previous summary: {previous}\n\n" if previous else ""
    return f"{INSTRUCTION}{length}\n\n{before}{serialized(messages)}"
