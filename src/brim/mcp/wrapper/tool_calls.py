"""Tool calls on their way through the wrapper."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from brim import incidents
from brim.deadline import OutOfTime, run_within
from brim.mcp.results.compacting import count_tokens
from brim.mcp.results.meta_budgets import RESULT_KEY, ResultBudget, budget_of
from brim.mcp.results.recall_tool import recall
from brim.mcp.results.server_hints import throttled
from brim.mcp.results.session_fill import FillSession, FillSessions
from brim.mcp.results.within_budget import (
    SMALL_BYTES,
    FittedResult,
    ResultLimits,
    fit_result,
    plain_result,
    text_result,
)
from brim.mcp.tools import tool_groups
from brim.mcp.transport import json_rpc
from brim.mcp.transport.json_rpc import Id, RpcMessage, RpcObject, is_modern, meta_of
from brim.mcp.wrapper.deferred_results import Tasks
from brim.mcp.wrapper.repeated_calls import Repeats

if TYPE_CHECKING:
    from brim.mcp.wrapper.proxy import Wrapper

# Larger results are compacted in a thread, so that other messages don't wait.
_ASIDE_BYTES = 128 << 10
# The JSON-RPC code for invalid arguments.
_BAD_ARGUMENTS = -32602
_QUERY_NAMES = ("query", "q", "pattern", "search", "keywords", "keyword", "symbol", "question", "term", "text")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call: what the client asked for, and its conditions."""

    id: Id
    tool: str
    arguments: Any
    budget: ResultBudget
    session: FillSession
    modern: bool
    repeat_key: bytes


