"""Summaries without a model: what was asked, decided, found, done and left open, in the original words.

Everything in a summary is taken verbatim from the messages; nothing is rephrased, so nothing can be wrong.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice

from brim.conversation import Message
from brim.sized_lru import SizedLru

HEADER = "[CONVERSATION SUMMARY - Earlier messages summarized to save context space]"
TITLES = ("Topics discussed:", "Key decisions made:", "Important context:")
NONE = "- (none noted)"
_BULLET = re.compile(r"^\s*(?:[-*•+]|\d{1,3}[.)])\s+(\S.*)$")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(\S.*?)\s*#*$")
_CONCLUSION = re.compile(
    r"\b(?:in conclusion|conclusions?|conclud\w*|decid\w*|decisions?|verdict|therefore|so we (?:will|use|go)|"
    r"we(?:'ll| will| should)|let(?:'|’)?s (?:go|use|take|do|keep|stick)|final answer|"
    r"i(?:'ll| will| have| recommend| suggest)|fixed|resolved|implemented|agreed|chose\w*|"
    r"the (?:answer|fix|cause|result) is)\b",
    re.IGNORECASE,
)
# Every match of the pattern contains one of these.
_CONCLUDES = (
    "conclu", "decid", "decision", "verdict", "final answer", "let's ", "let’s ", "lets ",
    "therefore", "so we ", "we'll", "we will", "we should", "i'll", "i will", "i have",
    "i recommend", "i suggest", "fixed", "resolved", "implemented", "agreed", "chose", "answer is", "fix is",
    "cause is", "result is",
)  # fmt: skip
# A line with the verdict itself, plain, in bold or as a heading, which takes precedence over rejected options.
_VERDICT = re.compile(
    r"^[\s#>*_\-•]*(?:conclusion|decision|decided|verdict|final answer|we(?:'ll| will)|let(?:'|’)?s go with)\b",
    re.IGNORECASE,
)
_EMPHASIS = re.compile(r"[*_]{1,3}([^*_\n]+)[*_]{1,3}")
_QUESTION = re.compile(r"[?？]")
_OPEN = re.compile(
    r"\b(?:todo|to do|not yet|still (?:need|open|missing|to)|unresolved|pending|blocked|remains? to|next step)\b", re.I
)
_LEAVES = ("todo", "to do", "not yet", "still ", "unresolved", "pending", "blocked", "remain", "next step")
# Letters that equal ASCII letters if case is ignored.
_LIKE_ASCII = "\u017f\u212a\u0130\u0131"
_MARKS = frozenset("-*•+#")
_FACT = re.compile(
    r"[\w.+-]+@[\w-]+\.[\w.]+"  # e-mail
    r"|https?://[^\s\"'<>)\]]+"
    r"|(?<![\w/])(?:\.{0,2}/)?(?:[\w.-]+/)+[\w.-]+"  # path
    r"|\b[0-9a-f]{7,40}\b|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22,27}\b"
    r"|\b(?=[\w-]{0,63}\d)(?=[\w-]{0,63}[A-Za-z])[A-Za-z0-9][\w-]{3,63}\b"  # codes: letters and digits together
    r"|[$€£]\s?\d[\d,.]*|\b\d[\d,.]*\s?(?:%|USD|EUR|GB|MB|ms)\b"
    r"|\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?)?\b|\b\d{3,}\b"
)
# Words that may be part of a fact, and the word after each; checking only these is ten times faster.
_TELLING = re.compile(r"(?<!\S)[^\s\d@/$€£]*+[\d@/$€£]\S*(?=(\s\S+)?)")
# Each of these words contains one of these characters.
_TELLS = re.compile(r"[\d@/$€£]")
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|\n")


# Characters reserved for the line of topics that don't get their own, and the start of such a line.
EARLIER = 400
_COUNTED = re.compile(r"and (\d+) earlier topics?: ")
# The most characters of messages that a summary reads.
READ = 200_000
# Characters to carry over from a line that a model wrote.
CARRIED = 400


@dataclass(slots=True)
class Notes:
    """Notes on a span of messages; each list is in order of appearance, without repeats."""

    topics: list[str] = field(default_factory=list)
    decisions: list[str] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    verdicts: list[str] = field(default_factory=list)


# Keyed by digest, so that it doesn't keep messages in memory.
_known: SizedLru[tuple[bytes, int, int, bool], Notes] = SizedLru(4 << 20)


def take_notes(messages: Sequence[Message], topic_chars: int = 80, line_chars: int = 160) -> Notes:
    """Collect the contents of a summary from as many of the newest messages as are worth reading."""
    notes = Notes()
    for number, message in enumerate(_newest(messages, READ)):
        one = _noted(message, topic_chars, line_chars, earlier=not number and _summarizes(message))
        notes.topics += one.topics
        notes.decisions += one.decisions
        notes.facts += one.facts
        notes.done += one.done
        notes.open += one.open
        notes.verdicts += one.verdicts
    for name in ("topics", "decisions", "facts", "done", "open", "verdicts"):
        setattr(notes, name, list(dict.fromkeys(line for line in getattr(notes, name) if line)))
    return notes


def _summarizes(message: Message) -> bool:
    """Whether the first message is an earlier summary; anywhere else, such a message is only text."""
    return message.text.startswith(HEADER)


def _noted(message: Message, topic_chars: int, line_chars: int, *, earlier: bool) -> Notes:
    """The notes on one message, cached while it keeps coming back."""
    key = (message.digest, topic_chars, line_chars, earlier)
    known = _known.get(key)
    if known is not None:
        return known
    notes = Notes()
    for part in message.parts:
        if part.kind == "call":
            notes.done.append(_call_line(part.name, part.text, line_chars))
        elif part.kind == "result":
            notes.facts += facts(_ends(part.text, 20_000), 12)
        elif part.kind == "text" and earlier:
            _carry(part.text, notes)
        elif part.kind == "text" and message.role == "user":
            notes.topics.append(clip(part.text, topic_chars))
            notes.facts += facts(_ends(part.text, 20_000), 24)
        elif part.kind == "text" and message.role == "assistant":
            points = key_points(_ends(part.text, 40_000), line_chars)
            notes.decisions += points
            notes.verdicts += [point for point in points if _VERDICT.match(point)]
            notes.facts += facts(_ends(part.text, 20_000), 12)
            notes.open += _open_points(_ends(part.text, 40_000), line_chars)
    held = (notes.topics, notes.decisions, notes.facts, notes.done, notes.open, notes.verdicts)
    return _known.put(key, notes, 800 + sum(60 + len(line) for lines in held for line in lines))


def _carry(text: str, notes: Notes) -> None:
    """Carry over the content of an earlier summary."""
    lists = dict(zip(TITLES, (notes.topics, notes.decisions, notes.facts), strict=True))
    into: list[str] | None = None
    lines = text.removeprefix(HEADER).splitlines()
    if not lists.keys() & set(lines):  # a model wrote it, in its own format
        notes.facts += [clip(line, CARRIED) for line in lines]
    for line in lines:
        into = lists.get(line, into)
        if into is not None and line.startswith("- ") and line != NONE:
            into.append(line[2:])


def _newest(messages: Sequence[Message], chars: int) -> Sequence[Message]:
    """The newest messages up to about this many characters; a limited summary needs no more.

    An earlier summary at their start is read too, because it is all that is left of its messages.
    """
    for start in range(len(messages) - 1, -1, -1):
        chars -= len(messages[start].raw)
        if chars < 0:
            earlier = messages[:1] if start and _summarizes(messages[0]) else ()
            return [*earlier, *messages[start:]]
    return messages


def _ends(text: str, size: int) -> str:
    """A long text without its middle, because the important parts are more often at either end."""
    return text if len(text) <= size else f"{text[: size // 2]}\n{text[-size // 2 :]}"


def clip(text: str, size: int) -> str:
    """The start of a text on one line. Example: clip("Fix the\\nlogin bug now", 12) -> "Fix the…" """
    line = " ".join(text[: size * 8].split())
    if len(line) <= size:
        return line
    cut = line[: size - 1]
    word = cut.rfind(" ")
    return (cut[:word] if word > size // 2 else cut) + "…"


def key_points(text: str, size: int = 160) -> list[str]:
    """The decisions of an answer: its verdicts, then its bullets, headings and conclusions.

    A heading is joined with the line under it; a heading without content is left out.
    Example: "- A\n- B\n**Decision:** take B" -> ["Decision: take B", "A", "B"]
    """
    verdicts: list[str] = []
    found: list[str] = []
    lines = text.splitlines()
    concluding = holding(text, lines, _CONCLUDES)
    for number, line in enumerate(lines):
        if number in concluding and _VERDICT.match(line[:400]):
            verdicts.append(clip(_verdict(lines, number), size))
            continue
        first = line.lstrip()[:1]
        bullet = _BULLET.match(line) if first in _MARKS or first.isdecimal() else None
        heading = _HEADING.match(line) if first == "#" else None
        if bullet:
            found.append(clip(_EMPHASIS.sub(r"\1", bullet.group(1)), size))
        elif heading:
            if said := _under(lines, number):
                found.append(clip(f"{heading.group(1)}: {said}", size))
        elif number in concluding and _CONCLUSION.search(line[:400]):
            sentence = next((part for part in _SENTENCE_END.split(line) if _CONCLUSION.search(part)), line)
            found.append(clip(sentence, size))
    return [*verdicts, *found]


def _verdict(lines: Sequence[str], number: int) -> str:
    """A verdict without markup; if it is only a title, with the text under it."""
    line = _EMPHASIS.sub(r"\1", lines[number]).strip().lstrip("#>-• ").strip()
    bare = line.rstrip(": ")
    if len(bare.split()) <= 2 and (said := _under(lines, number, bullets=True)):
        return f"{bare}: {said}"
    return line


def _under(lines: Sequence[str], number: int, *, bullets: bool = False) -> str:
    """The line right under a title, if it belongs to it; bullets do only on request."""
    for line in lines[number + 1 : number + 4]:
        if not line.strip():
            continue
        if _HEADING.match(line) or (not bullets and _BULLET.match(line)):
            return ""
        return _EMPHASIS.sub(r"\1", line).strip().lstrip("-• ")
    return ""


def holding(text: str, lines: list[str], signs: tuple[str, ...]) -> Collection[int]:
    """The numbers of lines that contain one of some ASCII strings, ignoring case, and possibly others.

    Searching the whole text for a few strings is ten times faster than matching each line with a pattern.
    """
    low = text.lower()
    if not text.isascii() and (len(low) != len(text) or any(letter in text for letter in _LIKE_ASCII)):
        return range(len(lines))
    found: set[int] = set()
    present = [sign for sign in signs if sign in low]
    if not present:
        return found
    ends = list(accumulate(len(line) for line in text.splitlines(keepends=True)))
    for sign in present:
        place = low.find(sign)
        while place >= 0:
            number = bisect_right(ends, place)
            found.add(number)
            place = low.find(sign, ends[number])
    return found


def _start(text: str, end: int) -> int:
    """The start of the sentence that ends at a position."""
    before = text[max(0, end - 240) : end]
    return end - len(before) + max(before.rfind(sign) for sign in ".!?\n。！？") + 1


def _open_points(text: str, size: int) -> list[str]:
    asked = [match.span() for match in _QUESTION.finditer(text)][-2:]
    found = [clip(text[_start(text, start) : end], size) for start, end in asked]
    lines = text.splitlines()
    left = (lines[number] for number in sorted(holding(text, lines, _LEAVES)))
    return found + [clip(line, size) for line in islice((line for line in left if _OPEN.search(line[:400])), 4)]


def _call_line(name: str, arguments: str, size: int) -> str:
    return clip(f"{name}({arguments})", size) if name else ""


def facts(text: str, most: int) -> list[str]:
    """The first identifiers, paths, numbers, dates and amounts of a text.

    Example: "see ORD-1 and src/a.py, 5 GB" -> ["ORD-1", "src/a.py", "5 GB"]
    """
    found: list[str] = []
    if _TELLS.search(text) is None:
        return found
    after = 0
    for word in _TELLING.finditer(text):
        if len(found) >= most:
            break
        for match in _FACT.finditer(text, max(after, word.start()), word.end(1) if word.group(1) else word.end()):
            if match.start() >= word.end():
                break  # the next word is a fact by itself
            found.append(match.group().rstrip(".,;:"))
            after = match.end()
    return found[:most]


def concise(messages: Sequence[Message], limit: int = 2_000, topic_chars: int = 80) -> str:
    """The three-part summary in at most `limit` characters: topics, key decisions, important context.

    Every message of the user is a topic; topics that don't fit are counted with their first words. Empty if the
    messages contain nothing to summarise.
    """
    notes = take_notes(messages, topic_chars)
    said = "\n".join(notes.decisions).lower()
    facts = [fact for fact in [*notes.open, *notes.done, *notes.facts] if fact.lower() not in said]  # without repeats
    verdicts = set(notes.verdicts)
    options = [point for point in notes.decisions if point not in verdicts]
    parts = (notes.topics, [*options, *notes.verdicts], facts)
    if not any(parts):
        return ""
    titled = [(title, lines or [NONE[2:]]) for title, lines in zip(TITLES, parts, strict=True)]
    return _within(HEADER, titled, limit, len(notes.verdicts))


def _within(header: str, sections: list[tuple[str, list[str]]], limit: int, verdicts: int = 0) -> str:
    """Fill the sections in turn, the newest lines of each first, until the limit is reached.

    The last `verdicts` lines of the second section take precedence over its others. Older topics that don't fit
    become one line with their number and their first words.
    """
    chosen: list[set[int]] = [set() for _ in sections]
    kept = min(EARLIER, limit // 5) if header else 0
    size = len(header) + sum(len(title) + 2 for title, _ in sections) + 1
    longest = max((len(lines) for _, lines in sections), default=0)
    whole = size + sum(len(line) + 3 for _, lines in sections for line in lines) <= limit
    room = limit if whole else limit - kept
    for back in range(1, longest + 1):
        if size >= room - 8:
            break
        for picked, (_, lines) in zip(chosen, sections, strict=True):
            if back <= len(lines) and size + len(lines[-back]) + 3 <= room:
                picked.add(len(lines) - back)
                size += len(lines[-back]) + 3
    parts = [header]
    for number, ((title, lines), picked) in enumerate(zip(sections, chosen, strict=True)):
        options = len(lines) - verdicts if number == 1 else len(lines)
        shown = [f"- {lines[index]}" for index in sorted(picked, key=lambda at: (at < options, at))]
        if not number and header and (older := [line for n, line in enumerate(lines) if n not in picked]):
            shown.insert(0, _earlier_topics(older, limit - size - 4))
        if shown:
            parts.append("\n".join([title, *shown]))
    return "\n\n".join(parts)[:limit]


def _earlier_topics(topics: Sequence[str], room: int) -> str:
    """Topics on one line, each with as many words as fit. Example: "- and 8 earlier topics: Berth 7; …" """
    counted = sum(int(found.group(1)) - 1 if (found := _COUNTED.match(topic)) else 0 for topic in topics) + len(topics)
    head = f"- and {counted} earlier topic{'s' if counted != 1 else ''}: "
    bare = [_COUNTED.sub("", topic) for topic in topics]
    for size in (80, 40, 24, 16, 10):
        line = head + "; ".join(clip(topic, size) for topic in bare)
        if len(line) <= room:
            return line
    return clip(head + "; ".join(clip(topic, 10) for topic in bare), max(room, len(head)))


def running(messages: Sequence[Message], limit: int) -> str:
    """One block of the running summary: what was asked, decided, found, done and left open in an archived span."""
    notes = take_notes(messages)
    sections = [
        ("asked:", notes.topics),
        ("decided:", notes.decisions),
        ("done, do not redo:", notes.done),
        ("open:", notes.open),
        ("facts:", notes.facts),
    ]
    return _within("", [(title, lines) for title, lines in sections if lines], limit).strip()
