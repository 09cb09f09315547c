"""How relevant each message of a conversation is to what is asked now."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from brim.conversation import Conversation, Message
from brim.plan.items import current
from brim.plan.relevance import Index, Unread, quick_scores
from brim.plan.relevance.packing import pack

# A longer history is ranked by nothing but the words of the question: counting all of it costs more than a fit may.
PACKED = 1_500
# A time at the start of a message, as logs of chats have it: it holds until the next one.
_DATED = re.compile(r"\s*\[([^\[\]\n]{0,40}\d[^\[\]\n]{3,40})\]\s*")


@dataclass(slots=True)
class Chat:
    """An index of messages that knows when they were said, where a time stands at their start."""

    index: Index = field(default_factory=Index)
    times: list[str] = field(default_factory=lambda: [""])  # of each part of the chat
    parts: list[int] = field(default_factory=list)  # of each message

    def add(self, text: str, tokens: int) -> None:
        """Append a message. Example: "[8 May, 13:56] Ann: hello" opens a part of the chat that was said then"""
        dated = _DATED.match(text[:80])
        if dated is not None:
            self.times.append(dated.group(1))
            text = text[dated.end() :]
        part = len(self.times) - 1
        self.index.add(text, when=self.times[part], session=part, tokens=tokens)
        self.parts.append(part)

    def cut(self, length: int) -> None:
        """Forget the messages from a number on, as if they had never been added."""
        if length < len(self.parts):
            self.index.cut(length)
            del self.parts[length:]
            del self.times[(self.parts[-1] if self.parts else 0) + 1 :]


def relevance(conversation: Conversation, query: str, sizes: Callable[[Message], int], room: int) -> list[float] | None:
    """One number for each message: 0 where it is not history, from 0 to 1 by relevance, 1 more where it should stay.

    `room` is how many tokens of the history can stay. None if nothing is asked.
    """
    if not query.strip() or room <= 0:
        return None
    now = current(conversation.messages)
    places = [n for n, message in enumerate(conversation.messages) if n != now and message.role != "system"]
    history = [conversation.messages[n] for n in places]
    picked: list[int] = []
    if len(history) > PACKED:
        scores = quick_scores([message.parts[0].text if message.plain else message.text for message in history], query)
    else:
        chat = Chat(Unread())
        for message in history:
            chat.add(message.text, sizes(message))
        scores = chat.index.score(query, room / max(1, chat.index.total_tokens))
        picked = pack(scores, chat.index.tokens, room, chat.index.nearness(query))
    top = max(scores, default=0.0)
    if top <= 0:
        return None
    found = [0.0] * len(conversation.messages)
    for place, score in zip(places, scores, strict=True):
        if score > 0:
            found[place] = score / top
    for number in picked:
        found[places[number]] += 1.0
    return found
