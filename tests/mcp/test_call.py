"""`brim mcp tools` and `brim mcp call`, from the command line to a server and back."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from brim import cli
from brim.errors import BadInput
from brim.mcp.tools.calling import arguments, text_of
from brim.tokens import text_counter

from .conftest import FAKE

SERVER = shlex.join([sys.executable, str(FAKE)])
SCHEMA = {
    "properties": {
        "path": {"type": "string"},
        "max_count": {"type": "integer"},
        "deep": {"type": "boolean"},
        "tags": {"type": "array"},
        "where": {"type": "object"},
    },
    "required": ["path"],
}
TOOL = {"name": "log", "inputSchema": SCHEMA}


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder whose .mcp.json names the server, and a store of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    server = {"command": sys.executable, "args": [str(FAKE)]}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"fake": server}}))
    (tmp_path / ".vscode").mkdir()
    (tmp_path / ".vscode/mcp.json").write_text(json.dumps({"servers": {"other": server}}))


@pytest.mark.parametrize("server", ["fake", "other", SERVER])
def test_a_tool_of_a_named_server_is_called(server: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["mcp", "call", server, "echo", "--text", "ahoy"]) == 0
    assert "ahoy" in capfd.readouterr().out


def test_a_long_result_is_shortened_and_recalled_whole(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["mcp", "call", "--budget", "300", "fake", "lines", "--n", "2000"]) == 0
    short = capfd.readouterr().out
    assert text_counter("gpt-4o")(short) <= 301  # and the newline at its end
    [handle] = set(re.findall(r"brim:[0-9a-f]+", short))
    assert cli.main(["recall", handle]) == 0
    whole = capfd.readouterr().out
    assert cli.main(["mcp", "call", "--budget", "1000000", "fake", "lines", "--n", "2000"]) == 0
    assert whole.strip() == capfd.readouterr().out.strip()


def test_tools_that_a_query_is_about_come_alone(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["mcp", "tools", "fake", "rows", "as", "JSON"]) == 0
    assert capfd.readouterr().out.splitlines()[0] == "rows(n?)  JSON rows"
    assert cli.main(["mcp", "tools", "fake", "lines"]) == 0
    assert capfd.readouterr().out == "lines(n?)\nMany lines\n  --n integer\n"


def test_what_is_not_there_is_named_with_what_is(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["mcp", "call", "fake", "shout"]) == 1
    assert "echo, " in capfd.readouterr().err
    assert cli.main(["mcp", "call", "nowhere", "echo"]) == 2
    assert "known are fake, other" in capfd.readouterr().err


def test_arguments_have_the_types_of_the_schema() -> None:
    words = ["--path", "5", "--max-count=5", "--deep", "--tags", "a", "--tags", "b", "--where", '{"x": [1]}']
    expected = {"path": "5", "max_count": 5, "deep": True, "tags": ["a", "b"], "where": {"x": [1]}}
    assert arguments("log", TOOL, words) == expected
    assert arguments("log", TOOL, ['{"path": "x"}']) == {"path": "x"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--path", ".", "--depth", "2"], "it takes path, max_count"),
        (["--max_count", "5"], "--path"),
        (["--path", ".", "--max_count", "many"], "is not JSON"),
        (["."], "--name value"),
    ],
)
def test_an_argument_that_the_tool_does_not_take_is_refused_before_it_is_called(words: list[str], said: str) -> None:
    with pytest.raises(BadInput, match=re.escape(said)):
        arguments("log", TOOL, words)


def test_what_is_no_text_is_told_of() -> None:
    image = {"type": "image", "mimeType": "image/png", "data": "AAAA" * 100}
    assert text_of({"content": [{"type": "text", "text": "see"}, image]}) == "see\n[image image/png, 300 bytes]"
    assert text_of({"structuredContent": {"rows": 2}}) == '{"rows": 2}'
