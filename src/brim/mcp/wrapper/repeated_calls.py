"""Answers identical calls of read-only tools from the last result."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from brim.mcp.transport.json_rpc import RpcObject, dump

_KEPT = 64
_LARGEST = 1 << 20


@dataclass(slots=True)
class _Answer:
    at: float
    result: RpcObject
    given_again: bool = False


@dataclass(slots=True)
class Repeats:
    """The last answers of read-only tools.

    Any call that may change something empties it, and so does time. A call that is repeated once more after
    an answer from here goes to the server: who insists wants to know how things are now.
    """

    seconds: float
    clock: Callable[[], float] = monotonic
    _answers: OrderedDict[bytes, _Answer] = field(default_factory=OrderedDict)

    @staticmethod
    def key(tool: str, arguments: object) -> bytes:
        return dump([tool, _sorted(arguments)])

    def look(self, key: bytes) -> RpcObject | None:
        """The answer to repeat, marked as such; None if the server should be asked."""
        answer = self._answers.get(key)
        if answer is None:
            return None
        age = self.clock() - answer.at
        if answer.given_again or age > self.seconds:
            del self._answers[key]
            return None
        answer.given_again = True
        mark = f"[brim: same call {age:.0f} s ago, nothing was changed since; repeat it to run it again]"
        content = answer.result.get("content")
        blocks = list(content) if isinstance(content, list) else []
        return {**answer.result, "content": [*blocks, {"type": "text", "text": mark}]}

    def keep(self, key: bytes, result: RpcObject, size: int) -> None:
        if self.seconds <= 0 or size > _LARGEST or result.get("isError"):
            return
        self._answers[key] = _Answer(self.clock(), result)
        self._answers.move_to_end(key)
        while len(self._answers) > _KEPT:
            self._answers.popitem(last=False)

    def clear(self) -> None:
        self._answers.clear()


def _sorted(value: object) -> object:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    return value
