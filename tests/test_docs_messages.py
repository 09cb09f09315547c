"""The error messages in the troubleshooting table are those that the code gives."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROW = re.compile(r"^\| `([^`]+)` \|", re.M)
# What stands where the code puts a value: numbers, names in quotes, addresses and paths.
VALUE = re.compile(
    r"[\d.]*:?[\d,]*\d[\d.,]*|'[^']*'|https?://\S+:|/\S+/\S+|BRIM_TOKEN|gemini|brim\[gateway\]|the gateway"
    r"|did not answer"
)
# What the operating system says.
FOREIGN = ("Address already in use",)


def messages() -> list[str]:
    page = (ROOT / "docs/operating.md").read_text(encoding="utf-8")
    return ROW.findall(page[page.index("## Troubleshooting") :])


@cache
def spoken() -> str:
    """Every text in the code, one after another; a value inside one is a gap."""
    found: list[str] = []
    for path in sorted((ROOT / "src/brim").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                found.append(
                    "".join(str(part.value) if isinstance(part, ast.Constant) else "\0" for part in node.values)
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return "\n".join(found)


def test_there_are_messages_to_look_up() -> None:
    assert len(messages()) > 15


@pytest.mark.parametrize("message", messages())
def test_a_documented_message_is_in_the_code(message: str) -> None:
    known = message
    for words in FOREIGN:
        known = known.replace(words, "")
    pieces = [piece.strip(" :,()") for piece in VALUE.split(known)]
    told = [piece for piece in pieces if len(piece) > 3]
    assert told
    assert [piece for piece in told if piece not in spoken()] == []
