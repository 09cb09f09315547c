"""Calls that a server turns into tasks, whose results arrive later in answer to another request.

Version 2025-11-25 answers a call with `{"task": {"taskId": …}}` and gives the result to `tasks/result`; the extension
of the stateless version answers with `{"resultType": "task", "taskId": …}` and puts the result into `tasks/get`.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

from brim.mcp.transport.json_rpc import RpcObject, parse

_KEPT = 4_096
# An answer that says a call became a task is short; longer ones are results and need no examination.
_LARGEST = 64 << 10
C = TypeVar("C")


class Tasks(Generic[C]):
    """The calls of running and finished tasks by id; the oldest are forgotten first."""

    def __init__(self) -> None:
        self._calls: OrderedDict[str, C] = OrderedDict()

    def began(self, raw: bytes, call: C) -> bool:
        """Whether a raw result says that the call became a task; if so, remember it."""
        if len(raw) > _LARGEST or b'"taskId"' not in raw:
            return False
        id = task_of(parse(raw))
        if not id:
            return False
        self._calls[id] = call
        while len(self._calls) > _KEPT:
            self._calls.popitem(last=False)
        return True

    def call(self, params: RpcObject) -> C | None:
        """The call whose task a request such as `tasks/result` is about."""
        id = params.get("taskId")
        return self._calls.get(id) if isinstance(id, str) else None


def task_of(result: RpcObject) -> str:
    """The id of the task that a call became; empty if it has a result.

    Example: {"task": {"taskId": "t1", "status": "working"}} -> "t1"
    """
    task = result.get("task") if "task" in result else result if result.get("resultType") == "task" else None
    id = task.get("taskId") if isinstance(task, dict) and "content" not in result else None
    return id if isinstance(id, str) else ""
