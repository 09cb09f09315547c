"""Tells which messages a person wrote, and which of them are standing instructions.

Agents without tool messages (aider, Cline, SWE-agent) send what their tools print in the user's role. Such messages
are recognised by their shape: a label, tag or bracketed head at the start that recurs again and again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from brim.conversation import Message
from brim.planning.ranking import dated
from brim.relevance.dates import dates_in

# The head of a message that a program wrote: `<observation>`, `[read_file for 'a.py'] Result:`, `OBSERVATION:`,
# `Observation:` or `EXECUTION RESULT of [x]:` on a line of its own or before what was printed.
_HEAD = re.compile(
    r"\s*(?:<([\w:-]{2,40})[ >]|\[([^\]\n]{2,120})\]|((?:[A-Z][A-Za-z]*|of|the|for)(?: [\w\[\]./-]+){0,5}):)"
)
# The line of a call that a model writes as text, in the JSON of a message.
_IN_TEXT = b"\\nAction Input:"
# A head that recurs this often is a program's: people don't open three messages alike.
REPEATED = 3
# Messages up to this length are read as instructions; longer ones explain something.
SHORT = 600
# Phrases for things that apply to the rest of the conversation.
_STANDING = re.compile(
    r"\b(?:always|never|from now on|do not|don't|must not|must|make sure|remember (?:that|to)|keep in mind|prefer|"
    r"avoid|only use|no matter|at all times|going forward|in (?:all|every) (?:answers?|repl(?:y|ies)|responses?)|"
    r"whenever|each time|every time|please use|i (?:want|need) you to|my name is|call me|i(?:'m| am) allergic|"
    r"i (?:like|love|hate|dislike)|use only|without (?:using|touching|changing))\b",
    re.IGNORECASE,
)


def asks(message: Message) -> bool:
    """Whether a message has the user's role and answers no call."""
    return message.role == "user" and not message.answers


def machine_heads(messages: Sequence[Message]) -> frozenset[str]:
    """The heads of a program's messages: those that begin several messages in the user's role."""
    found = Counter(head for message in messages if asks(message) and (head := _head(message)))
    return frozenset(head for head, times in found.items() if times >= REPEATED)


def by_program(message: Message, heads: frozenset[str]) -> bool:
    """Whether a program wrote a message in the user's role. Example: "OBSERVATION:\\nsrc  tests" -> True"""
    return bool(heads) and _head(message) in heads


def calls_in_text(message: Message) -> bool:
    """Whether a model without tools called one in its text, as agents of the ReAct form have it do.

    Example: "Action: read_log\\nAction Input: {}\\nObservation: berth 12 is free" -> True
    """
    return message.role == "assistant" and _IN_TEXT in message.raw


def standing(message: Message) -> bool:
    """Whether a short message sets a rule for everything after it. Example: "Never edit migrations/." -> True"""
    text = message.text
    return len(text) <= SHORT and _STANDING.search(text) is not None


def _head(message: Message) -> str:
    text = message.text[:200]
    when, rest = dated(text)
    found = _HEAD.match(rest if dates_in(when) else text)
    if found is None:
        return ""
    return next(group for group in found.groups() if group).split()[0].lower()
