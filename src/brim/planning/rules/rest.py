"""Rule 4. The rest, each in a share of what is left that goes by its value: relevance, and how recent it is.

With its share a group is kept whole, shortened in place, or a line of the summary. Then the remaining room is filled.
"""

from __future__ import annotations

from collections.abc import Sequence

from brim.content.selection import shares
from brim.conversation import Message
from brim.planning.items import Group, Item
from brim.planning.sharing import IN_PLACE, LINE, Candidate, share_out
from brim.planning.state import PlanState, is_step

# Share of the limit that rule 4 has also where a compaction's target is used up. Values of archived results kept in
# windows of a quarter of tau's runs, tuned half: .50 at .06, .63 at .1, .79 at .15, .84 at .2 (bench/meaning.py).
REST_SHARE = 0.2
# A plan that leaves less than this share of the limit is full.
SLACK = 0.01
# Attempts to share what is left, and to use what is left over.
SHARINGS, FILLS = 3, 24
# Fewer tokens than this show nothing more.
LEAST = 5

# What any older step counts beside how recent (0 to 1) and how relevant (0 to 2) it is: age and the current message say
# little about which values later calls need. Values kept by a fit / session of tau at 25%, tuned half: .861 / .821 at
# 1, .861 / .834 at 2, .868 / .841 at 4, where the question counts for less (bench/meaning.py).
STEP = 2.0
# Weight of an answer relative to results: it shortens better, and repeats them. Values kept by a fit / session of tau
# at 25%, tuned half: .861 / .834 so, .861 / .821 at .5, .781 / .709 at 1 (bench/meaning.py).
ANSWER = 0.25
# In a chat, recency only breaks ties in relevance.
TIE = 0.01


def share_rest(state: PlanState) -> None:
    """Give every remaining group and pasted block its share of what is left."""
    value = weights(state.groups, state.conversation.messages, state.relevance, state.chat)
    state.rest = [
        Candidate.of(group, value[number], state.forms, state.chat)
        for number, group in enumerate(state.groups)
        if group.items and (not group.kept or _open_items(group))
    ]
    total = state.total() + state.summary.frame
    least = int(REST_SHARE * state.limit)
    left = max(state.target - total, min(least, state.limit - total))
    most = total + left
    before = [(item, item.state) for candidate in state.rest for item in candidate.group.items]
    for _ in range(SHARINGS):
        share_out(state.rest, left, min(left, state.summary.most))
        for item, shown in before:
            item.go_back(shown)
        for candidate in state.rest:
            _apply(state, candidate)
        _write_summary(state)
        # What a summary counts, notes and heads belongs to no candidate: it is known when it is written.
        over = state.total() - most
        if over <= 0 or left <= 0:
            return
        left -= over


def fill(state: PlanState) -> None:
    """Spend what is left on the most valuable shortened or archived items, then on the summary's lines.

    Short texts stay whole or not at all, unless they are all that is left to show more of.
    """
    for parts in (False, True):
        tried: set[int] = set()
        for _ in range(FILLS):
            left = _left(state)
            found = _next(state, left, tried, parts) if left else None
            if found is None:
                break
            tried.add(id(found))
            _step_up(state, found, left)
    _lengthen_lines(state)
    state.restore()


def weights(
    groups: Sequence[Group], messages: Sequence[Message], relevance: Sequence[float] | None, chat: bool
) -> list[float]:
    """A weight for each group. `relevance` has a number for each message, from 0 to 2, or is None without a question.

    In a chat relevance decides. Among tool calls what is asked says little about what a later call needs, so all
    that was found counts, the newer the more.
    """
    found: list[float] = []
    newer = sum(1 for group in groups if group.items)
    for group in groups:
        if not group.items:
            found.append(0.0)
            continue
        newer -= 1
        members = [member for member in group.members if member >= 0]
        about = max([relevance[member] for member in members], default=0.0) if relevance else 0.0
        recent = (1 + newer) ** -0.5
        if chat:
            found.append(about + TIE * recent)
        else:
            found.append((STEP + recent + about) * (ANSWER if _answers(group, messages) else 1.0))
    return found


