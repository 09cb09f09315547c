"""Memory of a process that fits one long chat: what it takes when loaded, and at its peak."""

from __future__ import annotations

from peer import PeerProblem, Worker

from versus.requests import size
from versus.speed import long_chat
from versus.ways import PLAIN_FITS, Field, Row, Way, each

MESSAGES = 1_000


def table(field: Field, messages: int) -> list[Row]:
    """A process of its own for each way, with the library and its tokenizer loaded by a small chat before."""
    chat = long_chat(messages)
    budget = size(chat) // 10

    def measure(way: Way, worker: Worker) -> Row:
        worker.close()
        worker.open(way.how)
        worker.fit(long_chat(30), 400)
        loaded = worker.peak_memory()
        worker.open(way.how)
        worker.fit(chat, budget)
        peak = worker.peak_memory()
        if loaded is None or peak is None:
            raise PeerProblem("this system does not tell the memory of a process")
        return {"loaded, MB": round(loaded), f"peak with {messages:,} messages, MB": round(peak)}

    return each(field, PLAIN_FITS, measure)
