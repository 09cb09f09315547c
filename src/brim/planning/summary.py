"""The summary of archived turns: what was asked and decided, and what was done with which outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from brim.conversation import Message
from brim.planning.draft import Draft
from brim.planning.forms import TINY, Forms
from brim.planning.items import Group
from brim.planning.request import PlanRequest
from brim.planning.sharing import LINE, Candidate
from brim.planning.user_words import asks
from brim.summaries.deterministic import take_notes

# Share of the limit for lines of archived steps; beyond it, only the newest have a line.
LINES_SHARE = 0.06
# Share of the room for what archived messages asked, decided and left open.
NOTES_SHARE = 0.03
# Fewer tokens than this can't say what was asked.
LEAST_NOTES = 40
# A line with fewer words ("Price: $146") states no decision.
WORDS = 5
QUESTIONS = ("?", "？")
# How many of the newest archived messages to read for notes.
NOTED = 120
# Tools that are named with how often they were used, and of those used once the last, with their arguments: in a window
# of 1,000 tokens the one command that an agent ran stays in .33 of the requests without them (bench/standing.py).
SEVERAL, ONCE = 8, 4
# A user's message of at most so many words says nothing without the question that it answers. Longer ones say enough to
# leave the room to what results hold: values kept of tau at 25%, tuned half, fit / session: .894 / .881 at 2,
# .881 / .868 at 3, .874 / .868 at 8 (bench/meaning.py).
REPLY = 2
# Share of the limit for the questions that such replies answer: one in a window of 1,500 tokens.
ANSWERED_SHARE = 0.02
# Tokens of a line that says only tool and key arguments.
BRIEF = 1
SIGN = "[…]"
HANDLE = "brim:00000000"


class Summary:
    """What the summary says, and its size."""

    def __init__(self, request: PlanRequest, draft: Draft, limit: int, forms: Forms) -> None:
        self.recall = request.recall
        self.counter = request.counter
        self.count = request.counter.text
        self.conversation = draft.conversation
        self.limit = limit
        self.forms = forms
        self.silent = False  # whether there is only room for a sign
        self.most = int(LINES_SHARE * limit)
        self.head = self._message_tokens(self._head(999, HANDLE)) + 2
        self.frame = 0
        self._notes = ""
        self._notes_most = 0
        self._left_out: set[str] = set()  # what there was no room for when all was counted
        self._answered = ""
        self._rest = ""
        self._own: dict[int, frozenset[str]] = {}  # the words of each step's results
        self._known: dict[tuple[int, int, frozenset[str]], str] = {}
        self._words: dict[str, set[str]] = {}  # the words of shown texts
        self._sizes: dict[str, int] = {}  # of lines
        self._made = False
        self._shown: list[tuple[Candidate, str]] = []

    def begin(self, groups: Sequence[Group], room: int) -> None:
        """Reserve room for the fixed part, if anything may be archived."""
        self.frame = self.head
        self._notes_most = int(NOTES_SHARE * room)
        self.groups = groups

    def make(self, archived: Sequence[Candidate], groups: Sequence[Group]) -> None:
        """Write the summary for what is archived now."""
        gone = [group for group in groups if not group.kept]
        self._made = bool(gone)
        if not gone:
            self._notes, self._answered, self._shown, self._rest = "", "", [], ""
            return
        self._answered = self._questions(groups) if "answered" not in self._left_out else ""
        if not self._notes and "notes" not in self._left_out:
            self._notes = self._noted(gone)
        said = self._visible(groups)
        shown: list[tuple[Candidate, str]] = []
        for candidate in reversed(archived):
            if candidate.form in ("line", "short") and candidate.step:
                line = self._known_line(candidate.group, candidate.tokens or LINE, said)
                said |= self.forms.words(line)
                shown.append((candidate, line))
        self._shown = shown[::-1]
        self._count_rest(gone)

    @property
    def text(self) -> str:
        lines = [line for _, line in self._shown]
        done = ["done, do not redo:", *lines] if lines else []
        return "\n".join([*filter(None, [self._notes, self._answered]), *done, *filter(None, [self._rest])])

    @property
    def tokens(self) -> int:
        if not self._made or self.silent:
            return 0
        return self.head + (self.count("\n" + self.text) if self.text else 0)

    def message(self, messages: int, handle: str) -> Message:
        """The summary message, which names the archive of all archived messages."""
        head = SIGN if self.silent else self._head(messages, handle)
        text = f"{head}\n{self.text}" if self.text and not self.silent else head
        return self.counter.text_message(self.conversation.api, "user", text)

    def lines(self) -> dict[int, int]:
        """What the line of each candidate takes, by its id."""
        for _, line in self._shown:
            if line not in self._sizes:
                self._sizes[line] = self.count(line)
        return {id(candidate): self._sizes[line] for candidate, line in self._shown}

    def shorten(self, over: int) -> int:
        """Free `over` tokens: the oldest lines' outcomes, then these lines, then all that is said."""
        before = self.tokens
        for number, (candidate, line) in enumerate(self._shown):
            if before - self.tokens < over:
                candidate.tokens = BRIEF
                brief = self._known_line(candidate.group, BRIEF, set())
                self._shown[number] = (candidate, min(brief, line, key=len))
        while self._shown and before - self.tokens < over:
            candidate, _ = self._shown.pop(0)
            candidate.form = "archived"
            self._count_rest([group for group in self.groups if not group.kept])
        for part in ("notes", "answered", "arguments", "count"):
            if before - self.tokens < over:
                self._left_out.add(part)
                self._notes = "" if "notes" in self._left_out else self._notes
                self._answered = "" if "answered" in self._left_out else self._answered
                self._count_rest([group for group in self.groups if not group.kept])
        return before - self.tokens

    def _count_rest(self, gone: Sequence[Group]) -> None:
        counted = self._counted(gone, {id(candidate.group) for candidate, _ in self._shown})
        if "arguments" in self._left_out:
            counted = counted.partition(":")[0]
        self._rest = "" if "count" in self._left_out else counted

    def _head(self, messages: int, handle: str) -> str:
        if self.recall:
            return f"[{messages:,} earlier messages archived, recall {handle}]"
        where = f", {handle}" if self.limit >= TINY else ""
        return f"[{messages:,} earlier messages archived{where}]"

    def _message_tokens(self, text: str) -> int:
        return self.counter.message(self.counter.text_message(self.conversation.api, "user", text))

    def _noted(self, gone: Sequence[Group]) -> str:
        """The requests, decisions and open points of archived messages."""
        most = self._notes_most
        if most < LEAST_NOTES:
            return ""
        members = [member for group in gone for member in group.members][-NOTED:]
        messages = [self.conversation.messages[member] for member in members]
        notes = take_notes(messages)
        # Points of an answer without actions are advice; only its conclusions are decisions.
        advice = not any(message.calls or message.answers for message in self.conversation.messages)
        decisions = [line for line in (notes.verdicts if advice else notes.decisions) if _says_something(line)]
        # Questions to the user were answered by the next message, which is kept.
        left = [line for line in notes.open if not line.rstrip().endswith(QUESTIONS) and _says_something(line)]
        left = [] if advice else left
        sections = [("asked:", notes.topics), ("decided:", decisions), ("open:", left)]
        text = _sections(sections, 3 * most)
        while text and self.count(text) > most:
            text = text[: int(len(text) * 0.8)].rpartition("\n")[0]
        return text

    def _questions(self, groups: Sequence[Group]) -> str:
        """The archived questions that visible short replies answer; the newest that fit.

        Example: Shall I book it? → yes
        """
        messages = self.conversation.messages
        gone = {member for group in groups if not group.kept for member in group.members}
        left, lines = int(ANSWERED_SHARE * self.limit), list[str]()
        for group in reversed(groups):
            place = group.members[0]
            if not group.kept or place < 1 or place - 1 not in gone or not asks(messages[place]):
                continue
            reply = messages[place].text.strip()
            if messages[place - 1].role != "assistant" or not 0 < len(reply.split()) <= REPLY:
                continue
            asked = [line for line in take_notes([messages[place - 1]]).open if line.endswith(QUESTIONS)]
            line = f"- {asked[-1]} → {' '.join(reply.split())}" if asked else ""
            left -= self.count(f"\n{line}") if line else 0
            if left < 0:
                break
            lines += [line] if line else []
        return "\n".join(["answered:", *reversed(lines)]) if lines else ""

    def _known_line(self, group: Group, tokens: int, said: set[str]) -> str:
        """The line of a step, cached because a summary is written many times."""
        own = self._own.get(id(group))
        if own is None:
            results = [item.text for item in group.items if item.kind == "result"]
            own = self._own[id(group)] = frozenset[str]().union(*map(self.forms.words, results))
        key = (id(group), tokens, own & said)
        line = self._known.get(key)
        if line is None:
            line = self._known[key] = "- " + self._line(group, tokens, said)
        return line

    def _line(self, group: Group, tokens: int, said: set[str]) -> str:
        messages = self.conversation.messages
        calls = [
            (part.name, part.text) for member in group.members for part in messages[member].parts if part.kind == "call"
        ]
        results = [(item, item.text) for item in group.items if item.kind in ("result", "media")]
        return self.forms.line(calls, results, tokens, said)

    def _visible(self, groups: Sequence[Group]) -> set[str]:
        """The words that are shown anyway, so that no line repeats them."""
        found: set[str] = set()
        for group in groups:
            for item in group.items if group.kept else ():
                text = item.text if item.shown is None else item.shown
                words = self._words.get(text)
                if words is None:
                    words = self._words[text] = self.forms.words(text)
                found |= words
        return found

    def _counted(self, gone: Sequence[Group], shown: set[int]) -> str:
        """Calls without a line, counted by tool; a call made once is shown with its arguments.

        Example: and 14 earlier calls: search ×9, read_file ×4, run(deploy.sh prod-7)
        """
        messages = self.conversation.messages
        calls = [
            part
            for group in gone
            if id(group) not in shown
            for member in group.members
            for part in messages[member].parts
            if part.kind == "call"
        ]
        tools = Counter(part.name for part in calls)
        if not tools:
            return ""
        alone = {part.name: part.text for part in calls if tools[part.name] == 1}
        several = [f"{name} ×{times}" for name, times in tools.most_common(SEVERAL) if times > 1]
        once = [self.forms.line([(name, text)], [], LINE, set()) for name, text in list(alone.items())[-ONCE:]]
        return f"and {len(calls):,} earlier calls: {', '.join([*several, *once])}"


def _says_something(line: str) -> bool:
    """Whether a line states a decision or an open point. Example: "Price: $146" and "Here is how to do this:" do not"""
    return len(line.split()) >= WORDS and not line.rstrip().endswith((":", "："))


def _sections(sections: list[tuple[str, list[str]]], limit: int) -> str:
    """Titled lists of the newest lines, sharing this many characters."""
    filled = [(title, lines) for title, lines in sections if lines]
    parts: list[str] = []
    for title, lines in filled:
        left, kept = limit // len(filled) - len(title), []
        for line in reversed(lines):
            if left < len(line) + 3:
                break
            left -= len(line) + 3
            kept.append(f"- {line}")
        if kept:
            parts.append("\n".join([title, *reversed(kept)]))
    return "\n".join(parts)
