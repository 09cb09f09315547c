"""`import brim` is cheap: nothing heavy is loaded before it is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Tokenizers, HTTP, MCP, terminal output, parsers, databases: each is loaded by the part that needs it.
HEAVY = (
    "splintr", "tiktoken", "tokenizers", "aiohttp", "httpx", "requests", "urllib3", "uvicorn", "starlette", "mcp",
    "rich", "msgspec", "trafilatura", "lxml", "tree_sitter", "numpy", "sqlite3", "asyncio", "pydantic",
)  # fmt: skip


def modules_after(code: str) -> set[str]:
    """The top-level modules that a fresh interpreter has loaded after some code."""
    script = f"{code}\nimport sys\nprint(' '.join(sorted({{name.partition('.')[0] for name in sys.modules}})))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_brim_loads_nothing_heavy() -> None:
    assert modules_after("import brim") & set(HEAVY) == set()


def test_the_names_of_the_public_api_are_known_before_anything_is_loaded() -> None:
    assert modules_after("import brim; assert {'count', 'fit', 'compact'} <= set(dir(brim))") & set(HEAVY) == set()


@pytest.mark.parametrize("code", ["import brim; brim.Policy", "import brim; brim.BudgetTooSmall", "import brim.cli"])
def test_a_name_loads_only_what_it_stands_on(code: str) -> None:
    assert modules_after(code) & {"splintr", "rich", "aiohttp", "httpx", "mcp", "trafilatura"} == set()


def test_counting_a_text_loads_no_http_and_no_mcp_library() -> None:
    loaded = modules_after("import brim; brim.count('hello', model='gpt-4o')")
    assert "splintr" in loaded
    assert loaded & {"aiohttp", "httpx", "requests", "urllib3", "mcp", "rich", "trafilatura"} == set()


def test_a_name_that_is_not_there_is_refused_with_those_that_are() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import brim; brim.shrink"], capture_output=True, text=True, check=False
    )
    assert "brim has no 'shrink'" in done.stderr
    assert "compact" in done.stderr
