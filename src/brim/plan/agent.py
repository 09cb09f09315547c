"""Policy `agent`, the default; and the last step of every other policy: the planner that holds the ceiling."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from brim.conversation import Conversation, Message
from brim.errors import BudgetTooSmall
from brim.ladders import handle_of
from brim.plan.context import attached
from brim.plan.planner import Outcome, Planner, Task
from brim.plan.ranking import relevance
from brim.plan.work import Work, query_of
from brim.summarize import deterministic


def plan(work: Work) -> Outcome:
    """Fit the request with its context."""
    conversation, layers = attached(work.conversation, work.context, work.carried, work.policy.preview_chars)
    return enforce(work, conversation, layers)


def enforce(work: Work, conversation: Conversation, layers: dict[int, int] | None = None, frozen: int = 0) -> Outcome:
    """The one enforcement point: a conversation that fits is left alone, any other is planned into its limit."""
    whole = work.total(conversation)
    if whole <= work.limit:
        return Outcome(conversation, whole)
    if work.limit <= 0:
        raise BudgetTooSmall(whole, work.limit)
    query = query_of(conversation)
    task = Task(
        conversation=conversation,
        counter=work.counter,
        limit=work.limit,
        recent=work.policy.recent,
        query=query,
        relevance=lambda room: relevance(conversation, query, work.counter.message, room),
        recall=work.recall,
        layers=layers or {},
        frozen=frozen,
        notice=lambda messages, tokens: notice(messages, tokens, work.counter.text, work.recall),
        ledger=work.policy.ledger,
        size=work.size,
    )
    return Planner(task).run()


def notice(messages: Sequence[Message], tokens: int, count: Callable[[str], int], recall: bool) -> str:
    """What stands for the folded messages: that they are folded, where they are, and what they were about."""
    raws = b"\n".join(message.raw for message in messages).decode("utf-8", "surrogatepass")
    handle = handle_of(raws)
    where = f"recall {handle}" if recall else handle
    head = f"[Brim folded {len(messages):,} earlier messages to fit the context window; {where}]"
    left = tokens - count(head)
    if left < 40:
        return head
    record = deterministic.ledger(messages, left * 3)
    while record and count(record) > left:
        record = record[: int(len(record) * 0.8)].rpartition("\n")[0]
    return f"{head}\n{record}" if record else head
