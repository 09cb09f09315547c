"""`brim replay`."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import Run
from tests.replays.chats import chat, lines


@pytest.fixture
def traffic(tmp_path: Path) -> str:
    (tmp_path / "traffic.jsonl").write_bytes(lines(chat(10)))
    return "traffic.jsonl"


def test_a_replay_shows_every_policy_at_every_budget(run: Run, traffic: str) -> None:
    done = run("replay", traffic, "--budget", "3k,window", "--policy", "agent,rolling")
    assert done.code == 0
    for words in ("10 requests in 1 conversation: gpt-4o (10)", "agent at 3,000", "rolling at the window"):
        assert words in done.out
    for words in ("prefix reuse", "input cost", "ms p50 / p95", "log result", "traffic.jsonl:", "█"):
        assert words in done.out


def test_the_result_as_json_and_in_files(run: Run, traffic: str, tmp_path: Path) -> None:
    done = run("replay", traffic, "--budget", "3000", "--json", "--out", "found.json", "--chart", "found.svg")
    outcome = done.json["outcomes"][0]
    assert outcome["over_before"] > 0 == outcome["over_after"]
    assert json.loads((tmp_path / "found.json").read_text()) == done.json
    assert ElementTree.parse(tmp_path / "found.svg").getroot().tag.endswith("svg")


def test_requests_come_from_standard_input(run: Run) -> None:
    done = run("replay", "-", "--json", stdin=lines(chat(3)))
    assert done.json["requests"] == 3


def test_one_shot_follows_no_conversation(run: Run, traffic: str) -> None:
    followed = run("replay", traffic, "--budget", "3000", "--sessions", "--json").json
    alone = run("replay", traffic, "--budget", "3000", "--one-shot", "--json").json
    assert (followed["sessions"], alone["sessions"]) == (True, False)
    assert alone["outcomes"][0]["compactions"] == 0 < followed["outcomes"][0]["compactions"]


def test_bad_lines_are_told_and_the_rest_goes_on(run: Run, traffic: str, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_bytes(b"{not json}\n" * 12 + lines(chat(2)))
    done = run("replay", "bad.jsonl", traffic, "--json")
    assert (done.code, done.json["requests"], done.json["left_out"]) == (0, 12, 12)
    assert "left out: bad.jsonl:1: is not JSON" in done.err
    assert "left out: bad.jsonl:10:" in done.err
    assert "bad.jsonl:11:" not in done.err
    assert "left out: 2 more" in done.err


def test_a_terminal_sees_a_bar_and_a_pipe_sees_none(run: Run, traffic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "replaying" not in run("replay", traffic).err
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "━" in run("replay", traffic).err


def test_strict_stops_at_a_bad_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_bytes(lines(chat(1)) + b"{not json}\n")
    done = run("replay", "bad.jsonl", "--strict")
    assert (done.code, done.out) == (2, "")
    assert "brim replay: bad.jsonl:2: is not JSON" in done.err


def test_a_budget_that_refuses_everything_says_so(run: Run, traffic: str, tmp_path: Path) -> None:
    done = run("replay", traffic, "--budget", "10", "--chart", "found.svg")
    assert done.code == 0
    assert "all refused" in done.out
    assert "100%" not in done.out
    assert "all refused" in (tmp_path / "found.svg").read_text()


def test_a_file_without_a_request_is_an_error(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_bytes(b"\n\n")
    done = run("replay", "empty.jsonl")
    assert done.code == 2
    assert "empty.jsonl: holds no request that can be replayed" in done.err


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (["--budget", "many"], "'many' is not a number of tokens"),
        (["--budget", "8k,0"], "0 is not a number of tokens"),
        (["--budget", ","], "names no budget: give such as 8000,32k,window"),
        (["--policy", "gentle"], "'gentle' is not one of agent, rolling, concise, layered"),
    ],
)
def test_a_wrong_flag_says_what_it_may_be(run: Run, traffic: str, flags: list[str], problem: str) -> None:
    done = run("replay", traffic, *flags)
    assert done.code == 2
    assert problem in done.err


def test_settings_of_a_policy_hold_for_it_alone(run: Run, traffic: str, tmp_path: Path) -> None:
    (tmp_path / "brim.toml").write_text('[policy]\nname = "rolling"\nmax_prompt_tokens = 4000\n')
    both = run("replay", traffic, "--policy", "rolling,agent", "--json").json["outcomes"]
    assert both[0]["over_before"] > 0
    assert both[1]["over_before"] == 0
    assert run("replay", traffic, "--json").json["outcomes"][0]["policy"] == "rolling"
