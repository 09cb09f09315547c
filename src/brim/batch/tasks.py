"""The tasks for a record: counting and compacting. Tasks are sent to other processes and machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from brim import apis, models
from brim.content import compact
from brim.conversation import encode
from brim.counting import count
from brim.models import Model
from brim.replays.recorded import NoRequest, decoded, fields_of, request_in
from brim.tokens.counter import Counter

ResultRow = dict[str, Any]


class BatchTask(Protocol):
    """A function of a record, and the columns of its result with their types."""

    @property
    def columns(self) -> Mapping[str, str]: ...

    def __call__(self, record: bytes) -> ResultRow: ...


@dataclass(frozen=True, slots=True)
class CountTask:
    """Counts the tokens of a record (a request, a list of messages or a text), or with `field`, of that field.

    `model` replaces the models that requests name; `default` is for requests without one.
    """

    model: str = ""
    default: str = ""
    field: str = ""

    @property
    def columns(self) -> Mapping[str, str]:
        return {"tokens": "int64", "upper": "int64", "source": "string"}

    def __call__(self, record: bytes) -> ResultRow:
        """Example: b'"hello world"' -> {"tokens": 2, "upper": …, "source": "exact"}; raises NoRequest, BrimError"""
        raw = _field(record, self.field) if self.field else record
        if raw[:1] == b'"':
            found = count(decoded(raw), model=models.find(self.model or self.default), strict=True)
        else:
            found = self._request(raw)
        return {"tokens": found.tokens, "upper": found.upper, "source": found.source}

    def _request(self, raw: bytes) -> Any:
        body, api, named = raw, None, ""
        if raw[:1] != b"[":
            recorded = request_in(fields_of(raw), "")
            if recorded is None:
                raise NoRequest("tells of something else than a request")
            body, api, named = recorded.body, recorded.api, recorded.model
        conversation = apis.parse(body, api, model=self.model or named)
        model = models.find(self.model or conversation.model or self.default)
        return _counter(model, conversation.api).count(conversation)


@dataclass(frozen=True, slots=True)
class CompactTask:
    """Compacts a record: a text directly, another value as JSON; with `field`, only that field."""

    budget: int | None = None
    kind: str | None = None
    model: str = "gpt-4o"
    query: str = ""
    field: str = ""

    @property
    def columns(self) -> Mapping[str, str]:
        return {"text": "string", "tokens": "int64", "kept": "double", "fidelity": "string", "kind": "string"}

    def __call__(self, record: bytes) -> ResultRow:
        raw = _field(record, self.field) if self.field else record
        value = decoded(raw)
        text = value if isinstance(value, str) else raw.decode("utf-8", "surrogatepass")
        done = compact(text, self.budget, self.kind, model=self.model, query=self.query)
        numbers = {"tokens": done.tokens, "kept": round(done.kept, 4)}
        return {"text": done.text, **numbers, "fidelity": done.fidelity, "kind": done.kind}


def _field(record: bytes, name: str) -> bytes:
    value = decoded(record)
    if not isinstance(value, dict):
        raise NoRequest(f"is no JSON object, so it has no field {name!r}")
    if name not in value:
        raise NoRequest(f"has no field {name!r}: it has {', '.join(map(repr, list(value)[:8])) or 'none'}")
    return encode(value[name])


@lru_cache(maxsize=32)  # a recording has few models, and each counter caches messages
def _counter(model: Model, api: str) -> Counter:
    return Counter(model, api)
