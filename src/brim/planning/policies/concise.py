"""Policy `concise`: a history of so many characters; when it is longer, the last two user turns stay verbatim and
one structured summary stands for the rest. Tool calls with their results count as history wherever they stand: where
the turns that stay are still too long, their oldest complete steps go into the summary too. Instructions are a message
of their own, and the first one.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from brim import apis
from brim.content import Compactor, handle_of, plain_text
from brim.content.detect.blocks import blocks
from brim.content.selection import shares
from brim.content.types import Room
from brim.conversation import Conversation, Message
from brim.planning.attachments import attached, originals
from brim.planning.draft import Draft
from brim.planning.items import current, grouped
from brim.planning.plan import Notice, Plan, kept_whole, told
from brim.planning.policies import agent
from brim.planning.policies.policy import ConcisePolicy
from brim.planning.policies.summaries import asked
from brim.planning.render import with_text
from brim.planning.reports.decisions import Decision, Form
from brim.planning.request import PlanRequest, query_of
from brim.summaries import deterministic
from brim.summaries.deterministic import HEADER

log = logging.getLogger("brim")
INSTRUCTIONS = "[SYSTEM INSTRUCTIONS]\n\n"
# Characters per token, to tell a summariser its size.
CHARS = 4
# The least to keep of a pasted block: its mark.
MARK = 48


def plan(request: PlanRequest, policy: ConcisePolicy) -> Plan:
    draft = Draft(request.conversation) if policy.system_role else without_system_role(request.conversation)
    leading = [index for index in range(len(draft.messages)) if _instructs(draft, index)]
    at = [index for index in range(len(draft.messages)) if not _instructs(draft, index)]
    chat = [draft.messages[index] for index in at]
    now = max(0, current(tuple(chat)))
    cut, steps, summary, warnings = shortened(request, policy, chat, now)
    gone = [*range(cut), *steps]
    if gone:
        archived = draft.given(at[number] for number in gone)
        draft = draft.ordered([*leading, *(at[number] for number in range(len(chat)) if number not in set(gone))])
        for message in summary:
            draft = draft.inserted(len(leading), message, "summary")
    told_short: list[Decision] = []
    originals_of: dict[str, str] = {}
    draft = _pastes_shortened(request, policy, draft, told_short, originals_of, warnings)
    draft = attached(draft, request.context, request.carried, policy.preview_chars)
    made = agent.enforce(request, draft).after(told_short, originals_of)
    archive, steps_told, before = originals(request.carried), list(made.steps), list[int]()
    if gone:
        log.info("history truncated: %d messages archived, %d kept", len(gone), len(chat) - len(gone) - 1)
        form: Form = "summary" if summary else "dropped"
        reason = "before the last user turns; in the summary" if summary else "older than the last messages"
        kept, older = kept_whole([chat[number] for number in gone]), "an older step of a turn that is too long"
        steps_told += told(request, archived[:cut], form, reason, kept)
        steps_told += told(request, archived[cut:], form, older, kept)
        archive, before = archive | kept, archived
    return replace(
        made,
        steps=steps_told,
        archive={**archive, **made.archive},
        archived=[*before, *draft.given(made.archived)],
        warnings=(*warnings, *made.warnings),
    )


def _pastes_shortened(
    request: PlanRequest,
    policy: ConcisePolicy,
    draft: Draft,
    steps: list[Decision],
    archive: dict[str, str],
    warnings: list[Notice],
) -> Draft:
    """Where the turns that stay are longer than the history may be: what is pasted into them is shortened, and told.

    The users' own words stay.
    """
    now = current(draft.messages)
    places = [n for n in range(now) if not _instructs(draft, n)]
    size = characters([draft.messages[n] for n in places])[0]
    if size <= policy.history_chars:
        return draft
    found = [
        (n, number, span)
        for n in places
        for number, part in enumerate(draft.messages[n].parts)
        if part.kind == "text" and not part.fixed
        for span in blocks(part.text)
    ]
    lengths = [span.end - span.start for _, _, span in found]
    given = shares(lengths, max(0, policy.history_chars - (size - sum(lengths))))
    new: dict[int, dict[int, str]] = {}
    for (n, number, span), length, most in reversed(list(zip(found, lengths, given, strict=True))):
        if most >= length:
            continue
        text = new.setdefault(n, {}).get(number, draft.messages[n].parts[number].text)
        inside = text[span.start : span.end]
        handle = handle_of(inside)
        archive[handle] = inside
        short = Compactor(inside, len).at(
            Room(max(MARK, most), len, handle, request.recall, query_of(request.conversation))
        )
        new[n][number] = text[: span.start] + short.text.strip("\n") + "\n" + text[span.end :]
        reason = "pasted into a turn that is longer than the history may be"
        before, after = request.counter.text(inside), request.counter.text(short.text)
        role = draft.messages[n].role
        steps.append(Decision(draft.name(n), role, 4, "block", before, after, "outline", reason, handle))
    draft = draft.showing_at({n: with_text(draft.conversation.api, draft.messages[n], t) for n, t in new.items()})
    size = characters([draft.messages[n] for n in places])[0]
    if size > policy.history_chars:
        text = f"the last {policy.recent_user_turns} turns stay verbatim: with them the history has {size:,} characters"
        numbers = {"characters": size, "limit": policy.history_chars}
        warnings.append(Notice(f"{text}, more than the {policy.history_chars:,} that it may have", numbers))
    return draft


def _instructs(draft: Draft, index: int) -> bool:
    """Whether a message is instructions, by its role or because Brim made it from one with that role."""
    return draft.messages[index].role == "system" or draft.layers.get(index) == 1


def shortened(
    request: PlanRequest, policy: ConcisePolicy, chat: Sequence[Message], now: int
) -> tuple[int, list[int], list[Message], list[Notice]]:
    """How many messages at the start are archived, which steps after them, what stands for them, and what to know.

    If characters can't be counted the last ten messages stay; if nothing can be summarised, the last four.
    """
    history = chat[:now]
    size, counted = characters(history)
    if size + characters(chat[now + 1 :])[0] <= policy.history_chars:
        if counted or len(history) <= policy.uncounted_messages:
            return 0, [], [], []
        kept = _last(history, policy.uncounted_messages)
        warning = f"the history cannot be counted in characters: only its last {len(kept)} messages stay"
        return len(history) - len(kept), [], [], [Notice(warning, {"messages": len(history), "kept": len(kept)})]
    asks = [number for number in range(_earlier(chat), now) if _asks(chat[number])]
    cut = asks[-policy.recent_user_turns] if len(asks) >= policy.recent_user_turns else 0
    steps = _oldest_steps(policy, chat, cut, now)
    if not cut and not steps:
        return 0, [], [], []
    text = _summary(request, policy, chat, [*range(cut), *steps])
    if text:
        return cut, steps, [apis.text_message(request.conversation.api, "user", text)], []
    numbers = {"messages": len(history), "kept": len(history)}
    if not cut:
        warning = f"{len(steps)} messages of older steps cannot be summarised, and are left out"
        return 0, steps, [], [Notice(warning, numbers | {"kept": len(history) - len(steps)})]
    kept = _last(history, policy.fallback_messages)
    warning = f"the history cannot be summarised: only its last {len(kept)} messages stay"
    cut = len(history) - len(kept)
    steps = [number for number in steps if number >= cut]
    return cut, steps, [], [Notice(warning, numbers | {"kept": len(kept)})]


def _summary(request: PlanRequest, policy: ConcisePolicy, chat: Sequence[Message], gone: Sequence[int]) -> str:
    """The summary message for what goes, written by the caller's summariser if there is one and it succeeds.

    Otherwise it is made without a model; empty if nothing can be summarised.
    """
    earlier = _earlier(chat)
    previous = chat[0].text.removeprefix(HEADER).strip() if earlier else ""
    room = policy.summary_chars - len(HEADER) - 2
    text = asked(request, [chat[number] for number in gone if number >= earlier], previous, room // CHARS)
    text = plain_text.extract(text.removeprefix(HEADER).strip(), Room(room, len)) if text else ""
    if text:
        return f"{HEADER}\n\n{text}"
    return deterministic.concise([chat[number] for number in gone], policy.summary_chars, policy.topic_chars)


def _earlier(chat: Sequence[Message]) -> int:
    """1 if the first message is the summary of an earlier fit, otherwise 0."""
    return int(bool(chat) and _asks(chat[0]) and chat[0].text.startswith(HEADER))


def _oldest_steps(policy: ConcisePolicy, chat: Sequence[Message], cut: int, now: int) -> list[int]:
    """Complete steps from `cut` on to summarise, oldest first, until the rest is short enough.

    A step goes with its calls and all their results; users' messages, answers and the newest step stay.
    """
    left = characters([*chat[cut:now], *chat[now + 1 :]])[0]
    found: list[int] = []
    for group in grouped(tuple(chat[cut:]))[:-1]:
        if left <= policy.history_chars - policy.summary_chars:
            break
        members = [cut + number for number in group]
        messages = [chat[number] for number in members]
        if _is_step(messages) or (members[0] == 0 and _earlier(chat)):  # an earlier summary is continued
            left -= characters(messages)[0]
            found += members
    return found


def _is_step(messages: Sequence[Message]) -> bool:
    """Whether these are calls with all their results, and nothing from a user."""
    calls = {call for message in messages for call in message.calls}
    answers = {answer for message in messages for answer in message.answers}
    said = any(message.role == "user" and any(part.kind != "result" for part in message.parts) for message in messages)
    return bool(calls) and calls <= answers and not said


def _asks(message: Message) -> bool:
    """Whether the user speaks in a message, rather than a tool."""
    return message.role == "user" and not message.answers


def characters(messages: Sequence[Message]) -> tuple[int, bool]:
    """The characters of a history, and whether they are complete: media and unknown blocks have none."""
    parts = [part for message in messages for part in message.parts]
    counted = not any(part.kind in ("image", "audio", "file", "opaque") for part in parts)
    return sum(len(part.text) for part in parts), counted


def _last(history: Sequence[Message], number: int) -> Sequence[Message]:
    """The last messages, starting where the user speaks."""
    start = max(0, len(history) - number)
    while start < len(history) and not _asks(history[start]):
        start += 1
    return history[start:]


def without_system_role(conversation: Conversation) -> Draft:
    """For APIs and models without a system role: instructions as a first user message, labelled as such.

    Such a message of an earlier fit stays what it is; one that says the same as the instructions is not said again.
    """
    draft, messages = Draft(conversation), conversation.messages
    ours = all(map(_asks, messages[:2])) and len(messages) > 1 and messages[0].text.startswith(INSTRUCTIONS)
    system = [index for index, message in enumerate(messages) if message.role == "system"]
    texts = [conversation.system.text] if conversation.system else []
    texts += [messages[index].text for index in system]
    if not texts:
        return replace(draft, layers={0: 1}) if ours else draft
    first = apis.text_message(conversation.api, "user", INSTRUCTIONS + "\n\n".join(texts))
    again = next((index for index, message in enumerate(messages) if message.role != "system"), None)
    if again is not None and messages[again].digest == first.digest and len(messages) - len(system) > 1:
        system.append(again)
    draft = draft.without(system).inserted(0, first, "system", 1)
    return replace(draft, conversation=replace(draft.conversation, system=None))
