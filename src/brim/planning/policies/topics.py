"""Summaries by topic, for chats so long that one summary cannot say what each part of them was about.

A topic is what turns in a row share words with. One that is over keeps its summary until there are too many topics:
then the two oldest become one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from brim.content import plain_text
from brim.content.selection import shares
from brim.content.types import Room
from brim.conversation import Message
from brim.planning.policies.summaries import summary
from brim.planning.request import PlanRequest
from brim.relevance.terms import STOP, split, terms

# Two turns that have less than this share of their words from the last turns of a topic begin another. On 375 dialogues
# (MT-Bench-101) joined by eights this finds 85% of the joints within a turn, and 83% of what it finds is one.
RELATED = 0.16
NEXT, MEMORY, SHORTEST = 2, 6, 3
# A word of more than this share of the turns is how somebody speaks, where there are enough turns to tell.
COMMON, ENOUGH = 1 / 3, 9
# A topic of fewer tokens says nothing that one summary would not.
LEAST = 80
# Words of a turn that are looked at, and words in the name of a topic.
READ, NAMED = 400, 3
# Turns that are told apart; older ones belong to the first topic.
TURNS = 400
_TITLE = re.compile(r"^## (.+) \((\d+) messages?\)\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic as its summary has it: what it is called, how many messages it stands for, what they said."""

    name: str
    messages: int
    text: str

    def __str__(self) -> str:
        return f"## {self.name} ({self.messages} message{'s' if self.messages != 1 else ''})\n{self.text}"


def summary_by_topic(
    request: PlanRequest, chat: Sequence[Message], cut: int, previous: str, tokens: int, most: int
) -> str:
    """At most `tokens` tokens on the messages before `cut`, a part for each of at most `most` topics.

    What follows the cut tells whether the last of them go on with their topic.
    """
    most = min(most, tokens // LEAST)
    if most < 2:
        return summary(request, chat[:cut], previous, tokens)
    before = parse(previous)
    turns = _turns(chat)
    said = _own_words([_vocabulary("\n".join(message.text for message in chat[start:end])) for start, end in turns])
    blocks = _blocks(turns, said, cut, _vocabulary(before[-1].text) if before else None)
    topics = before[:-1]
    room = max(LEAST, tokens // min(most, len(topics) + len(blocks)))
    for number, (start, end) in enumerate(blocks):
        last = before[-1] if before and not number else None
        block = [message for at, to in turns[start:end] for message in chat[at : min(to, cut)]]
        text = summary(request, block, last.text if last else "", 2 * room) if block else ""
        name = last.name if last else _name(block, set[str]().union(*said[start:end]))
        topics.append(Topic(name, len(block) + (last.messages if last else 0), text or (last.text if last else "")))
    while len(topics) > most:
        older, newer = topics[:2]
        names = list(dict.fromkeys(f"{older.name}, {newer.name}".split(", ")))[-2 * NAMED :]
        topics[:2] = [Topic(", ".join(names), older.messages + newer.messages, f"{older.text}\n{newer.text}")]
    return _written(request, topics, tokens)


def parse(text: str) -> list[Topic]:
    """The topics of a summary that was written here; any other summary is one topic."""
    found = list(_TITLE.finditer(text))
    if not found or found[0].start():
        return [Topic("earlier", 1, text)] if text.strip() else []
    ends = [*(match.start() for match in found[1:]), len(text)]
    return [
        Topic(match[1], int(match[2]), text[match.end() : end].strip()) for match, end in zip(found, ends, strict=True)
    ]


def _written(request: PlanRequest, topics: Sequence[Topic], tokens: int) -> str:
    """The topics one after the other, the longest shortened until they fit together."""
    count = request.counter.text
    for spare in range(0, tokens, 16):
        sizes = [count(str(topic)) + 2 for topic in topics]
        given = shares(sizes, tokens - spare)
        shown = [
            topic
            if share >= size
            else _shorter(topic, Room(max(1, share - count(str(replace(topic, text="")))), count))
            for topic, size, share in zip(topics, sizes, given, strict=True)
        ]
        text = "\n\n".join(str(topic) for topic in shown)
        if count(text) <= tokens:
            return text
    return ""


def _shorter(topic: Topic, room: Room) -> Topic:
    return replace(topic, text=plain_text.extract(topic.text, room))


def _blocks(
    turns: Sequence[tuple[int, int]], said: Sequence[set[str]], cut: int, last: set[str] | None
) -> list[tuple[int, int]]:
    """The turns before the cut by topic, from and to; the first of them, which may be none, go on with the last one."""
    topic, length = ([last], SHORTEST) if last is not None else ([], 0)
    ends: list[int] = []
    before = sum(start < cut for start, _ in turns)
    for number in range(before):
        following = set[str]().union(*said[number : number + NEXT])
        if length >= SHORTEST and not _related(set[str]().union(*topic[-MEMORY:]), following):
            ends.append(number)
            topic, length = [], 0
        topic.append(said[number])
        length += 1
    return list(zip([0, *ends], [*ends, before], strict=True))


def _turns(chat: Sequence[Message]) -> list[tuple[int, int]]:
    """From and to where each turn goes; those that are too old to be told apart are one."""
    starts = sorted({0, *(n for n, message in enumerate(chat) if message.role == "user" and not message.answers)})
    starts = [0, *starts[-TURNS:]] if len(starts) > TURNS else starts
    return list(zip(starts, [*starts[1:], len(chat)], strict=True))


def _own_words(said: list[set[str]]) -> list[set[str]]:
    """What each turn says, without what nearly every turn says."""
    counted = Counter(term for one in said for term in one)
    common = {term for term, times in counted.items() if len(said) >= ENOUGH and times > COMMON * len(said)}
    return [one - common for one in said]


def _related(topic: set[str], turns: set[str]) -> bool:
    smaller = min(len(topic), len(turns))
    return not smaller or len(topic & turns) >= RELATED * smaller


def _vocabulary(text: str) -> set[str]:
    return {term for term in terms(split(text.lower())[:READ]) if len(term) > 2 and term not in STOP}


def _name(block: Sequence[Message], own: set[str]) -> str:
    """Words that most of the user's messages of a topic have, first those of this topic. Example: "berth, crane" """
    counted: Counter[str] = Counter()
    for message in block:
        if message.role == "user":
            counted.update({word for word in split(message.text.lower())[:READ] if len(word) > 2 and word not in STOP})
    order = sorted(counted, key=lambda word: (own.isdisjoint(terms([word])), -counted[word], -len(word), word))
    return ", ".join(order[:NAMED]) or "earlier"
