"""The `brim` command itself, and `models`, `settings` and `search`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import brim
from brim.cli import COMMANDS
from tests.cli.conftest import Run


@pytest.mark.parametrize("args", [(), ("--help",), ("help",)])
def test_without_a_command_the_overview_lists_them_all(run: Run, args: tuple[str, ...]) -> None:
    done = run(*args)
    assert done.code == 0
    assert all(f"  {name} " in done.out for name in COMMANDS)


def test_the_version_is_that_of_the_package(run: Run) -> None:
    assert run("--version").out == f"brim {brim.__version__}\n"


def test_the_package_runs_as_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "brim", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"brim {brim.__version__}\n"


def test_a_command_that_is_not_there_is_named(run: Run) -> None:
    done = run("shrink")
    assert (done.code, done.out) == (2, "")
    assert "there is no command 'shrink'" in done.err


@pytest.mark.parametrize("name", ["count", "fit", "explain", "compact", "models", "settings", "search"])
def test_every_command_helps_with_examples(run: Run, name: str) -> None:
    done = run(name, "--help")
    assert done.code == 0
    assert "examples:" in done.out


def test_a_flag_that_is_not_there_gives_exit_code_2(run: Run) -> None:
    done = run("count", "--modle", "gpt-4o")
    assert done.code == 2
    assert "--modle" in done.err


def test_models_are_listed_by_pattern(run: Run) -> None:
    names = [line.split()[0] for line in run("models", "claude-sonnet-4-5").out.splitlines()]
    assert "claude-sonnet-4-5" in names
    assert run("models", "gpt-4o*").code == 0


def test_the_model_that_a_name_means_is_listed_first(run: Run) -> None:
    rows = [line.split() for line in run("models", "gpt-4o").out.splitlines()[1:]]
    assert rows[0][:2] == ["gpt-4o", "openai"]
    assert ["gpt-4o", "azure"] in [row[:2] for row in rows]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (("fit", "x", "--policy", "nope"), "there is no policy 'nope': give one of agent, rolling"),
        (("fit", "x", "--budget", "abc"), "fit: --budget: 'abc' is not a number"),
        (("sessions",), "name what to do: list, show"),
        (("serve", "--hlp"), "serve --help lists its flags"),
    ],
)
def test_wrong_use_is_answered_in_words_of_the_command(run: Run, wrong: tuple[str, ...], told: str) -> None:
    assert told in run(*wrong).err


def test_models_come_as_json_lines(run: Run) -> None:
    lines = run("models", "gpt-4o-mini", "--json").out.splitlines()
    assert all('"window"' in line and "gpt-4o-mini" in line for line in lines)
    assert lines


def test_models_that_are_not_there_bring_near_names(run: Run) -> None:
    done = run("models", "claude-sonet-4-5")
    assert done.code == 2
    assert "did you mean claude-sonnet-4-5" in done.err
    assert run("models", "no-such-model*", "--json").code == 1


def test_settings_say_where_they_come_from(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "brim.toml").write_text("[gateway]\nport = 9100\n")
    monkeypatch.setenv("BRIM_GATEWAY_HOST", "0.0.0.0")
    rows = {row["setting"]: row for row in run("settings", "--json").json}
    assert rows["gateway.port"]["value"] == "9100"
    assert "brim.toml" in rows["gateway.port"]["from"]
    assert rows["gateway.host"]["from"] == "environment BRIM_GATEWAY_HOST"
    assert rows["store.max_age_days"]["from"] == "default"
    assert "9100" in run("settings").out


def test_the_reference_lists_every_setting_with_its_meaning(run: Run) -> None:
    rows = run("settings", "--reference", "--json").json
    assert all(row["meaning"] for row in rows)
    assert {"gateway.port", "store.path"} <= {row["setting"] for row in rows}


def test_a_bad_settings_file_is_refused_with_file_and_key(run: Run, tmp_path: Path) -> None:
    (tmp_path / "brim.toml").write_text('[gateway]\nport = "many"\n')
    done = run("settings")
    assert done.code == 2
    assert "brim.toml" in done.err
    assert "gateway.port" in done.err


def test_search_finds_documents_and_says_when_there_are_none(run: Run, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "refunds.md").write_text("# Refunds\n\nA refund takes ten days.\n")
    (tmp_path / "docs" / "parking.md").write_text("# Parking\n\nParking is free at night.\n")
    found = run("search", "docs", "refund", "--json")
    assert found.code == 0
    assert [hit["path"] for hit in found.json["hits"]] == ["refunds.md"]
    assert "ten days" in run("search", "docs", "refund").out
    assert run("search", "docs").code == 0
    assert run("search", "docs", "zebra").code == 1


def test_search_in_a_folder_that_is_not_there_finds_nothing(run: Run) -> None:
    done = run("search", "nowhere", "refund")
    assert done.code == 1
    assert done.out == "No feature files found\n"


def test_a_misspelt_command_brings_the_near_one(run: Run) -> None:
    done = run("expalin")
    assert done.code == 2
    assert done.err == "brim: there is no command 'expalin'\ndid you mean explain?\n"


def test_a_gateway_that_does_not_run_gives_exit_code_1_and_says_how_to_start_it(run: Run) -> None:
    done = run("status", "--url", "http://127.0.0.1:9/brim/")
    assert done.code == 1
    assert done.err == "brim status: no gateway answers at http://127.0.0.1:9: start one with `brim serve`\n"


@pytest.mark.parametrize("command", ["status", "top"])
def test_an_address_that_is_none_is_refused(run: Run, command: str) -> None:
    done = run(command, "--url", "localhost:8787")
    assert done.code == 2
    assert "--url: 'localhost:8787' is not an address such as http://127.0.0.1:8787" in done.err


def test_a_listing_of_models_that_no_terminal_shows_cuts_no_name(run: Run) -> None:
    names = {line.split()[0] for line in run("models").out.splitlines()[1:-1]}
    assert {"gpt-4o-mini-audio-preview-2024-12-17", "claude-sonnet-4-5"} <= names


def test_the_settings_of_the_chosen_policy_are_shown(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRIM_POLICY", "rolling")
    rows = {row["setting"]: row for row in run("settings", "--json").json}
    assert rows["policy.max_prompt_tokens"]["value"] == "8192"
    assert "policy.history_chars" not in rows
