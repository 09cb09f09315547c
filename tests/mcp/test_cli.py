"""The command line of `brim mcp`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import pytest

from brim import settings
from brim.cli import mcp as cli
from brim.errors import BadSetting
from brim.mcp import command
from brim.mcp.child import Log
from brim.mcp.compacting import count_tokens
from brim.mcp.options import Options

from .conftest import FAKE, connected, run, text_of


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No brim.toml of the machine takes part."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))


def parsed(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    cli.add(parser.add_subparsers())
    return parser.parse_args(["mcp", *arguments])


def servers(*arguments: str) -> list[str]:
    return [server.name for server in command.servers_of(parsed("wrap", *arguments), Options(), Log())]


def test_flags_change_the_options_they_name() -> None:
    args = parsed("wrap", "--level", "compact", "--budget", "1000", "--exempt", "read_*", "--max-calls", "9", "--", "x")
    options = command.options_of(args)
    assert options.level == "compact"
    assert options.result_tokens == {"full": 1_000, "standard": 1_000, "compact": 1_000, "minimal": 800}
    assert options.exempts("read_file")
    assert options.max_calls == 9
    off = command.options_of(parsed("wrap", "--no-compact", "--no-shrink", "--grouping", "off", "--", "x"))
    assert off.transparent
    assert command.options_of(parsed("wrap", "--", "x")) == Options()


def test_the_settings_file_and_the_environment_count_when_they_say_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "brim.toml").write_text("[mcp]\nmax_calls = 50\ngroup_tools_above = 20\n")
    monkeypatch.setenv("BRIM_MCP_CALL_TIMEOUT", "7")
    options = command.options_of(parsed("wrap", "--max-calls", "3", "--", "x"))
    assert (options.max_calls, options.tool_threshold, options.call_timeout) == (3, 20, 7.0)
    (tmp_path / "brim.toml").write_text("[mcp]\nresult_tokens = 500\ncompact_after_calls = 10\n")
    given = command.from_settings(settings.load())
    assert given["result_tokens"]["full"] == 500
    full = Options(**given)
    assert full.session_calls * full.rises[1] == pytest.approx(10, abs=0.5)


def test_a_shape_of_ones_own_is_used(tmp_path: Path) -> None:
    table = """[shapes.people]
tools = ["raw"]
match = ["person_id"]
[shapes.people.compact]
fields = { id = "person_id" }
rest = false
"""
    (tmp_path / "brim.toml").write_text(table)
    given = command.from_settings(settings.load())

    async def scene() -> None:
        async with connected(level="compact", **given) as client:
            people = [{"person_id": f"p{i}", "biography": f"was born in {i} and {i * 7}"} for i in range(40)]
            blocks = [{"type": "text", "text": json.dumps({"people": people})}]
            text = text_of(await client.call("raw", result={"content": blocks}))
            assert "p39" in text
            assert "born" not in text
            assert count_tokens(text) < 400

    run(scene())


def test_several_servers_need_names_and_get_them(tmp_path: Path) -> None:
    assert servers("--", "one", "--flag") == [""]
    assert servers("--server", "git=mcp-server-git --repository .", "--server", "t=time") == ["git", "t"]
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"a": {"command": "x", "args": ["-y"]}, "b": {"command": "y"}}}))
    assert servers("--config", str(config), "--", "extra") == ["server1", "a", "b"]
    with pytest.raises(BadSetting, match="two servers"):
        servers("--server", "a=x", "--server", "a=y")


@pytest.mark.parametrize(
    "arguments", [[], ["--server", "nameless"], ["--config", "nowhere.json"], ["--url", "http://x", "--header", "bad"]]
)
def test_what_names_no_server_is_refused(arguments: list[str]) -> None:
    with pytest.raises(BadSetting):
        servers(*arguments)


def test_a_url_may_have_a_name() -> None:
    pytest.importorskip("aiohttp")
    assert servers("--url", "docs=https://example.com/mcp?a=b", "--url", "https://example.com/mcp?x=y") == [
        "docs",
        "server2",
    ]


def test_an_audit_prints_what_tools_cost(capsys: pytest.CaptureFixture[str]) -> None:
    args = parsed("audit", "--json", "--", sys.executable, str(FAKE))
    assert args.run(args) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["tokens"] > report["shrunk"] > 0
    assert {tool["name"] for tool in report["tools"]} >= {"echo", "rows"}
    assert cli.main(["audit", "--", "/nowhere/server"]) == 2
    assert "cannot be started" in capsys.readouterr().err


def test_serving_a_folder_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("mcp")
    assert cli.main(["serve", "--root", "/nowhere"]) == 2
    assert "--root" in capsys.readouterr().err
