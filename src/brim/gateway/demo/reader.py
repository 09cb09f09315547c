"""The sample's model: it knows only what it is sent, calls a tool when asked to look, and answers with quotes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from brim.conversation import Conversation, Message
from brim.testing import Call, Reply, Say

# The subject of a question: an order, a constant, a path, a run, a person's name.
_NAMED = re.compile(r"ORD-\d+|\b[A-Z]{2,}(?:_[A-Z]+)*\b|\b[\w/]+\.py\b|\brun \d+|\b[A-Z][a-z]+ [A-Z][a-z]+\b")
_WORD = re.compile(r"[a-z]{4,}")
_COMMON = frozenset("what which with from does that this last they were have into file must".split())
_LOOK = re.compile(r"(?P<log>payment log of page (?P<day>\d+))|(?:orders on page (?P<page>\d+))")
_CODE = re.compile(r"Read (?P<path>[\w/]+\.py)|Run the tests.*: run (?P<run>\d+)")
AROUND = 140


def reply(conversation: Conversation) -> Reply:
    """The next message of the model."""
    messages = conversation.messages
    asked = next((place for place in range(len(messages) - 1, -1, -1) if _is_question(messages[place])), None)
    if asked is None:
        return Say("How can I help?")
    question = messages[asked].text
    results = [message for message in messages[asked + 1 :] if message.answers]
    if results:
        return Say(_told(results[-1].text), pieces=6)
    called = _call(question)
    if called is not None:
        return called
    said = "?" in question
    found = _found(question, [message for place, message in enumerate(messages) if place != asked]) if said else ""
    if found:
        return Say(f"I was sent this: {found}", pieces=6)
    return Say("That is not in what I was sent." if said else "Noted.", pieces=3)


def _is_question(message: Message) -> bool:
    return message.role == "user" and not message.answers and not message.text.startswith("[")


def _call(question: str) -> Call | None:
    look, code = _LOOK.search(question), _CODE.search(question)
    if look is not None:
        page = int(look["day"] or look["page"])
        return Call("read_log" if look["log"] else "list_orders", {"page": page})
    if code is not None and code["path"]:
        return Call("read_file", {"path": code["path"]})
    return Call("run_tests", {"run": int(code["run"])}) if code is not None else None


def _told(result: str) -> str:
    """A brief remark on a new result; brief, so that later questions need the result itself."""
    lines = result.splitlines()
    if "ERROR" in result:
        return f"One of {len(lines)} lines is an error."
    if '"orders"' in result:
        return f"{result.count('open')} of {result.count('https') - 1} orders are open."
    failed = sum(" FAILED" in line for line in lines)
    return f"{failed} test failed." if failed else f"It has {result.count('def ')} functions, {len(lines)} lines."


def _found(question: str, messages: list[Message]) -> str:
    """The passage that contains the most of the question's subjects and words."""
    names = _NAMED.findall(question)
    wanted = set(_WORD.findall(question.lower())) - _COMMON
    best, score = "", 0.0
    for message in messages:
        if message.role == "assistant" and not message.calls and message.text.startswith("I was sent"):
            continue  # its own quotes are not sources
        for passage in _passages(message.text, names, wanted):
            words = set(_WORD.findall(passage.lower()))
            # The first name is the subject; later ones say where it is.
            held = sum(_holds(passage, name) / (1 + place) for place, name in enumerate(names))
            around = sum(_holds(message.text, name) for name in names)
            found = 3 * held + around + len(words & wanted) / (1 + len(wanted)) * 2
            if (held or not names) and found > score and "?" not in passage:
                best, score = passage, found
    return best if score >= (3 if names else 0.5) else ""


def _holds(text: str, name: str) -> bool:
    """Example: "run 11: 3 failed", "run 1" -> False"""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _columns(line: str, names: list[str], wanted: set[str]) -> str | None:
    """The values of one row in a list of columns; "" if those asked for are cut off, None if it is no such list.

    Example: "id: A, B; total: 1, 2", B -> "id: B; total: 2"
    """
    columns = [part.strip().partition(": ") for part in line.split(";")]
    found = None
    for name in names:
        for _, _, values in columns:
            listed = [value.strip() for value in values.split(",")]
            if name not in listed:
                continue
            found = ""
            place = listed.index(name)
            rows = ((key, [value.strip() for value in many.split(",")]) for key, _, many in columns)
            told = [f"{key}: {row[place]}" for key, row in rows if len(row) == len(listed)]
            if any(set(_WORD.findall(one.lower())) & wanted for one in told):
                return "; ".join(told)
    return found


def _passages(text: str, names: list[str], wanted: set[str]) -> Iterator[str]:
    for line in text.splitlines():
        if len(line) <= 2 * AROUND:
            yield line.strip()
            continue
        row = _columns(line, names, wanted) if ";" in line else None
        if row is not None:
            yield row
            continue
        for name in names or sorted(wanted):
            for match in re.finditer(re.escape(name), line):
                yield line[max(0, match.start() - AROUND // 2) : match.end() + AROUND].strip()
