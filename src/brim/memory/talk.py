"""Talks: conversations without tools, in which the question decides what of the past is worth its place.

A talk is sent as what was said last, in full, a record of what is folded before it, and, next to the question, what
the folded messages say about it. That evidence is chosen anew for every question and stands at the end, so what comes
before it stays in the provider's cache. How much of the window it may take is a matter of prices: as much as can be
sent anew for what one more turn would cost, which is what a question costs that could not be answered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from brim import wire
from brim.catalog.caching import Caching, caching_of
from brim.conversation import Message
from brim.ladders import Ladder, handle_of
from brim.ladders.rung import Room
from brim.memory.recollection import Ranking, Recollection, recall_text
from brim.memory.view import Entry, EntryKind, View
from brim.plan.agent import LEAST_RECORD, record
from brim.plan.items import grouped
from brim.plan.rebuild import with_text
from brim.plan.renditions import TINY
from brim.plan.task import Outcome
from brim.plan.work import Work, query_of
from brim.tokens.sparing import known, up_to

# More evidence than this hardly answers more questions, in however large a window. Where there is a cache to keep, so
# much of it stands beside a question, if the policy's share is less.
EVIDENCE, ENOUGH = 6_000, 2_000
# A talk that takes this share of its limit is read for its first questions beforehand, so many messages a turn; so many
# of the last ones for what a fold will say of them.
READ_FROM, READ_AT_ONCE, NOTED = 0.4, 12, 4
# The tokens of a usual answer: what a turn costs beside its input.
ANSWER = 400
# What was said last stays in full if it takes at most this share of the room beside the question.
LAST = 0.25
# Records of folded messages may take this share before they are made into one.
RECORDS = 0.15
# A fold leaves so much of what the messages said last may take, so that the next one is some turns away; a message
# that is too long for all of it is cut to as much.
LOW = 0.5
# So many messages that are too long are cut; with their halves of the room it is full.
LONG = 2
# What stands for folded messages at its longest: no handle takes more tokens than this one.
SIGN, HANDLE = "[99,999 earlier messages folded{}]", "brim:9d8e7f6a"
# What a message must score, of the best that there is, to be worth its place: where the place costs nothing, where it
# is paid for, and where other things have to go for it.
SOME, GOOD, STRONG = 0.05, 0.25, 0.5
# Less room than this holds no evidence, and this much of it goes to what frames a message.
LEAST, FRAME = 40, 8
# Evidence that turns out to be too much is shown again in at most this share of its room.
LESS = 0.95


class Acts:
    """Whether anything in a log calls a tool or answers one; each message is looked at once."""

    def __init__(self, log: Sequence[Message]) -> None:
        self._log = log
        self._seen = 0
        self._first: int | None = None

    def __bool__(self) -> bool:
        while self._first is None and self._seen < len(self._log):
            message = self._log[self._seen]
            if message.calls or message.answers:
                self._first = self._seen
            self._seen += 1
        return self._first is not None

    def cut(self, length: int) -> None:
        self._seen = min(self._seen, length)
        if self._first is not None and self._first >= length:
            self._first = None


def evidence_room(caching: Caching, limit: int) -> int:
    """How many tokens of a request may be sent anew for a question: those that cost what one more turn would.

    Example: half-price cache, 5,000 tokens -> all of them; a cache at a tenth, 20,000 tokens -> some 3,500
    """
    turn = caching.reading * limit + ANSWER * caching.answering
    lost = caching.lost(1)
    return limit if lost <= 0 else min(limit, int(turn / lost))


@dataclass(slots=True)
class Talk:
    """One turn of a talk. `fresh`: nothing of it was sent before. `carried` are entries to stand after the records."""

    work: Work
    log: list[Message]
    view: View
    recollection: Recollection
    fresh: bool
    carried: Sequence[Entry] = ()
    context: Callable[[int], Sequence[Entry]] = lambda number: ()  # what is attached to a message of the log
    replans: bool = False  # whether what was sent before has changed
    _ranking: Ranking | None = None
    _offered: Sequence[int] = ()  # what was to be shown as evidence, best first
    _sizes: dict[str, int] = field(default_factory=dict)  # of lines that were counted for this turn

    def run(self) -> Outcome | None:
        """Bring the view under the limit with evidence for its last message; None if that needs the planner."""
        entries = self.view.entries
        if any(entry.kind == "context" for entry in entries) or not entries or entries[-1].end != len(self.log):
            return None
        start = next((n for n, entry in enumerate(entries) if entry.message.role != "system"), len(entries))
        head = self.work.counter.head(self.work.conversation) + sum(entry.tokens for entry in entries[:start])
        free = self._tokens(self.work.limit) - head - entries[-1].tokens
        caching = caching_of(self.work.model)
        room = min(free, EVIDENCE if self.fresh else min(EVIDENCE, evidence_room(caching, self.work.limit)))
        anew = head + free - room < caching.least
        if not anew:
            room = min(room, max(ENOUGH, int(self.work.policy.recall * free)))
        return self._appended(start, free, room, anew) or self._replanned(start, free, room, anew)

    def _appended(self, start: int, free: int, room: int, anew: bool) -> Outcome | None:
        """The view with evidence that is not shown yet before the question; None if there is no room for all of it."""
        entries = self.view.entries
        spare = free - sum(entry.tokens for entry in entries[start:-1])
        if spare < 0:
            return None
        before, asked = entries[:-1], entries[-1]
        recalled = [entry.message.text for entry in before if entry.kind == "recall"]
        found: list[Entry] = []
        for least, most in ((SOME if anew else STRONG, room), (GOOD, min(room, spare))):
            numbers = self._found(most, before, least)
            found = self._shown([n for n in numbers if not any(self.log[n].text in text for text in recalled)], most)
            if sum(entry.tokens for entry in found) > spare:
                return None  # something that the question is surely about has no room
        return self._outcome(before, found, asked, {})

    def _replanned(self, start: int, free: int, room: int, anew: bool) -> Outcome | None:
        """The view with what was said last, a record of the rest, and evidence; None if that needs the planner."""
        self.replans = True
        entries = [entry for entry in self.view.entries if entry.kind != "recall"]
        fixed, body, asked = entries[:start], entries[start:-1], entries[-1]
        most = int(max(LAST * free, free - room))
        stash: dict[str, str] = {}
        # A pasted document that is too long for all of the room is cut to half of it rather than folded; so are two.
        long = [
            at
            for at, entry in enumerate(body)
            if entry.tokens > most and entry.kind in ("as is", "compacted") and entry.message.role != "system"
        ]
        for at in long[-LONG:]:
            body[at] = self._shortened(body[at], int(LOW * most), stash)
        if free < 0 or any(entry.tokens > most for entry in body[-1:]):
            return None
        if anew:
            kept, found = self._anew(body, free, stash)
        else:
            kept = body
            if sum(entry.tokens for entry in body) > free - room:
                kept = self._folded(body, free - room, stash)
            spare = free - sum(entry.tokens for entry in kept)
            found = self._shown(self._found(min(spare, room), kept, GOOD), min(spare, room))
        return self._outcome([*fixed, *kept], found, asked, stash)

    def _outcome(self, before: list[Entry], found: list[Entry], asked: Entry, stash: dict[str, str]) -> Outcome | None:
        room = sum(entry.tokens for entry in found)
        while True:
            new = [*before, *found, asked]
            sent = replace(self.work.conversation, messages=tuple([entry.message for entry in new]))
            total = self.work.total(sent)
            if total <= self.work.limit:
                self.view.replace(0, new, len(before) if self.replans else self.view.settled)
                return Outcome(sent, total, stash=stash)
            if not found:
                return None
            # Lines are counted one by one: together they may take a little more, and then the last ones go.
            room = min(room - (total - self.work.limit), int(room * LESS))
            found = self._shown(self._offered, room)

    def _shortened(self, entry: Entry, most: int, stash: dict[str, str]) -> Entry:
        """A message of the log in a form that leaves room for others; as it stands if its text cannot be cut."""
        counter, source = self.work.counter, self.log[entry.start]
        sizes = counter.parts(source)
        largest = max(range(len(sizes)), key=sizes.__getitem__, default=0)
        part = source.parts[largest] if sizes else None
        room = most - (counter.message(source) - sizes[largest]) if sizes else 0
        if part is None or part.kind != "text" or part.fixed or room < LEAST:
            return entry
        handle = handle_of(part.text)
        stash[handle] = part.text
        steps = Ladder(part.text, known(counter.text, part.text, sizes[largest]))
        cut = steps.at(Room(room, up_to(counter.text, room), handle, self.work.recall))
        message = with_text(counter.api, source, {largest: cut.text})
        return replace(entry, message=message, tokens=counter.message(message), kind="compacted")

    def _tokens(self, limit: int) -> int:
        """So many tokens as Brim counts them are within a limit."""
        size = self.work.size(limit)
        return limit if size <= limit else int(limit * limit / size) - 8

    def _anew(self, body: list[Entry], free: int, stash: dict[str, str]) -> tuple[list[Entry], list[Entry]]:
        """Where no cache has to be kept: evidence first, then as much of what was said last as there is room for."""
        told = [entry for entry in body if entry.message.role == "system"]  # instructions stay wherever they stand
        sign = SIGN.format(self._where(HANDLE))
        ledger = self._made(sign, 0, 0, "ledger").tokens + self._recorded
        ledger += sum(entry.tokens for entry in (*self.carried, *told))
        border = self._border(len(self.log) - 1, self.work.policy.recent * free, LAST * free)
        said = self._since(border)
        room = free - ledger - sum(entry.tokens for entry in said if entry.message.role != "system")
        found = self._shown(self._found(room, said, SOME), room)
        border = self._border(border, room - sum(entry.tokens for entry in found), 0)
        told = [entry for entry in told if entry.start < border]
        return [*self._record(body, border, free, stash), *told, *self.carried, *self._since(border)], found

    def _border(self, end: int, room: float, last: float) -> int:
        """Where the newest messages before `end` begin that take at most `room`; the last two may take `last`."""
        groups = grouped(tuple(self.log[max(0, end - 400) : end]))
        first = max(0, end - 400)
        taken = 0
        border = end
        for back, group in enumerate(reversed(groups)):
            messages = [self.log[first + place] for place in group]
            taken += sum(self.work.counter.message(message) for message in messages if message.role != "system")
            if taken > (max(room, last) if back < 2 else room):
                break
            border = first + group[0]
        return border

    def _since(self, border: int) -> list[Entry]:
        size = self.work.counter.message
        return [Entry(n, n + 1, self.log[n], size(self.log[n])) for n in range(border, len(self.log) - 1)]

    def _folded(self, body: list[Entry], room: int, stash: dict[str, str]) -> list[Entry]:
        """The records and the newest messages; what is older is folded into another record."""
        records = [entry for entry in body if entry.kind == "ledger"]
        told = [entry for entry in body if entry.message.role == "system"]  # instructions stay wherever they stand
        said = [entry for entry in body if entry.kind not in ("ledger", "summary") and entry not in told]
        taken = sum(entry.tokens for entry in records)
        if taken > RECORDS * room:
            records, taken = [], 0
        left = room - taken - sum(entry.tokens for entry in told)
        most = int((1 - LOW) * left)  # is left free, unless what was said last needs it
        first = len(said)
        for group in reversed(grouped(tuple(entry.message for entry in said))):
            left -= sum(said[place].tokens for place in group)
            if left < (most if first < len(said) else 0):
                break
            first = group[0]
        border = said[first].start if first < len(said) else len(self.log) - 1
        after = max((one.end for one in records), default=0)
        new = self._record(body, border, room, stash, after)
        before = [entry for entry in body if entry in records or (entry in told and entry.start < after)]
        folded = [entry for entry in told if after <= entry.start < border]
        since = [entry for entry in body if entry in said[first:] or (entry in told and entry.start >= border)]
        return [*before, *new, *folded, *self.carried, *since]

    def _record(self, body: list[Entry], border: int, room: int, stash: dict[str, str], after: int = 0) -> list[Entry]:
        """An entry that stands for the messages before the border (and after another record)."""
        start = max(after, next((n for n, one in enumerate(self.log) if one.role != "system"), 0))
        if border <= start:
            return []
        folded = [message for message in self.log[start:border] if message.role != "system"]
        if not folded:
            return []
        earlier = [entry for entry in body if entry.kind == "ledger" and entry.end > start]
        since = max((entry.end for entry in earlier), default=start)
        handle = self._stashed(range(since, border), earlier, stash) if self.work.limit >= TINY else ""
        text = f"[{len(folded):,} earlier messages folded{self._where(handle)}"
        said = record(folded, self._recorded, self.work.counter.text)
        return [self._made(f"{text}]\n{said}" if said else f"{text}]", start, border, "ledger")]

    def _where(self, handle: str) -> str:
        """How a record says where its messages are; in a tiny budget that costs more than it says."""
        if self.work.limit < TINY:
            return ""
        return f", recall {handle}" if self.work.recall else f", {handle}"

    @property
    def _recorded(self) -> int:
        """How many tokens a record of folded messages may take; 0 where that is too few to say anything."""
        room = int(self.work.policy.ledger * self.work.limit) - LEAST
        return room if room >= LEAST_RECORD else 0

    def _stashed(self, numbers: Sequence[int], earlier: list[Entry], stash: dict[str, str]) -> str:
        """Keep folded messages and their context, after the words of the record that told where those before are."""
        before = [entry.message.text.partition("\n")[0] for entry in earlier]
        messages = [one for n in numbers for one in (*(entry.message for entry in self.context(n)), self.log[n])]
        raws = [message.raw.decode("utf-8", "surrogatepass") for message in messages]
        text = "\n".join([*before, *raws])
        stash[handle_of(text)] = text
        return handle_of(text)

    def _found(self, room: int, shown: Sequence[Entry], least: float) -> list[int]:
        """The messages that are not shown as they are and say something about the question."""
        if room < LEAST:
            return []
        end = len(self.log) - 1
        if self._ranking is None:
            query = query_of(replace(self.work.conversation, messages=(self.log[-1],)))
            self._ranking = self.recollection.ranked(query, room, end)
        return self._ranking.pack(room, least, {entry.start for entry in shown if entry.kind == "as is"})

    def _shown(self, numbers: Sequence[int], room: int) -> list[Entry]:
        """Messages of the log as one entry of at most so many tokens; none if there are none, or there is no room."""
        self._offered = numbers
        text = recall_text(self.log, numbers, room - FRAME, self._size) if room >= LEAST else ""
        at = len(self.log) - 1
        return [self._made(text, at, at, "recall")] if text else []

    def _size(self, line: str) -> int:
        """What a line takes; the same ones are looked at for each bar that they may pass."""
        known = self._sizes.get(line)
        if known is None:
            known = self._sizes[line] = self.work.counter.text(line)
        return known

    def _made(self, text: str, start: int, end: int, kind: EntryKind) -> Entry:
        message = wire.text_message(self.work.conversation.api, "user", text)
        return Entry(start, end, message, self.work.counter.message(message), kind)
