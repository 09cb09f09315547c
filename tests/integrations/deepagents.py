"""deepagents with Brim's middleware and archive: needs tests/integrations/requirements/deepagents.txt."""

from __future__ import annotations

import re
from typing import Any

from deepagents import create_deep_agent
from deepagents.backends import CompositeBackend, StateBackend
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.messages.utils import convert_to_openai_messages
from langgraph.checkpoint.memory import InMemorySaver

import brim
from brim.integrations.deepagents import BrimArchive
from brim.integrations.langchain import BrimMiddleware
from tests.integrations.langchain import Scripted
from tests.integrations.scripted import ANSWER, FIRST, MODEL, answered, example, output, read_log

# The run has 13,000 tokens.
BUDGET = 10_000
STEPS = 14
OLD = "what day 1 said"


class Looking(Scripted):
    """Reads the logs of two weeks; then looks into the archive for what is no longer in the prompt."""

    def _next(self, messages: list[Any]) -> AIMessage:
        step = len(self.requests)
        if step < STEPS:
            return super()._next(messages)
        self.requests.append(messages)
        last = messages[-1].content
        if step == STEPS:
            return self._call("ls", {"path": "/archive/"}, step)
        if step == STEPS + 1:
            name = next(name for name in re.findall(r"/archive/[\w.-]+", last) if "0005" in name)
            return self._call("read_file", {"file_path": name}, step)
        if step == STEPS + 2:
            return self._call("grep", {"pattern": "S1134", "path": "/archive/", "output_mode": "content"}, step)
        return AIMessage(ANSWER)

    def _call(self, name: str, arguments: dict[str, Any], step: int) -> AIMessage:
        return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call_{step}"}])


def run(agent: Any) -> Any:
    return agent.invoke(
        {"messages": [HumanMessage(FIRST)]}, {"recursion_limit": 500, "configurable": {"thread_id": "a"}}
    )


def checked(model: Looking, state: Any) -> None:
    """Every request is within the budget and has what the user asked; what was archived was read as files."""
    sent = [convert_to_openai_messages(request) for request in model.requests]
    assert len(sent) == STEPS + 4
    for request in sent:
        assert brim.count(request, model=MODEL, api="openai_chat").tokens <= BUDGET
        assert FIRST in str(request)
        answered(request)
    assert state["messages"][-1].content == ANSWER
    listed, read, found = [m.content for m in state["messages"] if isinstance(m, ToolMessage)][-3:]
    assert "/archive/0005-" in listed
    assert all(line in read for line in output(1).splitlines()[:50])  # a page of the file, each line with its number
    assert "S1134" in found


def test_an_agent_reads_as_files_what_its_prompt_no_longer_has() -> None:
    model = Looking(requests=[], steps=STEPS)
    middleware = BrimMiddleware(MODEL, BUDGET)
    backend = CompositeBackend(default=StateBackend(), routes={"/archive/": BrimArchive(middleware)})
    agent = create_deep_agent(model, [read_log], middleware=[middleware], backend=backend, checkpointer=InMemorySaver())
    checked(model, run(agent))


def test_the_example_of_the_docs_runs() -> None:
    model = Looking(requests=[], steps=STEPS)
    checked(model, run(example("deepagents", model=model, tools=[read_log])["agent"]))


def test_the_archive_is_read_only() -> None:
    archive = BrimArchive(BrimMiddleware(MODEL, BUDGET))
    assert "read only" in str(archive.write("/a.md", "x").error)
    assert "read only" in str(archive.edit("/a.md", "x", "y").error)
    assert "read only" in str(archive.delete("/a.md").error)
