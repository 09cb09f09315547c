"""How a turn brings the view of a session under its limit, by its policy or, where that fails, by sizes alone.

Under `agent` the view grows until it is compacted. The other policies plan every turn: `rolling` works on what it made
before, and its summary is a system message of the view that goes into the next one; `concise` and `layered` look at the
whole log each time, and the same log gives the same bytes. Under `layered` the tool results of a turn are compacted
when it is over, as they are saved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from brim import apis
from brim.apis.anthropic.cache_marks import MARK
from brim.conversation import Conversation, Message
from brim.fallback import plain_plan_of
from brim.models.caching import caching_of, kept_for
from brim.planning.attachments import not_in
from brim.planning.items import current
from brim.planning.plan import Plan
from brim.planning.policies import strategies
from brim.planning.policies.rolling import CONTEXT, PREFIX
from brim.planning.request import PlanRequest
from brim.sessions.compaction import compact
from brim.sessions.history import SessionHistory
from brim.sessions.prompt_cache import bare, ended, lost_marks, with_breakpoints
from brim.sessions.view import Entry, EntryKind, View, common_length
from brim.summaries.deterministic import HEADER

# A compaction for a message that asks for what is archived ends here, or at `compact_to` if that is more: what answers
# it is worth more than room for turns to come. Such messages are rare.
ASKED_TO = 0.9
# Where the provider's cache is cold, a compaction comes this far of the way from `compact_to` to `compact_at`. Cost of
# the tool chat of bench/memory_parts/chat.py with a pause after every 3rd, 5th, 8th turn, mean of three seeds, against
# no regard to pauses: .74, .89, .95 at .5, with the same mean fill (.74, .72, .73); at .75 the first stays 1.
COLD = 0.5


def request_of(history: SessionHistory, conversation: Conversation) -> PlanRequest:
    """What a turn has to plan."""
    settings, state, running = history.settings, history.state, history.running_summary
    limit, own_limit = history.limits(conversation)
    return PlanRequest(
        conversation=conversation,
        counter=history.counter,
        model=settings.model,
        policy=settings.policy,
        limit=limit,
        own_limit=own_limit,
        recall=settings.recall == "tool",
        summarize=running.answering(history.log) if running.summarizer else None,
        context=state.context,
        carried=tuple(not_in(state.carried, state.context)) if state.carried else (),
        pins=state.pins,
    ).by_estimate()


def as_sent(conversation: Conversation, view: View) -> Conversation:
    """The conversation with the messages of its view."""
    return replace(conversation, messages=view.messages())


def planned(history: SessionHistory, work: PlanRequest) -> Plan:
    """The view as it is while it fits, else brought under the limit. Raises BudgetTooSmall, SummaryWanted."""
    policy, view, state = work.policy, history.view, history.state
    if not policy.appends:
        outcome = _plan_by_policy(work, history.log, view, history.saved)
        compacted = outcome.conversation.messages != view.messages() or bool(outcome.archived)
        history.note(tight=state.tight or not view.untouched(), compactions=state.compactions + compacted)
        return replace(outcome, conversation=replace(outcome.conversation, messages=view.messages()))
    size = work.size(work.counter.head(work.conversation) + view.tokens)
    if not state.misses and size <= policy.compact_at * work.limit:
        cold_at = COLD * policy.compact_at + (1 - COLD) * policy.compact_to
        if size <= cold_at * work.limit or not _is_cold(history, work):
            return Plan(as_sent(work.conversation, view), size)
    to = ASKED_TO if _asks_for_archived(history) else policy.compact_to
    summary = history.running_summary.entries(history.between)
    outcome = compact(work, history.log, view, summary, history.context_of, to)
    history.running_summary.give_up(history.archived_messages)
    history.note(tight=True, misses=False, compactions=state.compactions + 1)
    if apis.APIS[history.settings.api].marks_cache:
        view.entries = [bare(entry) for entry in view.entries]
    _recall_after(history, work)
    sent = replace(outcome.conversation, messages=view.messages())
    return replace(outcome, conversation=sent, total=work.total(sent))


def _is_cold(history: SessionHistory, work: PlanRequest) -> bool:
    """Whether what was sent last is no longer in the provider's cache: then a compaction costs nothing."""
    caching, given, clock = caching_of(work.model), work.conversation, history.settings.clock
    idle = clock() - history.state.asked_at if clock is not None and history.state.asked_at else 0.0
    if idle <= caching.lasts:
        return False
    asked = [given.tools or b"", given.system.raw if given.system else b""]
    asked += [message.raw for message in history.log if MARK in message.raw]
    asked += [raw for name, raw in given.fields.items() if name == "prompt_cache_retention"]
    return idle > kept_for(caching, *asked)


