"""The 40-turn tool chat at 20,000 tokens: is it held, what does it cost with a prompt cache, what is still there?"""

from __future__ import annotations

import json

from memory_parts import chat as toolchat
from peer import PeerProblem, Worker

from versus.requests import Chat, answerable, shared, size, wrong
from versus.ways import LONG_FITS, WHO, Field, Row, Way, each


def table(field: Field, seed: int = 7) -> list[Row]:
    """One request a turn; tokens in the common prefix with the request before cost a tenth."""
    chat = toolchat.tool_chat(seed)
    lengths = [length for length in chat.requests if "tool_calls" not in chat.messages[length]]
    sent = [chat.messages[:length] for length in lengths]
    rows = each(field, LONG_FITS, lambda way, worker: _played(way, worker, chat, sent))
    return [*rows, {WHO: "sending everything", **_row(chat, sent, 0, None), "newest message lost": 0}]


def _played(way: Way, worker: Worker, chat: toolchat.Chat, sent: list[Chat]) -> Row:
    worker.open(way.how)
    requests: list[Chat] = []
    refused = lost = 0
    for messages in sent:
        try:
            requests.append(worker.fit(messages, toolchat.BUDGET).messages)
        except PeerProblem:
            refused += 1
            continue
        lost += not answerable(messages, requests[-1])
    row = _row(chat, requests, refused, worker.held(list(chat.codes)))
    return {**row, "newest message lost": lost}


def _row(chat: toolchat.Chat, requests: list[Chat], refused: int, held: list[bool] | None) -> Row:
    total = cached = 0
    before: Chat = []
    for request in requests:
        whole = size(request)
        same = shared(before, request)
        total += whole
        cached += size(request[:same]) if same else 0
        before = request
    shown = json.dumps(before, ensure_ascii=False)
    present = [code in shown for code in chat.codes]
    back = [there or again for there, again in zip(present, held or present, strict=True)]
    return {
        "turns over": sum(size(request) > toolchat.BUDGET for request in requests),
        "invalid": sum(bool(wrong(request)) for request in requests),
        "refused": refused,
        "prefix reuse": cached / max(1, total),
        "cost units": round(cached * toolchat.CACHED + total - cached),
        f"codes shown, of {len(present)}": sum(present),
        "shown or retrievable": sum(back),
    }
