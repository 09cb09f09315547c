"""A worker process that parses and fits large bodies one after the other, so that no other request waits for them.

`offload` starts it with one end of a socket, and it ends when the other end closes. It uses the same code as the
gateway, with its own sessions; if the gateway's store is a file, it opens that too.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import pickle
import signal
import socket
import sys
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from brim import incidents
from brim.deadline import OutOfTime
from brim.errors import BadBody, BrimError, BudgetTooSmall, TooDeep
from brim.gateway.fitting.fit_result import FitResult
from brim.gateway.fitting.fitter import Fitter
from brim.gateway.fitting.upstream_models import UpstreamModels
from brim.gateway.proxy.asked import peek
from brim.gateway.proxy.faults import Refused
from brim.gateway.recall import RECALLING, offered
from brim.gateway.server import bodies
from brim.gateway.server.jobs import BodyAsks, Channel, FitDone, FitJob, JobFailed, LearnJob, ReadJob, RefitJob
from brim.gateway.server.memory_trim import keep_little
from brim.models import Catalog, Model
from brim.planning.policies.policy import Policy
from brim.stores.protocol import Limits
from brim.stores.resilient import open_store

try:
    import resource
except ImportError:  # pragma: no cover, Windows
    resource = None  # type: ignore[assignment]

# Lower priority than the gateway, so that small requests go first.
NICE: Final = 10
# A body of 64 MB takes at most about 2 GB to parse and plan; a request that needs more than this is refused.
MOST_MEMORY: Final = 6 << 30
# Planning a large body stops after this, and the plain planner takes over. Counting comes on top.
FIT_SECONDS: Final = 8.0
# The gateway doesn't keep longer reports.
LONGEST_REPORT: Final = 1 << 20
# Handles to report to the gateway with a fit, newest first; reading those of 40,000 messages would take it 6 ms.
MOST_HANDLES: Final = 2_000


class ToldModels(UpstreamModels):
    """The one model that this process was told, and the windows that upstreams have stated to it."""

    told: Model | None = None

    def find(self, name: str, upstream: str, tenant: str = "") -> Model | None:
        window = self.window(name, upstream, tenant)
        if self.told is None:
            return super().find(name, upstream, tenant) if window else None
        return self.narrowed(self.told, window)


class LargeBodies:
    """Does the jobs that the gateway sends."""

    def __init__(self, path: str | None, limits: Limits) -> None:
        self._fitter = Fitter(Policy.named("agent"), Catalog(), open_store(path, limits), fit_timeout=FIT_SECONDS)
        self._fitter.models = self._only = ToldModels(Catalog(), self._fitter.learned)
        self._models: dict[Model, Model] = {}
        self._number = 0
        self._read: ReadJob | None = None
        self._content = b""
        self._last: FitResult | None = None

    def do(self, job: Any, pieces: Sequence[bytes]) -> tuple[Any, Sequence[bytes]]:
        """The answer to a job, and the body that belongs to it."""
        try:
            if isinstance(job, ReadJob):
                return self._asked(job, pieces), ()
            if isinstance(job, FitJob):
                return self._fitted_anyhow(job)
            if isinstance(job, RefitJob):
                return self._refitted(job)
            if isinstance(job, LearnJob):
                self._learn(job)
            return None, ()
        except BudgetTooSmall as problem:
            return JobFailed("budget", (problem.needed, problem.budget, problem.must_stay)), ()
        except TooDeep as problem:
            return JobFailed("refused", (400, str(problem)[:300], "nested_too_deep")), ()
        except BadBody as problem:
            return JobFailed("body", (problem.at, problem.problem)), ()
        except Refused as problem:
            return JobFailed("refused", (problem.status, problem.message, problem.code)), ()
        except BrimError as problem:
            return JobFailed("brim", (str(problem),)), ()
        except (MemoryError, RecursionError):
            return JobFailed(
                "refused", (413, "the request body takes too much memory to be read", "request_too_large")
            ), ()
        except (Exception, OutOfTime) as problem:
            return JobFailed(type(problem).__name__), ()

    def _asked(self, job: ReadJob, pieces: Sequence[bytes]) -> BodyAsks:
        self._last, self._content, self._read = None, b"", job
        raw = b"".join(pieces)
        self._content = bodies.unpack(raw, job.packing, job.limit) if job.packing else raw
        found = peek(self._content)
        return BodyAsks(found.model, found.stream is True, len(self._content))

    def _fitted_anyhow(self, job: FitJob) -> tuple[FitDone, Sequence[bytes]]:
        """Fit the body that was read; if that fails, use the plain planner."""
        fitter = self._fitter
        fitter.policy, fitter.recall = job.policy, job.recall
        self._only.told = self._same(job.model)
        self._number += 1
        with incidents.collected() as found:
            try:
                told, pieces = self._fitted(job, self._content_of(job), fitter.fit)
            except (BrimError, MemoryError):
                raise
            except (Exception, OutOfTime) as problem:
                incidents.note("timeout" if isinstance(problem, OutOfTime) else "planning", problem)
                told, pieces = self._fitted(job, self._content, fitter.plainly)
        return replace(told, incidents=tuple(found)), pieces

    def _fitted(
        self, job: FitJob, content: bytes, fit: Callable[..., Coroutine[Any, Any, FitResult]]
    ) -> tuple[FitDone, Sequence[bytes]]:
        read = self._read
        assert read is not None
        self._last = asyncio.run(fit(content, read.api, read.path_model, job.upstream, job.controls))
        return self._told(self._last, job.ship)

    def _content_of(self, job: FitJob) -> bytes:
        """The body, with the recall tool if that is offered."""
        read = self._read
        assert read is not None
        if job.recall == "tool" and not job.controls.dry_run and read.api in RECALLING:
            return offered(self._content, read.api, read.streamed, read.query)
        return self._content

    def _refitted(self, job: RefitJob) -> tuple[FitDone | None, Sequence[bytes]]:
        if self._last is None or job.number != self._number:
            return None, ()
        self._only.told = self._same(job.model)
        again = asyncio.run(
            self._fitter.refit(self._last, self._content, job.upstream, job.controls, job.tokens, job.window)
        )
        if again is None:
            return None, ()
        self._last = again
        told, pieces = self._told(again, job.ship)
        window = self._fitter.learned.window(job.upstream, job.controls.tenant, again.name)
        return replace(told, window=window), pieces

    def _learn(self, job: LearnJob) -> None:
        if self._last is not None and job.number == self._number:
            self._fitter.record(self._last, job.tokens)

    def _same(self, model: Model | None) -> Model | None:
        """The same object for equal models, because counters are cached by it."""
        return None if model is None else self._models.setdefault(model, model)

    def _told(self, result: FitResult, ship: bool) -> tuple[FitDone, Sequence[bytes]]:
        fitted = result.fitted
        changed = result.body != self._content
        originals = fitted.archive if fitted is not None else {}
        report = pickle.dumps(fitted.report) if fitted is not None else b""
        told = FitDone(
            number=self._number,
            live=result.live.id,
            engaged=result.live.engaged,
            name=result.name,
            streamed=result.streamed,
            before=result.before,
            after=result.after,
            upper=result.upper,
            limit=result.limit,
            archived=result.archived,
            changed=changed,
            report=report if len(report) <= LONGEST_REPORT else b"",
            handles=dict(islice(reversed(result.live.archive.items()), MOST_HANDLES)),
            originals=tuple(text.encode("utf-8", "surrogatepass") for text in originals.values()) if ship else (),
        )
        return told, [result.body] if changed else ()


def serve(end: socket.socket, path: str | None = None, limits: Limits = Limits()) -> None:  # noqa: B008
    """Work until the other end closes."""
    channel = Channel(end)
    if path == "-":
        path = str(channel.receive()[0])
    work = LargeBodies(path, limits)
    with contextlib.suppress(EOFError):
        while True:
            job, pieces = channel.receive()
            answer = work.do(job, pieces)
            del pieces
            channel.send(*answer)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the gateway stops this process
    logging.disable(logging.CRITICAL)  # faults are reported to the gateway, whose log masks secrets
    if hasattr(os, "nice"):
        os.nice(NICE)
    if resource is not None and sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    keep_little()
    end = socket.socket(fileno=int(sys.argv[1]))
    if len(sys.argv) == 5:
        serve(end, sys.argv[2], Limits(max_bytes=int(sys.argv[3]), max_age_days=float(sys.argv[4])))
    else:
        serve(end)


if __name__ == "__main__":
    main()
