"""Open WebUI's own plugin loader and filter pipeline with Brim's function file.

Needs tests/integrations/requirements/open_webui.txt, which leaves out what only its database, search and models need.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

os.environ.setdefault("DATA_DIR", tempfile.mkdtemp())
os.environ.setdefault("WEBUI_SECRET_KEY", "for-tests-only")

import itertools

from open_webui.utils import filter as pipeline
from open_webui.utils.plugin import load_function_module_by_id

import brim.integrations.open_webui as function_file
from tests.integrations.scripted import ANSWER, BUDGET, FIRST, MODEL, STEPS, SYSTEM, call, check, output

SOURCE = Path(function_file.__file__).read_text()
USER = {"id": "u1", "name": "Ada", "email": "ada@example.org", "role": "user"}


def loaded() -> Any:
    installed = SOURCE.replace("requirements: brim\n", "")  # what the loader would ask the package index for
    found, kind, front, _ = asyncio.run(load_function_module_by_id("brim", content=installed))
    assert kind == "filter"
    assert front["title"] == "Brim"
    return found


def asked(module: Any, body: dict[str, Any], chat: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A request on its way through Open WebUI's pipeline of filters; `module` is what its loader made of the file."""

    async def cached(*_: Any, **__: Any) -> Any:
        return module

    monkeypatch.setattr(pipeline, "get_function_module", cached)
    context = pipeline.FilterContext()
    context.function_valves = {"brim": module.valves}
    request = SimpleNamespace(state=SimpleNamespace(filter_context=context))
    extra = {"__user__": dict(USER), "__metadata__": {"chat_id": chat}}
    functions = [SimpleNamespace(id="brim")]
    done, _ = asyncio.run(pipeline.process_filter_functions(request, context, functions, "inlet", body, extra))
    return done


def test_a_chat_that_calls_tools_stays_within_its_window(monkeypatch: pytest.MonkeyPatch) -> None:
    module = loaded()
    module.valves = module.Valves(budget=BUDGET)
    messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": FIRST}]
    requests = []
    for step in range(STEPS + 1):
        body = {"model": MODEL, "messages": list(messages), "stream": True}
        done = asked(module, body, "chat-1", monkeypatch)
        assert {**done, "messages": None} == {**body, "messages": None}
        requests.append(done["messages"])
        messages += [
            {"role": "assistant", "content": "", "tool_calls": [call(step)]},
            {"role": "tool", "tool_call_id": f"call_{step}", "content": output(step)},
        ]
    check(requests)
    stable = sum(after[: len(before)] == before for before, after in itertools.pairwise(requests))
    assert stable >= STEPS - 3  # a chat is a session: between compactions its requests only append


def test_what_fits_goes_on_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    module = loaded()
    body = {"model": MODEL, "messages": [{"role": "user", "content": FIRST}, {"role": "assistant", "content": ANSWER}]}
    assert asked(module, {**body}, "chat-1", monkeypatch) == body


def test_a_model_that_brim_does_not_know_says_which_valve_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    body = {"model": "our-harbour-model", "messages": [{"role": "user", "content": FIRST}]}
    with pytest.raises(Exception, match="valve `model`"):
        asked(loaded(), body, "chat-1", monkeypatch)