def _answers(group: Group, messages: Sequence[Message]) -> bool:
    """Whether a group is what the model said, without a call."""
    first = group.members[0]
    return first >= 0 and messages[first].role == "assistant" and not is_step(group)


def _left(state: PlanState) -> int:
    """The room left to fill; 0 if the plan is full."""
    left = state.target - state.total()
    return left if left >= max(LEAST, int(SLACK * state.limit)) else 0


def _write_summary(state: PlanState) -> None:
    state.summary.make([candidate for candidate in state.rest if not candidate.group.kept], state.groups)


def _open_items(group: Group) -> list[Item]:
    """What of a kept group says less than it could."""
    lossy = [item for item in group.items if item.shown is not None and item.fidelity != "lossless"]
    return [item for item in lossy if not item.fixed and item.kind != "thinking"]


def _apply(state: PlanState, candidate: Candidate) -> None:
    group, forms = candidate.group, state.forms
    group.kept = candidate.form not in ("line", "archived")
    if not group.kept:
        return
    if candidate.form == "full":
        state.keep_whole(group)
        return
    parts = [item for item in group.items if item.kind in ("text", "block", "result", "call") and not item.fixed]
    floors = {id(item): max(forms.floor(item), item.shown_tokens if item.given else 0) for item in group.items}
    extra = candidate.tokens - (0 if candidate.was_kept else sum(floors.values()) + group.frame)
    more = shares([item.tokens - floors[id(item)] for item in parts], extra)
    for item in group.items:
        item.given = floors[id(item)]
    for item, tokens in zip(parts, more, strict=True):
        item.given += tokens
    for item in group.items:
        forms.show(item)


def _next(state: PlanState, left: int, tried: set[int], parts: bool) -> Candidate | None:
    """The most valuable candidate that a few more tokens would improve."""
    best: Candidate | None = None
    lines = state.summary.lines()
    for candidate in state.rest:
        if id(candidate) in tried or (best is not None and candidate.weight <= best.weight):
            continue
        room = left + lines.get(id(candidate), 0)
        if candidate.group.kept:
            better = bool(_open_items(candidate.group))
        else:
            cut = not candidate.whole or (parts and _is_text(candidate))
            better = candidate.size <= room or (cut and IN_PLACE * candidate.overhead + LINE <= room)
        best = candidate if better else best
    return best


def _is_text(candidate: Candidate) -> bool:
    """Whether a candidate is one text that may be shortened; in a chat relevance has decided on it."""
    items = candidate.group.items
    return not candidate.ranked and len(items) == 1 and items[0].kind == "text" and not items[0].fixed


def _step_up(state: PlanState, candidate: Candidate, left: int) -> None:
    group = candidate.group
    if not group.kept:
        left += state.summary.lines().get(id(candidate), 0)
        if group.tokens <= left:
            state.keep_whole(group)
        else:
            candidate.form, candidate.tokens = "short", left
            _apply(state, candidate)
        _write_summary(state)
        return
    for item in sorted(_open_items(group), key=lambda item: item.shown_tokens - item.tokens):
        if left > 0:
            before = item.shown_tokens
            state.forms.stretch(item, left)
            left -= item.shown_tokens - before


def _lengthen_lines(state: PlanState) -> None:
    """Let the summary's newest lines say more in what no form above a line has use for."""
    steps = [each for each in state.rest if each.step and not each.group.kept]
    left = _left(state)
    for _ in range(FILLS):
        if left < LEAST or not steps:
            break
        newest = steps[-max(1, left // LINE) :]
        before = [(each, each.form, each.tokens) for each in newest]
        for each in newest:
            each.form, each.tokens = "line", min(each.size, (each.tokens or LINE) + left // len(newest))
        _write_summary(state)
        if state.total() <= state.target:
            left = min(left - 1, _left(state))
            continue
        for each, form, tokens in before:
            each.form, each.tokens = form, tokens
        _write_summary(state)
        left //= 2
