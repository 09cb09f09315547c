"""The SDK examples of the documentation, run against a gateway.

Needs the SDKs: `pip install openai anthropic google-genai`, here or in an environment that BRIM_SDK_PYTHON names.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from brim.testing import FakeProvider
from tests.gateway.conftest import Running

EXAMPLES = Path(__file__).parent.parent.parent / "docs/examples/clients"
PYTHON = os.environ.get("BRIM_SDK_PYTHON", sys.executable)
MODULES = {"openai_python.py": "openai", "anthropic_python.py": "anthropic", "google_genai.py": "google.genai"}
KEYS = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"), "any")


def run(code: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()} | KEYS
    return subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, env=environment, check=False)


def test_every_client_that_is_documented_is_tried_here() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_a_documented_client_gets_its_answers_through_the_gateway(
    name: str, gateway: Running, fake: FakeProvider
) -> None:
    if run(f"import {MODULES[name]}").returncode:
        pytest.skip(f"{MODULES[name]} is not installed")
    code = (EXAMPLES / name).read_text(encoding="utf-8")
    assert "http://127.0.0.1:8787" in code
    done = run(code.replace("http://127.0.0.1:8787", gateway.url))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:2] == ["All right.", "All right."]
    assert done.stdout.splitlines()[2].endswith("True")
    assert len(fake.posts) == 3
