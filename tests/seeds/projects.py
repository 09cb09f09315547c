"""Chats beside a large project: what a user of a notes app sends. Every question has an answer in one place only."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache
from typing import Any

from brim import Attachment

WORDS = (
    "harbour tide berth crane pilot ledger cargo anchor signal channel quay lantern winch rudder ballast manifest "
    "customs storm chart compass sailor captain deck hull mast galley rope barrel ferry lighthouse market bridge "
    "survey permit schedule invoice repair paint engine fuel weather north south east west morning evening season "
    "arrives leaves carries checks keeps opens closes measures reports follows passes loads waits moves holds"
).split()


def sentence(random_: random.Random) -> str:
    words = [random_.choice(WORDS) for _ in range(random_.randint(6, 14))]
    return " ".join(words).capitalize() + f" {random_.randint(1, 9_999)}. "


@cache
def prose(tokens: int, seed: str) -> str:
    """About so many tokens of sentences in paragraphs; no two are the same."""
    random_ = random.Random(seed)
    found: list[str] = []
    characters = 0
    while characters < tokens * 4.6:
        found.append("".join(sentence(random_) for _ in range(6)).strip() + "\n\n")
        characters += len(found[-1])
    return "".join(found)


def _hidden(text: str, fact: str, share: float) -> str:
    """The text with a fact in its own paragraph, so far into it."""
    at = text.find("\n\n", int(len(text) * share))
    return text[:at] + f"\n\n{fact}" + text[at:] if at >= 0 else text + fact


@dataclass(frozen=True, slots=True)
class Project:
    """Layers of so many tokens: project, carried, note of this turn, history, question."""

    project: int = 131_964
    carried: int = 0
    note: int = 2_616
    history: int = 1_968
    turns: int = 6
    asked: int = 0
    files: int = 60
    seed: str = "a"

    note_answer = "The spare key for the pump house hangs behind the blue clock."
    newest = "The newest answer: the ferry to Lindisfarne leaves at 06:45."
    only_here = "The Tallow Street warehouse was insured for 48,210 crowns by the widow Amberly."

    def instructions(self, wrap: str = "project_context") -> str:
        each, files = self.project // self.files, []
        for n in range(self.files):
            text = prose(each, f"{self.seed} file {n}")
            if n == self.files * 2 // 3:
                text = _hidden(text, self.only_here, 0.6)
            files.append(f'<file path="notes/{n:03}.md">\n{text}\n</file>\n')
        return f"You are a careful assistant for this project.\n<{wrap}>\n{''.join(files)}</{wrap}>"

    def turns_before(self) -> list[dict[str, Any]]:
        each, found = self.history // self.turns // 2, []
        for n in range(self.turns):
            answer = f"[a{n}] " + prose(each, f"{self.seed} answer {n}")
            if n == self.turns - 1:
                answer = f"{self.newest}\n\n{answer}"
            found += [
                {"role": "user", "content": f"[q{n}] " + prose(each, f"{self.seed} question {n}")},
                {"role": "assistant", "content": answer},
            ]
        return found

    def note_text(self) -> str:
        return _hidden(prose(self.note, f"{self.seed} note"), self.note_answer, 0.5)

    def question(self, ask: str) -> str:
        return (prose(self.asked, f"{self.seed} ask") + ask) if self.asked else ask

    def messages(self, ask: str) -> list[dict[str, Any]]:
        return [
            {"role": "system", "content": self.instructions()},
            *self.turns_before(),
            {"role": "user", "content": self.question(ask)},
        ]

    def context(self) -> list[Attachment]:
        return [Attachment(self.note_text(), source="today.md")]

    def earlier(self) -> list[Attachment]:
        return [Attachment(prose(self.carried, f"{self.seed} carried"), source="before.md")] if self.carried else []


ASK_NOTE = "Where does the spare key for the pump house hang?"
ASK_PROJECT = "For how many crowns was the Tallow Street warehouse insured?"
