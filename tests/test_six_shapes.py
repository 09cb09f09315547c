"""Six ordinary shapes of request come into 8,000 tokens, valid and with what matters, in every API."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import brim
from tests.conversations import MAKERS, MODELS, problems
from tests.shapes import Shape, shapes

BUDGET = 8_000
SHAPES = pytest.mark.parametrize("name", sorted(shapes()))
APIS = pytest.mark.parametrize("api", sorted(MAKERS))
ROOT = Path(__file__).parent.parent
# Prints a digest of every shape, fitted in every API.
PRINT_FITTED = """
import hashlib, json, brim
from tests.conversations import MAKERS, MODELS
from tests.shapes import shapes
for name, shape in shapes().items():
    for api in MAKERS:
        body = MAKERS[api](shape.turns, shape.system)
        fitted = brim.fit(json.dumps(body).encode(), model=MODELS[api][0], budget=8_000, api=api, fit_timeout=None)
        print(name, api, hashlib.sha256(fitted.body + str(fitted.plan).encode()).hexdigest())
"""


def body_of(shape: Shape, api: str) -> dict[str, Any]:
    return MAKERS[api](shape.turns, shape.system)


def system_of(body: dict[str, Any]) -> str:
    """What a body says before its conversation."""
    field = body.get("system") or body.get("instructions") or body.get("systemInstruction")
    return json.dumps(field or body["messages"][0])


def said_by_users(body: dict[str, Any]) -> str:
    listed = body.get("messages") or body.get("input") or body.get("contents") or []
    return json.dumps([one for one in listed if one.get("role") == "user"], ensure_ascii=False)


@SHAPES
@APIS
def test_a_shape_fits_and_keeps_its_system_text_and_its_last_instruction(name: str, api: str) -> None:
    shape, model = shapes()[name], MODELS[api][0]
    body = body_of(shape, api)
    assert brim.count(body, model=model, api=api).tokens > 1.5 * BUDGET
    fitted = brim.fit(body, model=model, budget=BUDGET, api=api)
    assert brim.count(fitted.body, model=model, api=api).tokens <= BUDGET
    assert problems(api, fitted.body) == []
    assert shape.system in system_of(fitted.body)
    assert shape.instruction in said_by_users(fitted.body)


@SHAPES
def test_a_shape_uses_nearly_all_of_its_budget(name: str) -> None:
    fitted = brim.fit(body_of(shapes()[name], "openai_chat"), model="gpt-4o", budget=BUDGET)
    assert fitted.tokens >= 0.95 * BUDGET


def test_the_long_tool_chat_has_144_thousand_tokens() -> None:
    body = body_of(shapes()["tool chat of 40 turns"], "openai_chat")
    assert brim.count(body, model="gpt-4o").tokens == pytest.approx(144_000, rel=0.01)


def test_oversized_arguments_stay_json_with_the_same_keys() -> None:
    fitted = brim.fit(body_of(shapes()["oversized call arguments"], "openai_chat"), model="gpt-4o", budget=BUDGET)
    calls = [call for message in fitted.messages for call in message.get("tool_calls", [])]
    assert calls
    for call in calls:
        arguments = json.loads(call["function"]["arguments"])
        assert arguments["path"].startswith("reports/")
        assert isinstance(arguments["content"], str)


def test_processes_with_different_hash_seeds_give_the_same_bytes() -> None:
    printed = set()
    for seed in ("0", "1", "4242"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", PRINT_FITTED], capture_output=True, text=True, check=True, env=env, cwd=ROOT
        )
        printed.add(done.stdout)
    assert len(printed) == 1
    assert len(printed.pop().splitlines()) == len(shapes()) * len(MAKERS)
