"""Who takes part: every way of Brim and of the other libraries to bring a chat into a budget."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import environments
from peer import PeerProblem, Worker
from summary import TUNED, UNTOUCHED

Row = dict[str, Any]
WHO = "who"


@dataclass(frozen=True)
class Way:
    """A library's name in bench/peers/, the way of its worker that is meant, and what tables call it."""

    peer: str
    how: str
    name: str


FITS = (
    Way("brim", "session", "Brim session"),
    Way("brim", "fit", "Brim fit"),
    Way("langchain", "trim_messages", "LangChain trim_messages"),
    Way("langchain", "trim_messages, parts", "LangChain trim_messages, parts"),
    Way("langchain", "ClearToolUsesEdit", "LangChain ClearToolUsesEdit"),
    Way("langchain", "SummarizationMiddleware", "LangChain SummarizationMiddleware"),
    Way("litellm", "trim_messages", "LiteLLM trim_messages"),
    Way("litellm", "compress", "LiteLLM compress"),
    Way("llamaindex", "Memory", "LlamaIndex Memory"),
    Way("llamaindex", "ChatMemoryBuffer", "LlamaIndex ChatMemoryBuffer"),
    Way("headroom", "compress", "headroom compress"),
    Way("headroom", "densify", "headroom densify"),
    Way("pydantic_ai", "keep recent", "pydantic-ai, keep recent"),
    Way("pydantic_ai", "summarise old", "pydantic-ai, summarise old"),
    Way("pydantic_harness", "sliding window", "pydantic-ai-harness, sliding window"),
    Way("pydantic_harness", "tiered", "pydantic-ai-harness, tiered"),
    Way("llmtrim", "agent", "llmtrim, agent"),
    Way("llmtrim", "aggressive", "llmtrim, aggressive"),
)
# This one counts the whole history again for each message that it drops: long chats take it minutes.
SLOW = ("ChatMemoryBuffer",)
LONG_FITS = tuple(way for way in FITS if way.how not in SLOW)
# For chats without tools: the rest would give what others of the same library give, or everything.
PLAIN_FITS = tuple(way for way in LONG_FITS if way.how not in ("ClearToolUsesEdit", "densify", "trim_messages, parts"))
COUNTS = (
    Way("brim", "count", "Brim count"),
    Way("tiktoken", "usual formula", "tiktoken and the usual formula"),
    Way("langchain", "ChatOpenAI", "LangChain ChatOpenAI"),
    Way("litellm", "token_counter", "LiteLLM token_counter"),
)
CLAUDE = (
    Way("brim", "count", "Brim count"),
    Way("litellm", "token_counter", "LiteLLM token_counter"),
    Way("tiktoken", "text", "tiktoken o200k"),
)
TEXTS = (
    Way("brim", "text", "Brim count"),
    Way("tiktoken", "text", "tiktoken encode"),
    Way("litellm", "text", "LiteLLM token_counter"),
)
PACKS = (
    Way("brim", "lossless", "Brim compact"),
    Way("toon", "encode", "TOON encode"),
    Way("headroom", "lossless", "headroom crusher, lossless"),
    Way("headroom", "default", "headroom crusher, default"),
)
CUTS = (
    Way("brim", "compact", "Brim compact"),
    Way("langchain", "trim_messages, parts", "LangChain trim_messages, parts"),
    Way("litellm", "trim_messages", "LiteLLM trim_messages"),
    Way("headroom", "compress", "headroom compress"),
    Way("llmtrim", "aggressive", "llmtrim, aggressive"),
)


@dataclass
class Field:
    """The workers of all that take part, started when they are first asked and ended together."""

    envs: Path
    peers: bool = True
    tell: Callable[[str], None] = print
    workers: dict[str, Worker] = field(default_factory=dict)
    noted: dict[str, str] = field(default_factory=dict)  # versions of what takes part without a worker
    _made: dict[str, environments.Environment] = field(default_factory=dict)
    _stack: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Field:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def worker(self, name: str) -> Worker:
        if name not in self.workers:
            environment = environments.ours() if name == "brim" else self.environment(name)
            vocabularies = None if name == "brim" else environments.vocabularies([self.environment("litellm")])
            more = {"TIKTOKEN_CACHE_DIR": str(vocabularies)} if vocabularies else {}
            self.workers[name] = self._stack.enter_context(Worker(environment, more))
        return self.workers[name]

    def entered(self, ways: tuple[Way, ...]) -> Iterator[tuple[Way, Worker]]:
        """Each way with its worker; the others only where they were asked for."""
        for way in ways:
            if way.peer == "brim" or self.peers:
                yield way, self.worker(way.peer)

    def versions(self) -> dict[str, str]:
        found = dict(self.noted)
        for name, worker in self.workers.items():
            found |= worker.versions or {name: worker.environment.problem or "not asked"}
        return found

    def environment(self, name: str) -> environments.Environment:
        """That of another library, made when it is first asked for."""
        if name not in self._made:
            self._made[name] = made = environments.make(name, self.envs)
            if made.problem:
                self.tell(f"{name}: {made.problem}")
        return self._made[name]


def each(field: Field, ways: tuple[Way, ...], measure: Callable[[Way, Worker], Row]) -> list[Row]:
    """A row a way; where a library is missing or fails, the row says why."""
    rows: list[Row] = []
    for way, worker in field.entered(ways):
        since = time.perf_counter()
        try:
            rows.append({WHO: way.name, **measure(way, worker)})
        except PeerProblem as problem:
            rows.append({WHO: way.name, "problem": str(problem)})
        field.tell(f"    {way.name}: {time.perf_counter() - since:.0f} s")
    return rows


def in_halves(
    cases: Sequence[Any],
    measure: Callable[[Sequence[Any]], Row],
    pooled: tuple[str, ...] = ("over",),
    tuned: int = 0,
) -> Row:
    """A row whose shares stand there twice: of the half that rules may be tuned on, and of the other.

    `tuned` is the number of the first case of the former. What is counted is added up; what is in `pooled` is the mean.
    Example: {"logs": 6, "kept": 0.9}, {"logs": 6, "kept": 0.8}
    -> {"logs": 12, "kept, tuned": 0.9, "kept, untouched": 0.8}
    """
    halves = {
        half: measure(cases[start::2]) for half, start in ((TUNED, tuned), (UNTOUCHED, 1 - tuned)) if cases[start::2]
    }
    row: Row = {}
    for key, value in next(iter(halves.values())).items():
        if isinstance(value, int):
            row[key] = sum(found[key] for found in halves.values())
        elif key in pooled:
            row[key] = sum(found[key] for found in halves.values()) / len(halves)
        else:
            row |= {key + half: halves[half][key] if half in halves else "–" for half in (TUNED, UNTOUCHED)}
    return row
