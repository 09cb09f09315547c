"""Prose and chat turns: whole sentences, the informative ones first.

Readers come back for numbers, names, decisions, negations and open questions; the words between them can go.
Sentences stay in order and keep the name of their speaker.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate

from brim.content import plain_text
from brim.content.selection import Bundle, fits, keep, plural
from brim.content.types import Room
from brim.relevance import query_match

# In a text longer than this, reading every sentence isn't worth the time.
_LONGEST = 2_000_000
# A run of full stops is matched from its first only: trying each of 16,000 took seconds.
_BORDER = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]*_]*+\s++|[。！？]++[”」』）]*+\s*+|\n++")
_SHORT = re.compile(
    r"(?:^|[\s(])(?:[A-Z]|[Mm]rs?|[Dd]r|[Pp]rof|[Ss]t|vs|etc|e\.g|i\.e|cf|al|[Nn]o|[Ff]ig|[Ii]nc|[Ll]td|approx|\d{1,3})\.\s+$"
)
_CLAUSE = re.compile(r"(?<=[,;:]\s)(?=\S)|(?<=[，；、])|(?<=\s)(?=[(–—])")
_SPEAKER = re.compile(r"(?:\*\*|\[)?[A-Z][\w .'’-]{0,40}(?:\*\*|\])?(?: \([^)\n]{1,40}\))?:(?:\*\*)?\s+(?=\S)")

_NUMBER = re.compile(r"\d")
_NAME = re.compile(r"(?<=[a-z,;:] )[A-Z][\w-]+|\b[A-Z]{2,}\b|\b\w+[_./@-]\w+|`[^`]+`|\"[^\"]{3,60}\"")
_DECISION = re.compile(
    r"\b(?:decid|agree|approv|reject|confirm|conclu|chose|choose|select|must|shall|requir|deadline"
    r"|due|will|won't|going to|plan"
    r"|should|need|promis|commit|assign|instead|therefore|because|final|result|prefer|always|only if|as long as|unless"
    r"|important|note|warning|caution|remember|blocked|fixed|done|todo|action)\w*",
    re.I,
)
_NEGATION = re.compile(
    r"\b(?:not|never|no|none|nothing|without|cannot|fail\w*|error\w*|except|wrong|missing|unable|refus\w*)\b|n['’]t\b",
    re.I,
)
_QUESTION = re.compile(r"[?？]")
# A field whose value is an identifier, as in listings; the prose beside it is about that.
_FIELD = re.compile(r"""\s*(?:[-*] )?[\w.$-]{1,40}: +["']?(?=[^\s"']*(?:\w[-_./@]\w|\d))[^\s"']{3,100}["']?\s*""")
_FIELD_WORTH = 5.0


def extract(text: str, room: Room) -> str:
    """The most informative sentences that fit the room.

    Example: "Hello all. We agreed to ship on 4 May. It was nice." in 14 tokens
             -> "[…]We agreed to ship on 4 May. [… 2 sentences]"
    """
    if room.tokens <= 0:
        return ""
    if fits(text, room):
        return text
    if len(text) > _LONGEST:
        return plain_text.extract(text, room)
    sentences, speakers = cut(text)
    if len(sentences) < 2 or max(map(len, sentences)) > max(2_000, room.tokens * 8):
        return plain_text.extract(text, room)
    clauses = [_clauses(sentence, room.tokens) for sentence in sentences]
    pieces = [clause for one in clauses for clause in one]
    starts = [0, *accumulate(map(len, clauses))]
    of_piece = [index for index, one in enumerate(clauses) for _ in one]
    ranking = ranked(sentences, speakers, room.query)

    def bundle(index: int, most: int) -> Bundle:
        speaker = speakers[index]
        named = range(starts[speaker], starts[speaker + 1]) if speaker >= 0 else ()
        return (*named, *range(starts[index], min(starts[index] + most, starts[index + 1])))

    def order() -> Iterator[Bundle]:
        for index in ranking:
            yield bundle(index, len(pieces))
        # The rest is too small for a whole sentence, so fill it with the beginning of a good one.
        for index in ranking[:40]:
            most = len(clauses[index]) - 1
            while most > 0 and sum(map(len, clauses[index][:most])) > 30:
                yield bundle(index, most)
                most -= max(1, most // 8)  # removing one at a time would read a sentence of 1,700 clauses 1,700 times

    def missing(gaps: list[tuple[int, int]]) -> str:
        return plural(sum(of_piece[end - 1] - of_piece[first] + 1 for first, end in gaps), "sentence")

    return keep(pieces, order, room, lambda first, end: missing([(first, end)]), small="[…]", total=missing)


def _clauses(sentence: str, longest: int) -> list[str]:
    """A long sentence split into clauses, or into groups of words if it has none."""
    if len(sentence) <= longest // 2:
        return [sentence]
    found: list[str] = []
    for part in _CLAUSE.split(sentence):
        while len(part) > 60:
            space = part.rfind(" ", 20, 60) + 1 or 60
            found.append(part[:space])
            part = part[space:]
        if part:
            found.append(part)
    return found


def cut(text: str) -> tuple[list[str], list[int]]:
    """The text split into sentences, each with the index of the piece that names its speaker, or -1."""
    pieces: list[str] = []
    speakers: list[int] = []
    speaker = -1
    at = 0
    new_line = True
    ends = [match.end() for match in _BORDER.finditer(text)]
    for end in [*ends, len(text)]:
        if end <= at or (end < len(text) and text[end - 1] != "\n" and _SHORT.search(text[max(at, end - 16) : end])):
            continue
        if new_line:
            speaker = -1
            said = _SPEAKER.match(text, at)
            if said and said.end() < end:
                speaker = len(pieces)
                pieces.append(text[at : said.end()])
                speakers.append(-1)
                at = said.end()
        pieces.append(text[at:end])
        speakers.append(speaker)
        new_line = text[end - 1] == "\n"
        at = end
    return pieces, speakers


def ranked(pieces: Sequence[str], speakers: Sequence[int], query: str) -> list[int]:
    """Indices of the sentences, highest weight first."""
    found = query_match.scores(pieces, query)
    top = max(found.values(), default=1.0)
    labels = {index for index in speakers if index >= 0}
    weights = {
        index: weight(piece) + 6 * found.get(index, 0.0) / top
        for index, piece in enumerate(pieces)
        if index not in labels
    }
    last = len(pieces) - 1
    for index in weights:
        if index <= 1 or index == last:
            weights[index] += 3
        elif pieces[index - 1].endswith("\n\n"):
            weights[index] += 0.7  # the first sentence of a paragraph states its topic
    return sorted(weights, key=lambda index: (-weights[index], index))


def weight(sentence: str) -> float:
    """How much unpredictable information a sentence carries."""
    if len(sentence) < 3:
        return -0.8  # as below: a letter has no name, number or decision in it
    if len(sentence) < 160 and _FIELD.fullmatch(sentence):
        return _FIELD_WORTH
    names = min(3, len(_NAME.findall(sentence)))
    found = 0.8 * names + 1.2 * bool(_NUMBER.search(sentence)) + 1.5 * bool(_DECISION.search(sentence))
    found += 1.2 * bool(_NEGATION.search(sentence)) + 1.2 * bool(_QUESTION.search(sentence))
    # "Yes." says nothing by itself, and a sentence as long as a paragraph crowds out three others.
    if len(sentence) < 20:
        found -= 0.8
    return found - max(0, len(sentence) - 240) / 300
