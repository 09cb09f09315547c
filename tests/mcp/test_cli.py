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
from brim.mcp.options import WrapperOptions
from brim.mcp.results.compacting import count_tokens
from brim.mcp.transport.child_process import ChildLog
from brim.mcp.transport.upstream import StdioUpstream, Upstream

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


def options(*arguments: str) -> WrapperOptions:
    return command.options_of(command.settings_of(parsed("wrap", *arguments, "--", "x")))


def upstreams(*arguments: str) -> list[Upstream]:
    args = parsed("wrap", *arguments)
    return command.servers_of(args, command.settings_of(args), ChildLog())


def servers(*arguments: str) -> list[str]:
    return [server.name for server in upstreams(*arguments)]


def test_flags_change_the_options_they_name() -> None:
    some = options("--level", "compact", "--budget", "1000", "--exempt", "read_*", "--max-calls", "9")
    assert some.level == "compact"
    assert some.result_tokens == {"full": 1_000, "standard": 1_000, "compact": 1_000, "minimal": 800}
    assert some.exempts("read_file")
    assert some.max_calls == 9
    assert options("--no-compact", "--no-shrink", "--grouping", "off").transparent
    assert options("--no-repeat").repeat_seconds == 0
    assert options() == WrapperOptions()


# Each setting of [mcp]: a value, its flag where it has one, and what it changes in the wrapper's options.
SETTINGS: list[tuple[str, object, str, str, object]] = [
    ("compact", False, "", "compact", False),
    ("level", "minimal", "--level", "level", "minimal"),
    ("session_tokens", 5_000, "--session-tokens", "session_tokens", 5_000),
    ("session_calls", 7, "--session-calls", "session_calls", 7),
    ("standard_at", 0.01, "", "rises", (0.01, 0.3, 0.7)),
    ("compact_at", 0.5, "", "rises", (0.05, 0.5, 0.7)),
    ("minimal_at", 0.9, "", "rises", (0.05, 0.3, 0.9)),
    ("verbosity", True, "", "verbosity", True),
    ("hint_every", 3, "--hint-every", "hint_every", 3),
    ("recall_tokens", 900, "", "recall_tokens", 900),
    ("shrink", False, "", "shrink", False),
    ("description_tokens", 20, "--description-tokens", "description_tokens", 20),
    ("grouping", "virtual", "--grouping", "grouping", "virtual"),
    ("group_tools_above", 20, "--threshold", "tool_threshold", 20),
    ("group_tokens_above", 300, "", "tool_tokens", 300),
    ("max_calls", 50, "--max-calls", "max_calls", 50),
    ("repeat_seconds", 5.0, "--repeat-seconds", "repeat_seconds", 5.0),
    ("changes", False, "", "changes", False),
    ("call_timeout", 7.0, "--timeout", "call_timeout", 7.0),
    ("largest_message", 1_000, "", "largest_message", 1_000),
    ("fit_timeout", 0.5, "", "fit_timeout", 0.5),
]


@pytest.mark.parametrize(("name", "value", "flag", "option", "expected"), SETTINGS)
def test_a_setting_holds_from_file_environment_and_flag(
    name: str,
    value: object,
    flag: str,
    option: str,
    expected: object,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert getattr(WrapperOptions(), option) != expected
    (tmp_path / "brim.toml").write_text(f"[mcp]\n{name} = {json.dumps(value)}\n")
    assert getattr(options(), option) == expected
    assert settings.load().origin(f"mcp.{name}") == str(tmp_path / "brim.toml")
    (tmp_path / "brim.toml").unlink()
    if flag:
        assert getattr(options(flag, str(value)), option) == expected
    monkeypatch.setenv(f"BRIM_MCP_{name.upper()}", json.dumps(value).strip('"'))
    assert getattr(options(), option) == expected


def test_every_setting_of_mcp_reaches_the_wrapper() -> None:
    elsewhere = {
        "result_tokens",
        "standard_tokens",
        "compact_tokens",
        "minimal_tokens",
        "exempt",
        "hint_fields",
        "token_env",
        "token_command",
    }
    assert {name for name, *_ in SETTINGS} | elsewhere == set(settings.Mcp.__struct_fields__)


def test_a_flag_goes_before_the_file_and_the_largest_budget_before_those_of_the_levels(tmp_path: Path) -> None:
    text = '[mcp]\nmax_calls = 50\nexempt = ["read_*", "cat"]\nresult_tokens = 900\nminimal_tokens = 100\n'
    (tmp_path / "brim.toml").write_text(text)
    some = options("--max-calls", "3")
    assert (some.max_calls, some.exempt) == (3, ("read_*", "cat"))
    assert some.result_tokens == {"full": 900, "standard": 900, "compact": 900, "minimal": 100}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("level = 'loud'", "mcp.level"),
        ("session_calls = 0", "mcp.session_calls"),
        ("result_tokens = 10", "mcp.result_tokens"),
        ("compact_at = 0.9", "must not fall"),
        ("repeat_seconds = -1", "mcp.repeat_seconds"),
        ("levels = 'auto'", "did you mean level"),
    ],
)
def test_a_setting_that_cannot_hold_is_refused(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "brim.toml").write_text(f"[mcp]\n{text}\n")
    with pytest.raises(BadSetting, match=said):
        options()