class ToolCalls:
    """Answers the wrapper's own tools and compacts the results of all others."""

    def __init__(self, wrapper: Wrapper) -> None:
        self._wrapper = wrapper
        self._options = wrapper.options
        self._sessions = FillSessions(wrapper.options)
        self._repeats = Repeats(wrapper.options.repeat_seconds)
        self._tasks: Tasks[ToolCall] = Tasks()

    @property
    def idle(self) -> bool:
        """Whether no rule applies to any call, so that all pass unexamined."""
        options = self._options
        plain = not options.compact and options.grouping == "off" and not options.shrink
        return plain and not options.max_calls and options.repeat_seconds <= 0 and len(self._wrapper.upstreams) == 1

    def request(self, message: RpcMessage, id: Id) -> None:
        """Handle a `tools/call` of the client."""
        params = message.params()
        name = params.get("name")
        modern = is_modern(params)
        rewritten = False
        if name == tool_groups.CALL and tool_groups.CALL not in self._wrapper.tools.entries:
            inner = params.get("arguments")
            inner = inner if isinstance(inner, dict) else {}
            params = {**params, "name": str(inner.get("name")), "arguments": inner.get("arguments") or {}}
            name, rewritten = params["name"], True
            if name not in self._wrapper.tools.entries:
                self._say(id, f"no tool is called {name!r}; {tool_groups.FIND} searches them", modern, error=True)
                return
        tool = str(name)
        if self._own(tool, params, id, modern):
            return
        budget = budget_of(params, self._wrapper.tools.get(tool))
        session = self._sessions.of(budget.session, modern=modern)
        if session.spent:
            most = self._options.max_calls
            text = f"the cap of {most} tool calls for this session is reached: finish with what you have"
            self._say(id, text, modern, error=True)
            return
        session.calls += 1
        params, asked = self._wrapper.tools.without_verbosity(tool, params)
        if asked is not None:
            budget, rewritten = replace(budget, level=asked), True
        arguments = params.get("arguments")
        key = self._repeat_key(tool, arguments, budget) if "task" not in params else b""
        again = self._repeats.look(key) if key else None
        if again is not None:
            self._wrapper.send(json_rpc.response(id, again))
            return
        if not key:
            self._repeats.clear()
        self._forward(message, params, ToolCall(id, tool, arguments, budget, session, modern, key), rewritten)

    def _repeat_key(self, tool: str, arguments: object, budget: ResultBudget) -> bytes:
        if self._options.repeat_seconds <= 0 or not self._wrapper.tools.read_only(tool):
            return b""
        return self._repeats.key(f"{tool} {budget}", arguments)

    def _forward(self, message: RpcMessage, params: RpcObject, call: ToolCall, rewritten: bool) -> None:
        owner = self._wrapper.owner_of(call.tool)
        if owner is None:
            self._say(call.id, f"no server has a tool called {call.tool!r}", call.modern, error=True)
            return
        upstream, name = owner
        line = None
        if rewritten or name != call.tool:
            line = json_rpc.request(call.id, "tools/call", {**params, "name": name})
            message = json_rpc.decode(line)
        self._wrapper.forward(message, upstream, line, lambda answer: self._answer(answer, call))
        waiting = self._wrapper.pending.get(call.id)
        if waiting is not None:
            waiting.modern = call.modern

    def task(self, message: RpcMessage, id: Id) -> bool:
        """Handle a request about a call's task; False if the task is unknown."""
        began = self._tasks.call(message.params())
        owner = self._wrapper.owner_of(began.tool) if began is not None else None
        if began is None or owner is None:
            return False
        call = replace(began, id=id, repeat_key=b"")
        finish: dict[str, Callable[[RpcMessage], None]] = {
            "tasks/result": lambda answer: self._answer(answer, call),
            "tasks/get": lambda answer: self._polled(answer, call),
        }
        self._wrapper.forward(message, owner[0], finish=finish.get(message.method or ""))
        return True

    # The wrapper's own tools

    def _own(self, tool: str, params: RpcObject, id: Id, modern: bool) -> bool:
        if not tool.startswith("brim_") or tool in self._wrapper.tools.entries:
            return False
        arguments = params.get("arguments")
        arguments = arguments if isinstance(arguments, dict) else {}
        tools = self._wrapper.tools
        if tool in (tool_groups.RECALL, tool_groups.QUERY) and self._wrapper.recalls:
            budget = budget_of(params, None).tokens or self._options.recall_tokens
            text, error = recall(self._wrapper.archive, arguments, max(budget, 60), count_tokens)
        elif tool == tool_groups.FIND:
            limit = arguments.get("limit")
            text, error = tools.find(str(arguments.get("query", "")), limit if isinstance(limit, int) else 5), False
        elif tool == tool_groups.DESCRIBE:
            text, error = tools.describe(str(arguments.get("name", "")))
        elif tool.startswith((tool_groups.OPEN, tool_groups.CLOSE)):
            said = tools.door(tool)
            text, error = (said, False) if said else (f"no group for {tool}", True)
            if said and not modern:
                self._wrapper.tools_changed()
        else:
            return False
        self._say(id, text, modern, error=error)
        return True

    def _say(self, id: Id, text: str, modern: bool, *, error: bool = False) -> None:
        self._wrapper.send(json_rpc.response(id, text_result(text, error=error, modern=modern)))

    # Results

    def _answer(self, answer: RpcMessage, call: ToolCall) -> None:
        raw = answer.raw_result()
        if self._tasks.began(raw, call):
            self._wrapper.send(answer.line)
        elif answer.failed or not self._compacts(call) or (len(raw) < SMALL_BYTES and not _limited(call.budget)):
            call.session.count(len(raw) // 4)
            self._keep(call, answer, None)
            self._wrapper.send(self._with_schema(answer, call))
        elif len(raw) > _ASIDE_BYTES:
            self._wrapper.background(self._aside(answer, call))
        else:
            self._finish(answer, call, self._fit(answer.result(), call))

    def _compacts(self, call: ToolCall) -> bool:
        return self._options.compact and not self._wrapper.tools.exempt(call.tool)

    async def _aside(self, answer: RpcMessage, call: ToolCall) -> None:
        fitted = await asyncio.to_thread(lambda: self._fit(answer.result(), call))
        self._finish(answer, call, fitted)

    def _polled(self, answer: RpcMessage, call: ToolCall) -> None:
        """The state of a task, with its result compacted if it is there."""
        state = answer.result() if not answer.failed and self._compacts(call) else {}
        inner = state.get("result")
        fitted = self._fit(inner, call) if isinstance(inner, dict) else None
        if fitted is None or not fitted.changed:
            self._wrapper.send(answer.line)
        else:
            self._wrapper.send(json_rpc.response(call.id, {**state, "result": fitted.result}))

    def _fit(self, result: RpcObject, call: ToolCall) -> FittedResult:
        if result.get("resultType", "complete") != "complete" or not isinstance(result.get("content"), list):
            return FittedResult(result, 0, 0, False)  # an interim result, which isn't shortened
        limits, archive = self._limits(call), self._wrapper.archive
        given = result
        result = throttled(result, self._options.hint_fields, show=call.session.hints_due())
        with incidents.collected() as found:
            try:
                query = _query(call.arguments)
                fitted = run_within(
                    self._options.fit_timeout, partial(self._changes_or_fit, result, call, limits, query)
                )
            except OutOfTime as problem:
                incidents.note("timeout", problem)
                fitted = plain_result(result, limits, archive)
            except Exception as problem:
                # A call's outermost handler: whatever goes wrong, the result stays within its budget.
                incidents.note("planning", problem)
                fitted = plain_result(result, limits, archive)
        for incident in found:
            self._wrapper.faults[incident.kind] += 1
            self._wrapper.log.say(f"a result of {call.tool}: {incident.kind} failed, {incident.fingerprint}")
        return fitted if result is given else replace(fitted, changed=True)

    def _changes_or_fit(self, result: RpcObject, call: ToolCall, limits: ResultLimits, query: str) -> FittedResult:
        """What changed since the same call before, if that is much shorter; otherwise the result."""
        archive = self._wrapper.archive
        if self._options.changes and call.session.fills:  # without a session, nobody has received the earlier result
            key = self._repeats.key(f"{call.tool} {call.budget}", call.arguments)
            told = call.session.previous.changes(key, result, limits, archive)
            if told is not None:
                return told
        return fit_result(result, limits, call.tool, archive, query)

    def _with_schema(self, answer: RpcMessage, call: ToolCall) -> bytes:
        """The answer; an argument error also shows the tool's schema."""
        tool = self._wrapper.tools.get(call.tool)
        schema = tool.get("inputSchema") if tool is not None else None
        if not isinstance(schema, dict):
            return answer.line
        told = f"{call.tool} takes {json_rpc.dump(schema).decode()}"
        if answer.failed:
            error = answer.error()
            if error.get("code") != _BAD_ARGUMENTS:
                return answer.line
            error = {**error, "message": f"{error.get('message', '')}\n{told}"}
            return json_rpc.dump({"jsonrpc": "2.0", "id": call.id, "error": error})
        if b'"isError"' not in answer.raw_result():
            return answer.line
        result = answer.result()
        content = result.get("content")
        if result.get("isError") is not True or not isinstance(content, list) or not _misfits(call.arguments, schema):
            return answer.line
        return json_rpc.response(call.id, {**result, "content": [*content, {"type": "text", "text": told}]})

    def _limits(self, call: ToolCall) -> ResultLimits:
        level = call.budget.level or call.session.level
        tokens = call.budget.tokens or self._options.result_tokens[level]
        wrapper = self._wrapper
        links = wrapper.links(call.modern)
        return ResultLimits(level, tokens, call.budget.chars, wrapper.recalls, links, self._options.shapes)

    def _finish(self, answer: RpcMessage, call: ToolCall, fitted: FittedResult) -> None:
        call.session.count(fitted.tokens, fitted.saved)
        if not fitted.changed:
            self._keep(call, answer, None)
            self._wrapper.send(answer.line)
            return
        result = fitted.result
        if meta_of(result).get(RESULT_KEY, {}).get("fidelity") == "recoverable":
            hint = call.session.hint(call.session.level, self._wrapper.recalls)
            if hint:
                result = {**result, "content": [*result["content"], {"type": "text", "text": hint}]}
        self._keep(call, answer, result)
        self._wrapper.send(json_rpc.response(call.id, result))

    def _keep(self, call: ToolCall, answer: RpcMessage, result: RpcObject | None) -> None:
        if call.repeat_key and not answer.failed:
            size = len(answer.line)
            if result is not None or size <= 1 << 20:
                self._repeats.keep(call.repeat_key, result if result is not None else answer.result(), size)


def _misfits(arguments: Any, schema: RpcObject) -> bool:
    """Whether arguments lack required properties or have unknown ones."""
    given = arguments if isinstance(arguments, dict) else {}
    known = schema.get("properties")
    lacking = any(name not in given for name in schema.get("required") or ())
    return lacking or (isinstance(known, dict) and bool(given.keys() - known.keys()))


def _limited(budget: ResultBudget) -> bool:
    return budget.tokens is not None or budget.chars is not None or budget.level is not None


def _query(arguments: object) -> str:
    """What the caller is looking for, judging by the arguments."""
    if not isinstance(arguments, dict):
        return ""
    found = [arguments[name] for name in _QUERY_NAMES if name in arguments]
    words = [item for value in found for item in (value if isinstance(value, list) else [value])]
    return " ".join(str(item) for item in words if isinstance(item, str | int))[:500]
