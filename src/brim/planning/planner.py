"""The planner: four rules, in this order.

1. Fixed: instructions, tools, the current message, pinned content.
2. The user's words, verbatim while they take at most USER_SHARE of the room.
3. The newest steps, verbatim, newest first, up to NEWEST_SHARE of the room; the very newest while it fits at all.
4. The rest, each in a share of what is left that goes by its value: whole, shortened in place, or a line of the
   summary. Then what is left over is filled, and what will really be sent is counted. Only that last count decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from brim.apis import APIS
from brim.content.selection import shares
from brim.conversation import Message, encode, leaf
from brim.errors import BudgetTooSmall
from brim.planning.archived import ArchivedMessages
from brim.planning.candidates import LOOKED_AT, LOOKED_AT_CHAT, candidates
from brim.planning.forms import STUB, Forms
from brim.planning.items import SYSTEM, WHOLE, Group, Item, Itemizer, last_exchange
from brim.planning.rebuild import rebuilt
from brim.planning.rules import bridged, last_thoughts
from brim.planning.sharing import LINE, Candidate, share_out
from brim.planning.summary import Summary
from brim.planning.task import Outcome, Task
from brim.planning.used_keys import used_keys
from brim.planning.user_words import asks, by_program, machine_heads, standing
from brim.planning.value import weights
from brim.relevance.term_spread import Column

# Share of the room for what the user wrote.
USER_SHARE = 0.4
# The first request stays whole up to this share of the room, whatever the others take.
FIRST_SHARE = 0.5
# The same in a chat so long that they take more: for the first request and what holds for good. The others compete.
STANDING_SHARE = 0.1
# Share of the room for the newest steps, verbatim.
NEWEST_SHARE = 0.5
# Parts of a newest step that is too large which take at most this share of its room stay whole: tool names, paths.
SMALL_SHARE = 0.1
# Share of the room for what was attached to this turn or pasted into its message.
CONTEXT_SHARE = 0.5
# Share of the room for the last exchange of a chat without tools, whose evidence is mostly older. Evidence and all of a
# question kept of BEAM at 4,000 tokens, tuned half: .68 / .53 at .25, .70 / .55 at .12 (bench/chats.py).
EXCHANGE_SHARE = 0.12
# Share of the limit that rule 4 has also where a compaction's target is used up. Values of archived results kept in
# windows of a quarter of tau's runs, tuned half: .50 at .06, .63 at .1, .79 at .15, .84 at .2 (bench/meaning.py).
REST_SHARE = 0.2
# A plan that leaves less than this share of the limit is full.
SLACK = 0.01
# Attempts to use what is left over, and to bring what was counted too low within the limit.
FILLS, COUNTS, LENGTHENED = 24, 12, 3
# The newest messages of a very long history are looked at up to this share of the limit, whatever they say; what is
# looked at is enough to choose from if it is so many times the limit.
RECENT_SEEN, ENOUGH_SEEN = 0.25, 1.05


class Planner:
    """Plans one request. `target` is where rule 4 and filling end; the limit holds for everything."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.counter = task.counter
        self.count = task.counter.text
        self.target = min(task.limit, task.target or task.limit)
        self.head = task.counter.head(task.conversation)
        self._relevance: Column | None = None
        self.groups = self._itemized()
        system = next((group for group in self.groups if group.members[0] == SYSTEM), None)
        if system is not None:
            self.head -= sum(item.tokens for item in system.items)
        used = used_keys(self._looked_at(), task.conversation.tools)
        self.forms = Forms(self.count, task.limit, self._original, task.recall, task.query, used)
        self.summary = Summary(task, self.forms)
        self.rest: list[Candidate] = []
        self._bridges: list[Group] = []

    def _itemized(self) -> list[Group]:
        """The conversation in groups; of a history many times the limit, what is worth looking at."""
        task, limit, guess = self.task, self.task.limit, self.task.guessed
        messages, seen = task.conversation.messages, None
        if guess is not None:
            self._relevance = task.relevance(limit) if task.relevance else None
        results = guess is None or any(messages[number].answers for number in guess.columns.others)
        for times in (LOOKED_AT,) if results else (LOOKED_AT_CHAT, LOOKED_AT):
            if guess is not None:
                recent = int(RECENT_SEEN * limit)
                seen = candidates(messages, guess, self._relevance, recent, times * limit, task.stay)
                task.counter.measure([messages[number] for number in seen.chosen])
            sized = task.counter.sizes
            groups = Itemizer(task.conversation, sized, self.count, task.layers, task.frozen, seen, task.held).groups()
            # Sizes are guessed: what is looked at may be less than there is room for.
            if sum([group.tokens for group in groups if group.items]) >= ENOUGH_SEEN * limit:
                break
        return groups

    def _looked_at(self) -> list[Message]:
        """The messages of the history that may be shown, in order."""
        members = [member for group in self.groups if group.items for member in group.members if member != SYSTEM]
        return [self.task.conversation.messages[member] for member in members]

    def surely_over(self) -> bool:
        """Whether what was looked at is too much by itself."""
        seen = sum([group.tokens for group in self.groups if group.items])
        return self.task.size(self.head + seen) > self.task.limit

    def run(self) -> Outcome:
        """Plan, or raise BudgetTooSmall."""
        fixed = self._fix()
        if fixed > self.task.limit and self.task.spare:
            fixed = self._spare()
        if fixed > self.task.limit:
            raise BudgetTooSmall(fixed, self.task.limit, self.must_stay())
        room = self.task.limit - fixed
        if self._relevance is None and self.task.relevance:
            self._relevance = self.task.relevance(room)
        for keep, rule in (
            (self._keep_context, "given for this turn"),
            (self._keep_user_words, "the user's own words"),
            (self._keep_picture, "the picture that is asked about"),
            (self._keep_exchange, "the last exchange"),
            (self._keep_newest, "the newest steps and the last answer"),
        ):
            keep(room)
            self._name_rule(rule)
        self._share_rest(room)
        self._fill()
        self._name_rule("its share of the room, by relevance and recency")
        return self._enforce()

    def _name_rule(self, rule: str) -> None:
        """Say by which rule everything is shown that no earlier rule kept."""
        for group in self.groups:
            for item in group.items if group.kept else ():
                if not item.rule and not item.must:
                    item.rule = rule if item.shown_tokens > self.forms.floor(item) or item.shown is None else ""

    # Rule 1

    def _fix(self) -> int:
        """Keep what must stay, its content in the smallest form that it may have; return what all of it takes."""
        for group in self.groups:
            if group.must:
                group.kept = True
                for item in group.items:
                    item.given = item.tokens if item.must else self.forms.floor(item)
                    self.forms.show(item)
        return self._total()

    def _spare(self) -> int:
        """Keep only what makes a valid request: of results a sign, of calls what fits; return what all of it takes."""
        self.forms.least = True
        calls = [item for group in self.groups if group.must for item in group.items if item.kind == "call"]
        calling = {item.message for item in calls}
        for group in self.groups:
            for item in group.items:
                if item.kind == "text" and item.message in calling and not item.fixed and not self._held(item):
                    item.must = False
        fixed = self._fix()
        # What was found says more than what was asked for.
        results = [item for group in self.groups if group.must for item in group.items if item.kind == "result"]
        results = [item for item in results if not item.fixed and not self._held(item)]
        wanted = sum([max(0, min(item.tokens, STUB) - item.shown_tokens) for item in results])
        for item in sorted(calls, key=lambda item: -item.shown_tokens):
            over = fixed + wanted - self.task.limit
            if over > 0 and not item.fixed and not self._held(item):
                item.given = max(self.forms.bottom(item), item.shown_tokens - over)
                self.forms.show(item)
                fixed = self._total()
        for item in results:
            if fixed < self.task.limit:
                item.given = min(item.tokens, STUB, item.shown_tokens + self.task.limit - fixed)
                self.forms.show(item)
                fixed = self._total()
        return fixed

    def _held(self, item: Item) -> bool:
        return item.message in self.task.held

    def _keep_context(self, room: int) -> None:
        """Show what was given for this turn, attached or pasted, up to its share of the room."""
        items = [item for group in self.groups for item in group.items if item.layer == 3 and not item.must]
        groups = [group for group in self.groups if group.layer == 3 and not group.kept]
        left = int(CONTEXT_SHARE * room) - sum(group.frame for group in groups)
        if not items or left <= 0:
            return
        for group in groups:
            group.kept = True
        for item, tokens in zip(items, shares([item.tokens for item in items], left), strict=True):
            item.given = max(tokens, self.forms.floor(item))
            self.forms.show(item)

    # Rule 2

    def _keep_user_words(self, room: int) -> None:
        """Keep what the user wrote; where that is too much, the first request, what holds for good, and the newest."""
        messages = self.task.conversation.messages
        heads = machine_heads(messages)
        groups = [group for group in self.groups if self._by_user(group, heads)]
        words = {id(group): self._words(group) for group in groups}
        left = int(USER_SHARE * room)
        if sum(words.values()) > left:
            first, rest = groups[:1], groups[1:]
            lasting = [group for group in rest if self._answered and standing(messages[group.members[0]])]
            left = max(left, min(int(FIRST_SHARE * room), sum(words[id(group)] for group in first)))
            self._shorten_first(first, left)
            if self._chat:
                needed = sum(words[id(group)] for group in first if not group.kept)
                groups, left = [*first, *reversed(lasting)], min(left, max(needed, int(STANDING_SHARE * room)))
            else:
                groups = [*first, *reversed(lasting), *reversed(rest)]
        for group in groups:
            size = words[id(group)]
            if not group.kept and size <= left:
                left -= size
                group.kept = True
                for item in group.items:
                    item.given = item.tokens if item.kind == "text" else self.forms.floor(item)
                    self.forms.show(item)

    def _by_user(self, group: Group, heads: frozenset[str]) -> bool:
        first = group.members[0]
        if group.must or group.layer != 4 or not group.items or first < 0:
            return False
        message = self.task.conversation.messages[first]
        return asks(message) and not by_program(message, heads)

    def _words(self, group: Group) -> int:
        """What a message of the user takes with its words whole and what is pasted into it at its least."""
        return group.frame + sum(item.tokens if item.kind == "text" else self.forms.floor(item) for item in group.items)

    def _shorten_first(self, first: Sequence[Group], left: int) -> None:
        """A first request that is too long by itself is shortened rather than left out."""
        for group in first:
            if self._words(group) > left:
                group.kept = True
                given = shares([item.tokens for item in group.items], left // 2)
                for item, tokens in zip(group.items, given, strict=True):
                    item.given = max(tokens, self.forms.floor(item))
                    self.forms.show(item)
                # Of a word or two nothing may be left, and no API takes an empty message.
                group.kept = any(item.shown is None or item.shown for item in group.items)

    @cached_property
    def _chat(self) -> bool:
        """Whether no tools were used: then what answers a question may stand anywhere, and mostly not at the end."""
        return not any(message.answers or message.calls for message in self.task.conversation.messages)

    @cached_property
    def _answered(self) -> bool:
        """Whether anyone but the user speaks: a transcript in one role asks nothing of anybody; its end is no answer.

        Spans kept of meetings, tuned half, 5/10/25%: .338/.497/.680 so, .321/.492/.679 if not (bench/chats.py).
        """
        return any(message.role == "assistant" for message in self.task.conversation.messages)

    def _keep_picture(self, room: int) -> None:
        """Keep the newest picture, with what is said beside it: a question without one is about that.

        It goes before older text, and after the newest step, which has to be there whole.
        """
        group = next((one for one in reversed(self.groups) if any(item.kind == "media" for item in one.items)), None)
        if group is None or not self._lacks(group) or group.layer not in (4, 5):
            return
        newest = self.groups[-1]
        waiting = self._whole_size(newest) if newest is not group and _is_step(newest) else 0
        before = [(item, item.given, item.shown, item.shown_tokens, item.fidelity) for item in group.items]
        was_kept, group.kept = group.kept, True
        for item in group.items:
            item.given = item.tokens if item.kind in ("media", "text") else max(item.given, self.forms.floor(item))
            self.forms.show(item)
        if self._total() + waiting > (self.task.limit if group.must else self.target):
            group.kept = was_kept
            for item, given, shown, tokens, fidelity in before:
                item.given, item.shown, item.shown_tokens, item.fidelity = given, shown, tokens, fidelity

    def _keep_exchange(self, room: int) -> None:
        """Keep the last exchange of a chat, whole or shortened, before anything that is older."""
        if not self._chat or not self._answered:
            return
        groups = [group for group in last_exchange(self.groups, self.task.conversation.messages) if not group.kept]
        items = [item for group in groups for item in group.items]
        left = int(EXCHANGE_SHARE * room) - sum(group.frame for group in groups)
        given = shares([item.tokens for item in items], left)
        if any(tokens < min(item.tokens, 2 * STUB) for item, tokens in zip(items, given, strict=True)):
            return  # too little to say anything
        for group in groups:
            group.kept = True
        for item, tokens in zip(items, given, strict=True):
            item.given = tokens
            self.forms.show(item)

    # Rule 3

    def _keep_newest(self, room: int) -> None:
        """Keep the newest steps and the last answer whole, the newest first; the very newest while it fits at all.

        Older answers are left to rule 4: what was said about results shortens better than the results.
        """
        if self._chat:
            return
        most = int(NEWEST_SHARE * (room - self.task.limit + self.target))
        newest, answered, taken, before = True, False, 0, self._total()
        for group in reversed(self.groups):
            if not group.items or group.members[0] == SYSTEM or group.layer != 4 or not self._lacks(group):
                continue
            step = _is_step(group)
            if not step and (answered or asks(self.task.conversation.messages[group.members[0]])):
                continue
            answered = answered or not step
            needed = self._whole_size(group)
            if newest and before + needed + self._rest_frame(group) <= self.task.limit:
                self._keep_whole(group)
            elif newest:
                needed = self._squeeze(group, self.task.limit - before)
            elif taken + needed <= most and before + needed <= self.target:
                self._keep_whole(group)
            elif step:
                break
            else:
                continue
            before, taken, newest = before + needed, taken + needed, False

    def _rest_frame(self, group: Group) -> int:
        """What the head of a summary takes, if anything beside a group is left to be archived."""
        rest = any(each.items and not each.kept for each in self.groups if each is not group)
        return self.summary.head if rest else 0

    def _lacks(self, group: Group) -> bool:
        """Whether anything of a group is not shown."""
        return not group.kept or any(item.shown is not None for item in group.items)

    def _whole_size(self, group: Group) -> int:
        kept = sum(item.shown_tokens for item in group.items) + group.frame if group.kept else 0
        return group.tokens - kept

    def _keep_whole(self, group: Group) -> None:
        group.kept = True
        for item in group.items:
            item.given = item.tokens
            self.forms.show(item)

    def _squeeze(self, group: Group, left: int) -> int:
        """Show as much of the newest step as there is room for beside a few lines of the rest."""
        if not group.kept:
            return 0
        left -= max(self.summary.most, self.summary.head)
        before = left
        short = [item for item in group.items if item.shown is not None and item.kind != "thinking"]
        small = [item for item in short if item.tokens - item.shown_tokens <= SMALL_SHARE * left]
        large = [item for item in short if item not in small]
        # What is small says what the rest is about; of the rest, what was found says more than what was asked for.
        results, calls = [one for one in large if one.kind != "call"], [one for one in large if one.kind == "call"]
        for items in (small, results, calls):
            wanted = shares([item.tokens - item.shown_tokens for item in items], left)
            for item, more in zip(items, wanted, strict=True):
                if more > 0:
                    shown = item.shown_tokens
                    self.forms.stretch(item, more)
                    left -= item.shown_tokens - shown
        return before - left

    # Rule 4

    def _share_rest(self, room: int) -> None:
        """Give every other group and pasted block its share of what is left."""
        self.summary.begin(self.groups, room)
        value = weights(self.groups, self.task.conversation.messages, self._relevance, self._chat)
        self.rest = [
            Candidate.of(group, value[number], self.forms, self._chat)
            for number, group in enumerate(self.groups)
            if group.items and (not group.kept or self._open_items(group))
        ]
        total = self._total() + self.summary.frame
        least = int(REST_SHARE * self.task.limit)
        left = max(self.target - total, min(least, self.task.limit - total))
        share_out(self.rest, left, self.summary.most)
        for candidate in self.rest:
            self._apply(candidate)
        self.summary.make([candidate for candidate in self.rest if not candidate.group.kept], self.groups)

    def _open_items(self, group: Group) -> list[Item]:
        return [item for item in group.items if item.shown is not None and not item.fixed and item.kind != "thinking"]

    def _apply(self, candidate: Candidate) -> None:
        group = candidate.group
        if candidate.form in ("line", "archived"):
            return
        group.kept = True
        if candidate.form == "full":
            self._keep_whole(group)
            return
        parts = [item for item in group.items if item.kind in ("text", "block", "result", "call") and not item.fixed]
        floors = {id(item): max(self.forms.floor(item), item.shown_tokens if item.given else 0) for item in group.items}
        extra = candidate.tokens - sum(floors.values()) - (0 if candidate.was_kept else group.frame)
        more = shares([item.tokens - floors[id(item)] for item in parts], extra)
        for item in group.items:
            item.given = floors[id(item)]
        for item, tokens in zip(parts, more, strict=True):
            item.given += tokens
        for item in group.items:
            self.forms.show(item)

    # Filling and counting

    def _fill(self) -> bool:
        """Use what is left on the most valuable of what is shortened or archived. Says whether anything grew."""
        before = self._total()
        tried: set[int] = set()
        for _ in range(FILLS):
            left = self.target - self._total()
            if left <= max(4, int(SLACK * self.task.limit)):
                break
            found = self._next(left, tried)
            if found is None:
                break
            tried.add(id(found))
            self._step_up(found, left)
        self._lengthen_lines()
        return self._total() > before

    def _lengthen_lines(self) -> None:
        """Let the summary's newest lines say more in what no form above a line has use for."""
        for _ in range(LENGTHENED):
            left = self.target - self._total()
            steps = [each for each in self.rest if each.step and not each.group.kept]
            if left <= max(4, int(SLACK * self.task.limit)) or not steps:
                return
            newest = steps[-max(1, left // LINE) :]
            before = [(each, each.form, each.tokens) for each in newest]
            for each in newest:
                each.form, each.tokens = "line", (each.tokens or LINE) + left // len(newest)
            archived = [each for each in self.rest if not each.group.kept]
            self.summary.make(archived, self.groups)
            if self._total() > self.target:
                for each, form, tokens in before:
                    each.form, each.tokens = form, tokens
                self.summary.make(archived, self.groups)
                return

    def _next(self, left: int, tried: set[int]) -> Candidate | None:
        """The most valuable candidate that a few more tokens would show in a better form."""
        best: Candidate | None = None
        for candidate in self.rest:
            if id(candidate) in tried or (best is not None and candidate.weight <= best.weight):
                continue
            if candidate.group.kept:
                if self._open_items(candidate.group):
                    best = candidate
            elif candidate.size <= left or (not candidate.whole and 2 * candidate.overhead <= left):
                best = candidate
        return best

    def _step_up(self, candidate: Candidate, left: int) -> None:
        group = candidate.group
        if not group.kept:
            left += self.summary.freed(candidate)
            if group.tokens <= left:
                self._keep_whole(group)
            else:
                candidate.form, candidate.tokens = "short", left
                self._apply(candidate)
            self.summary.make([each for each in self.rest if not each.group.kept], self.groups)
            return
        for item in sorted(self._open_items(group), key=lambda item: item.shown_tokens - item.tokens):
            if left > 0:
                before = item.shown_tokens
                self.forms.stretch(item, left)
                left -= item.shown_tokens - before

    def _enforce(self) -> Outcome:
        """Count what will really be sent; step down until it is within the limit."""
        for _ in range(COUNTS):
            self._mend()
            outcome = self._outcome()
            over = outcome.total - self.task.limit
            if over <= 0:
                return outcome
            if not self._step_down(over + 2):
                if self.summary.silent or not (outcome.archived and self.task.spare):
                    break
                self.summary.silent = True  # a request that does not say what it lacks is better than none
        raise BudgetTooSmall(outcome.total, self.task.limit, self.must_stay())

    def _mend(self) -> None:
        """Let go of thoughts whose answer is gone, and keep what single APIs want beside calls."""
        for group in self.groups:
            if group.kept and not group.must and len(group.items) > 1:
                said = [item for item in group.items if item.kind != "thinking"]
                if said and len(said) < len(group.items):
                    group.kept = any(item.shown_tokens for item in said)
        api = APIS[self.task.conversation.api]
        if api.calls_after_user:
            self._bridge()
        elif api.calls_keep_thoughts:
            for item in last_thoughts(self.groups, self.task.conversation.messages):
                item.must, item.given = True, item.tokens
                self.forms.show(item)

    def _bridge(self) -> None:
        """Keep a sign of what the user said where the API wants it before calls; those not needed any more go."""
        before = self._bridges
        for group in before:
            group.kept = False
        self._bridges = bridged(self.groups, self.task.conversation.messages, self.task.frozen)
        for group in self._bridges:
            if not any(group is known for known in before):
                for item in group.items:
                    item.given = 0
                    self.forms.show(item)

    def _step_down(self, over: int) -> bool:
        """Free at least `over` tokens: from rule 4's content, the least valuable first, then from the summary's lines,
        then from the newest steps and the user's words. False if nothing can go.
        """
        bridges = set(map(id, self._bridges))
        shared = sorted(self.rest, key=lambda candidate: (candidate.weight, candidate.group.members[0]))
        loose = [each.group for each in shared if not each.was_kept and id(each.group) not in bridges]
        freed = self._free(loose, over)
        if freed < over:
            freed += self.summary.shorten(over - freed)
        if freed < over:
            known = {*map(id, loose), *bridges}
            kept = [group for group in self.groups if group.members[0] != SYSTEM and id(group) not in known]
            freed += self._free(sorted(kept, key=self._last_to_go), over - freed)
        return freed > 0

    def _last_to_go(self, group: Group) -> tuple[bool, bool, int]:
        """Where a group stands when all else is gone: the user's words after the rest, and the first request last."""
        asked = asks(self.task.conversation.messages[group.members[0]])
        return asked, group.must, -group.members[0] if asked else group.members[0]

    def _free(self, groups: Sequence[Group], over: int) -> int:
        """Shorten groups in this order until `over` tokens are free, then let whole ones go; return what that freed."""
        freed = 0
        for group in groups:
            if freed < over and group.kept:
                for item in sorted(group.items, key=lambda item: item.kind == "call"):
                    if freed < over and not item.must and item.shown_tokens > self.forms.bottom(item):
                        short = item.kind == "text" and item.tokens <= WHOLE  # a mark would take as much
                        freed += self.forms.shrink(item, item.shown_tokens if short else over - freed)
                if not group.must and not any(item.shown_tokens for item in group.items):
                    group.kept = False
                    freed += group.frame
        for group in groups:
            if freed < over and group.kept and not group.must:
                group.kept = False
                freed += group.frame + sum(item.shown_tokens for item in group.items)
        return freed

    def _total(self) -> int:
        kept = [group for group in self.groups if group.kept]
        frames = sum([group.frame for group in kept])
        shown = sum([item.shown_tokens for group in kept for item in group.items])
        return self.task.size(self.head + frames + shown + self.summary.tokens)

    def _outcome(self) -> Outcome:
        conversation = self.task.conversation
        shown = {
            index: rebuilt(conversation.api, self._message(index), items) for index, items in self._by_message().items()
        }
        messages: list[Message] = []
        places: list[int] = []
        archived = [member for group in self.groups if not group.kept for member in group.members]
        archived_messages = (
            ArchivedMessages.of([conversation.messages[index] for index in archived]) if archived else None
        )
        kept = sorted(shown.keys() - {SYSTEM})
        before = self._summary_before(kept, archived) if archived else None
        for index in kept:
            speaks = not self.summary.silent or conversation.messages[index].role == "assistant"
            if index == before and archived_messages is not None and speaks:
                messages.append(self.summary.message(len(archived), archived_messages.handle))
                places.append(-1)
            messages.append(shown[index])
            places.append(index)
        new = replace(conversation, messages=tuple(messages), system=shown.get(SYSTEM, conversation.system))
        total = self.task.size(self.counter.total(new))
        return Outcome(
            new,
            total,
            self.groups,
            self.forms.archive,
            archived_messages,
            archived,
            planned=conversation,
            places=places,
        )

    def _summary_before(self, kept: Sequence[int], archived: Sequence[int]) -> int | None:
        """Before which kept message the summary stands: where the first message was removed, so that what was sent
        before it stays as it was; first of all where an answer would speak first.
        """
        messages, api = self.task.conversation.messages, self.task.conversation.api
        told = [
            n for n in kept if n >= self.task.frozen and messages[n].role != "system" and self.task.layers.get(n) != 1
        ]
        if not told or self.summary.silent or APIS[api].calls_after_user or messages[told[0]].role != "user":
            return told[0] if told else None
        return next((index for index in told if index > archived[0]), told[0])

    def _by_message(self) -> dict[int, list[Item]]:
        found: dict[int, list[Item]] = {}
        for group in self.groups:
            if group.kept:
                for member in group.members:
                    found.setdefault(member, [])
                for item in group.items:
                    found[item.message].append(item)
        return found

    def _original(self, item: Item) -> str:
        """What an item without a text of its own is, as JSON: an image, a signed thought."""
        message = self._message(item.message)
        return encode(leaf(message.value, message.parts[item.part].at)).decode("utf-8", "surrogatepass")

    def _message(self, index: int) -> Message:
        conversation = self.task.conversation
        if index == SYSTEM:
            assert conversation.system is not None
            return conversation.system
        return conversation.messages[index]

    def must_stay(self) -> list[tuple[str, int]]:
        """What cannot go, with its tokens and those of its frame, largest first."""
        found = [("tools and framing", self.head)]
        for group in self.groups:
            for member in group.members if group.must else ():
                if member == SYSTEM:
                    name, frame = "system", 0
                else:
                    message = self._message(member)
                    pinned = member in self.task.held and member not in self.task.layers  # and no attached context
                    name = f"{'pinned ' * pinned}{message.role} {self.task.name(member)}"
                    frame = self.counter.message(message) - sum(self.counter.parts(message))
                shown = sum(item.shown_tokens for item in group.items if item.message == member)
                found.append((name, shown + frame))
        return sorted(found, key=lambda entry: -entry[1])


def _is_step(group: Group) -> bool:
    return any(item.kind in ("call", "result", "media") for item in group.items)