def test_a_shape_of_ones_own_is_used(tmp_path: Path) -> None:
    table = """[shapes.people]
tools = ["raw"]
match = ["person_id"]
[shapes.people.compact]
fields = { id = "person_id" }
rest = false
"""
    (tmp_path / "brim.toml").write_text(table)
    shapes = command.options_of(settings.load()).shapes

    async def scene() -> None:
        async with connected(level="compact", shapes=shapes) as client:
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


def test_a_token_comes_from_the_environment_and_never_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("aiohttp")
    monkeypatch.setenv("SOME_TOKEN", "t-1")

    def headers(*arguments: str) -> list[dict[str, str]]:
        return [upstream._headers for upstream in upstreams(*arguments)]  # type: ignore[attr-defined]

    assert headers("--url", "http://x", "--token-env", "SOME_TOKEN") == [{"Authorization": "Bearer t-1"}]
    assert headers("--url", "http://x", "--header", "X-Key: ${SOME_TOKEN}") == [{"X-Key": "t-1"}]
    config = tmp_path / "mcp.json"
    one = {"url": "http://x/${env:ROOM:-main}", "headers": {"Authorization": "Token ${SOME_TOKEN}"}}
    config.write_text(json.dumps({"mcpServers": {"a": one}}))
    assert headers("--config", str(config)) == [{"Authorization": "Token t-1"}]
    (tmp_path / "brim.toml").write_text("[mcp]\ntoken_command = 'print-token --now'\n")
    (upstream,) = upstreams("--url", "http://x")
    assert upstream._login._command == ["print-token", "--now"]  # type: ignore[attr-defined]
    (tmp_path / "brim.toml").unlink()
    monkeypatch.delenv("SOME_TOKEN")
    for wrong in (["--token-env", "SOME_TOKEN"], ["--header", "X-Key: ${SOME_TOKEN}"], ["--config", str(config)]):
        with pytest.raises(BadSetting, match="SOME_TOKEN is not set"):
            upstreams("--url", "http://x", *wrong)


def test_a_configuration_of_vscode_may_have_comments_and_commas_at_the_end(tmp_path: Path) -> None:
    config = tmp_path / "mcp.json"
    config.write_text(
        '{ // my servers\n  "servers": {\n    /* the first */ "a": {"url": "https://a.example.com//x",},\n'
        '    "b": {"command": "y", "args": ["// no, comment ,]"]},\n  },\n}'
    )
    assert [one.name for one in upstreams("--config", str(config))] == ["a", "b"]


def test_a_configured_command_gets_its_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATA", "/data")
    config = tmp_path / "mcp.json"
    one = {"command": "server", "args": ["--root", "${DATA}"], "env": {"KEY": "${DATA}/key"}}
    config.write_text(json.dumps({"mcpServers": {"a": one}}))
    (upstream,) = upstreams("--config", str(config))
    assert isinstance(upstream, StdioUpstream)
    assert upstream._command == ["server", "--root", "/data"]
    assert upstream._env == {"KEY": "/data/key"}
    config.write_text(json.dumps({"mcpServers": {"a": {"args": []}}}))
    with pytest.raises(BadSetting, match="neither command nor url"):
        upstreams("--config", str(config))


@pytest.mark.parametrize(
    "arguments",
    [
        ["--server", "a=x 'open"],
        ["--url", "http://x", "--token-command", "x 'open"],
        [],
        ["--server", "nameless"],
        ["--config", "nowhere.json"],
        ["--url", "http://x", "--header", "bad"],
    ],
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
