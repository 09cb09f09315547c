"""Ranks the messages of a conversation by relevance to the current question."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from heapq import nlargest

from brim.apis.plain_messages import Columns
from brim.conversation import Conversation, Message
from brim.planning.items import current
from brim.relevance import Index, Unread, quick_scores
from brim.relevance.packing import chosen
from brim.relevance.question import parse_question
from brim.relevance.term_spread import Column, scale, zeros

# Of a longer history, only this many messages are ranked in full: those that share most with the question's words, each
# with its neighbours, and the newest. Counting all of it costs more than a fit may. BEAM's ten chats in
# one of 1.4 million tokens at 8,000, tuned half, every third question, evidence / all of a question, CPU of a fit:
# .328 / .233, .07 s by those words alone; .730 / .667, .10 s so (bench/chats.py --only beam-joined --every 3).
PACKED = 1_500
BEST, NEWEST = 400, 40
# How much more a user's words count than an equally relevant answer.
USER = 1.1
# User messages up to this many tokens count as short, whatever the others' length.
SHORT = 100
# The answers to the best messages stay beside them: one for every ANSWERED tokens of room, or every ANSWERED_OF_ALL if
# the question is about the whole chat, each up to the share ANSWER of the room, all up to ANSWERS.
# BEAM at 8,000 tokens, evidence / all of a question / in answers (bench/chats.py --only beam): if broad questions count
# like all others .828 / .742 / .167 tuned, .815 / .700 / .105 untouched; so .825 / .742 / .197 and .793 / .678 / .175.
ANSWERED, ANSWERED_OF_ALL, ANSWER, ANSWERS = 2_500, 1_000, 0.18, 0.8
# A time at the start of a message, as in chat logs; it applies until the next one.
_DATED = re.compile(r"\s*\[([^\[\]\n]{0,40}\d[^\[\]\n]{3,40})\]\s*")


@dataclass(slots=True)
class Chat:
    """An index of messages that knows when they were said, if they begin with a time."""

    index: Index = field(default_factory=Index)
    times: list[str] = field(default_factory=lambda: [""])  # of each part of the chat
    parts: list[int] = field(default_factory=list)  # of each message

    def add(self, text: str, tokens: int) -> None:
        """Append a message. Example: "[8 May, 13:56] Ann: hello" opens a part of the chat that was said then"""
        when, text = dated(text)
        if when:
            self.times.append(when)
        part = len(self.times) - 1
        self.index.add(text, when=self.times[part], session=part, tokens=tokens)
        self.parts.append(part)

    def cut(self, length: int) -> None:
        """Forget the messages from this number on."""
        if length < len(self.parts):
            self.index.cut(length)
            del self.parts[length:]
            del self.times[(self.parts[-1] if self.parts else 0) + 1 :]


def dated(text: str) -> tuple[str, str]:
    """The time that a message begins with, if it does, and what follows. Example: "[8 May, 13:56] Ann: hello" """
    found = _DATED.match(text[:80])
    return (found.group(1), text[found.end() :]) if found is not None else ("", text)


def relevance(
    conversation: Conversation,
    query: str,
    sizes: Callable[[Message], int],
    room: int,
    columns: Columns | None = None,
) -> Column | None:
    """A number for each message: 0 outside the history, 0 to 1 by relevance, plus 1 if it should stay.

    `room` is how many tokens of the history can stay. None if there is no question.
    """
    if not query.strip() or room <= 0:
        return None
    messages = conversation.messages
    columns = columns or Columns.of(messages)
    others = {current(messages), *columns.systems}
    places = [number for number in range(len(messages)) if number not in others]
    if len(places) > PACKED:
        texts = list(columns.texts)
        for number in others:
            texts[number] = ""
        rough = quick_scores(texts, query)
        places = _worth_ranking(rough, places)
        scores, picked = _packed(messages, places, query, sizes, room)
        _rank_rest(scores, rough, places)
    else:
        scores, picked = _packed(messages, places, query, sizes, room)
    if not scale(scores):
        return None
    for number in others:
        scores[number] = 0.0
    for number in picked:
        scores[number] += 1.0
    return scores


def _worth_ranking(rough: Column, places: Sequence[int]) -> list[int]:
    """The best of some messages with their neighbours, and the newest, in order."""
    best = nlargest(BEST, places, key=rough.__getitem__)
    near = {*places[-NEWEST:], *(number + step for number in best for step in (-1, 0, 1))}
    return [number for number in places if number in near]


def _rank_rest(scores: Column, rough: Column, ranked: Sequence[int]) -> None:
    """Give the messages that were not ranked with care a place behind those that were."""
    last = min((scores[number] for number in ranked if scores[number] > 0), default=1.0)
    top, known = max(rough) or 1.0, set(ranked)
    for number, score in enumerate(rough):
        if number not in known:
            scores[number] = last * score / top / 2


def _packed(
    messages: Sequence[Message], places: Sequence[int], query: str, sizes: Callable[[Message], int], room: int
) -> tuple[Column, list[int]]:
    """A score for the messages at some places, and the numbers of those that should stay within `room` tokens."""
    chat = Chat(Unread())
    for number in places:
        chat.add(messages[number].text, sizes(messages[number]))
    found = chat.index.score(query, room / max(1, chat.index.total_tokens))
    near = chat.index.nearness(query)
    by_user = [messages[place].role == "user" for place in places]
    weigh(found, chat.index.tokens, by_user, chat.index.naming(query))
    _raise_answers(found, chat.index.tokens, by_user, room, ANSWERED if near is None else ANSWERED_OF_ALL)
    if parse_question(query).asks_when:
        _raise_openings(found, chat.parts)
    picked = chosen(found, chat.index.tokens, room, near)
    scores = zeros(len(messages))
    for number, score in zip(places, found, strict=True):
        scores[number] = max(0.0, score)
    return scores, [places[number] for number in picked]


def weigh(scores: Column, sizes: Sequence[int], by_user: Sequence[bool], named: Collection[int] = ()) -> None:
    """Weigh scores by size, because a short fact must not lose to a long answer.

    What others say counts the less the longer they speak on average than the user, so a chat of equals and a transcript
    in one role stay as they are; where they answer, a long message of the user counts by the root of its size. What
    holds an identifier that is asked for is never weighed down.
    """
    own = [size for size, user in zip(sizes, by_user, strict=True) if user]
    answers = [size for size, user in zip(sizes, by_user, strict=True) if not user]
    if not own or not answers:
        return
    usual = sum(own) / len(own)
    factor, usual = min(1.0, usual / max(1.0, sum(answers) / len(answers))), max(SHORT, usual)
    for number, user in enumerate(by_user):
        if number not in named:
            scores[number] *= USER * min(1.0, usual / max(1, sizes[number])) ** 0.5 if user else factor


def _raise_answers(scores: Column, sizes: Sequence[int], by_user: Sequence[bool], room: int, each: int) -> None:
    """Raise the answers to the best messages, one for `each` tokens of room."""
    left = ANSWERS * room
    best = nlargest(max(1, room // each), range(len(scores)), key=scores.__getitem__)
    for number, score in [(number, scores[number]) for number in best if by_user[number]]:
        follows = number + 1
        if follows < len(scores) and not by_user[follows] and sizes[follows] <= min(left, ANSWER * room):
            scores[follows] = max(scores[follows], score * 0.999)
            left -= sizes[follows]


def _raise_openings(scores: Column, parts: Sequence[int]) -> None:
    """Raise what opens a part of a chat, which says when it was, to the best of it, as "last week" needs it."""
    best: dict[int, float] = {}
    for part, score in zip(parts, scores, strict=True):
        best[part] = max(score, best.get(part, 0.0))
    for number, part in enumerate(parts):
        if part and part != (parts[number - 1] if number else 0):
            scores[number] = max(scores[number], best[part] * 0.999)