def _asks_for_archived(history: SessionHistory) -> bool:
    """Whether a chat ends with a message that asks for what is archived, or what a first compaction archives."""
    last, automatic = history.log[-1], history.settings.recall == "auto"
    if history.state.tight or not automatic or last.role != "user" or last.answers or not history.is_chat():
        return history.state.misses
    room = left = int(history.settings.policy.compact_to * history.free)
    shown: set[int] = set()
    for entry in reversed(history.view.entries):
        left -= entry.tokens
        if left < 0:
            break
        shown.update(range(entry.start, entry.end))
    return history.recollection.misses(last, len(history.log) - 1, room, shown)


def _recall_after(history: SessionHistory, work: PlanRequest) -> None:
    """Spend some of what a compaction left free on what the message that caused it is about."""
    if history.settings.recall != "auto":
        return
    view = history.view
    spare = work.limit - work.size(work.counter.head(work.conversation) + view.tokens)
    room = min(spare // 2 - 8, int(work.policy.recall * work.limit))  # the rest is for what comes
    text = history.recollection.after(view, room, work.counter.text)
    if text:
        *before, last = view.entries
        recalled = replace(history.between(text, "recall"), start=last.start, end=last.start)
        view.replace(len(before), [recalled, last], min(view.settled, len(before)))


def marked(history: SessionHistory, work: PlanRequest, sent: Conversation) -> Conversation:
    """What is sent, with cache breakpoints where the API has them and the client's are gone."""
    settings, view = history.settings, history.view
    if not (settings.breakpoints and history.state.tight and apis.APIS[settings.api].marks_cache):
        return sent
    places = {view.settled - 1, ended(history.state.end, sent.messages), len(sent.messages) - 1}
    return with_breakpoints(work, sent, sorted(places), lost_marks(view, history.log))


def begin_plainly(history: SessionHistory, messages: Sequence[Message]) -> None:
    """Bring the log to the messages of a turn that failed: nothing is ranked, compacted or recalled."""
    common = common_length(history.log, messages)
    if common < len(history.log):
        history.cut_context(common)
        history.running_summary.cut(common)
        history.writer.cut(common)
    history.log[:] = messages
    history.derive()
    for message in history.log[common:]:
        history.writer.add(message)
    if history.state.context and history.settings.policy.appends and common < len(history.log):
        history.place_context(len(history.log) - 1)


def planned_plainly(history: SessionHistory, work: PlanRequest) -> Plan:
    """The whole log by size alone. Raises BudgetTooSmall, and shows the log as it is."""
    entries, view, size = history.entries(), history.view, work.counter.message
    history.note(tight=True)
    view.replace(0, entries, 0)
    outcome = plain_plan_of(replace(work, conversation=as_sent(work.conversation, view)))
    gone = [entries[place] for place in outcome.archived]
    found: list[Entry] = []
    for message, place in zip(outcome.conversation.messages, outcome.places, strict=True):
        if place >= 0:
            entry = entries[place]
            altered = message is not entry.message and entry.end > entry.start
            kind: EntryKind = "compacted" if altered else entry.kind
            found.append(replace(entry, message=message, tokens=size(message), kind=kind))
        elif gone:  # the first note covers everything archived
            found.append(Entry(gone[0].start, gone[-1].end, message, size(message), "summary"))
            gone = []
        else:
            at = found[-1].end if found else 0
            found.append(Entry(at, at, message, size(message), "summary"))
    view.replace(0, found, 0)
    history.note(compactions=history.state.compactions + 1)
    return outcome


def _plan_by_policy(work: PlanRequest, log: list[Message], view: View, saved: Callable[[Message], Message]) -> Plan:
    """Plan this turn and bring the view to it; BudgetTooSmall leaves the view as it was.

    `saved` returns the form in which results of finished turns are kept.
    """
    incremental = not work.policy.plans_log
    # What was shown beside an earlier message was for that message only; it is neither kept nor summarised.
    said = [entry for entry in view.entries if entry.kind not in ("context", "recall")]
    source = said if incremental else _of_log(work, log, saved)
    shown = replace(work.conversation, messages=tuple([entry.message for entry in source]))
    outcome = strategies.run(replace(work, conversation=shown))
    if outcome.conversation is shown and shown.messages == view.messages():
        return outcome
    view.replace(0, _entries(work, outcome, source), 0)
    return outcome


def _of_log(work: PlanRequest, log: list[Message], saved: Callable[[Message], Message]) -> list[Entry]:
    size = work.counter.message
    now = current(tuple(log)) if work.policy.compacts_results else 0
    found: list[Entry] = []
    for number, message in enumerate(log):
        shown = saved(message) if number < now and (message.answers or message.role == "user") else message
        kind: EntryKind = "as is" if shown is message else "compacted"
        found.append(Entry(number, number + 1, shown, size(shown), kind))
    return found


def _entries(work: PlanRequest, outcome: Plan, source: list[Entry]) -> list[Entry]:
    """The planned messages as entries: those from the source keep their entries, the policy's own become new ones."""
    planned = outcome.draft.conversation if outcome.draft is not None else outcome.conversation
    known = _origins(planned.messages, source)
    places = outcome.places or list(range(len(outcome.conversation.messages)))
    found: list[Entry] = []
    for message, place in zip(outcome.conversation.messages, places, strict=True):
        origin = planned.messages[place] if place >= 0 else message
        entry, size = known.get(id(origin)), work.counter.message(message)
        if entry is not None:
            altered = message is not entry.message and entry.end > entry.start
            kind: EntryKind = "compacted" if altered else entry.kind
            found.append(replace(entry, message=message, tokens=size, kind=kind))
            continue
        summary = place < 0 or message.text.startswith(PREFIX) or work.policy.plans_log
        at = found[-1].end if found else 0
        found.append(Entry(at, at, message, size, "summary" if summary else "context"))
    return _spanned(found)


def _origins(planned: tuple[Message, ...], source: list[Entry]) -> dict[int, Entry]:
    """The entries that planned messages represent; those that a policy shortened keep their order before the last."""
    known = {id(entry.message): entry for entry in source}
    last = known.get(id(planned[-1])) if planned else None
    before = [entry for entry in source if entry.message.role != "system" and last and entry.start <= last.start]
    for message, entry in zip(reversed(planned), reversed(before), strict=False):
        same = (message.role, message.calls, message.answers) == _kind(entry.message)
        if same and not message.text.startswith((PREFIX, CONTEXT[:20], HEADER)):
            known.setdefault(id(message), entry)
    return known


def _kind(message: Message) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    return message.role, message.calls, message.answers


def _spanned(entries: list[Entry]) -> list[Entry]:
    """Set which messages summaries represent: those of the log between their neighbours."""
    found: list[Entry] = []
    following = 0
    for entry in reversed(entries):
        if entry.kind == "summary" and following > entry.start:
            entry = replace(entry, end=following)
        following = entry.start
        found.append(entry)
    return found[::-1]
