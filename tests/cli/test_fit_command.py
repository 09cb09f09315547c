"""`brim fit` and `brim explain`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import brim
from tests.cli.conftest import Run

Chat = list[dict[str, Any]]


@pytest.fixture
def file(tmp_path: Path, chat: Chat) -> str:
    (tmp_path / "chat.json").write_text(json.dumps(chat))
    return "chat.json"


def test_a_messages_file_comes_out_within_its_budget(run: Run, file: str, chat: Chat) -> None:
    done = run("fit", file, "--model", "gpt-4o", "--budget", "1000")
    assert done.code == 0
    assert brim.count(done.json, model="gpt-4o").tokens <= 1_000
    assert (done.json[0], done.json[-1]) == (chat[0], chat[-1])
    assert "tokens" in done.err


def test_a_body_from_standard_input_comes_out_as_a_body(run: Run, chat: Chat) -> None:
    body = {"model": "gpt-4o", "messages": chat, "temperature": 0.5}
    fitted = run("fit", "-", "--budget", "1000", stdin=json.dumps(body)).json
    assert (fitted["temperature"], fitted["model"]) == (0.5, "gpt-4o")
    assert len(fitted["messages"]) < len(chat)


def test_a_request_that_fits_comes_out_byte_for_byte(run: Run, chat: Chat) -> None:
    raw = json.dumps({"model": "gpt-4o", "messages": chat}, indent=3)
    assert run("fit", "-", stdin=raw).out == raw + "\n"


def test_the_fitted_request_may_go_to_a_file(run: Run, file: str, tmp_path: Path) -> None:
    done = run("fit", file, "--model", "gpt-4o", "--budget", "1000", "--out", "fitted.json")
    assert (done.code, done.out) == (0, "")
    assert brim.count(json.loads((tmp_path / "fitted.json").read_text()), model="gpt-4o").tokens <= 1_000


def test_the_report_as_json_has_every_decision_with_its_reason(run: Run, file: str) -> None:
    report = run("fit", file, "--model", "gpt-4o", "--budget", "1000", "--json").json
    assert report["after"] <= report["limit"] == 1_000 < report["before"]
    assert all(decision["reason"] for decision in report["decisions"])
    assert report == run("explain", file, "--model", "gpt-4o", "--budget", "1000", "--json").json


def test_explain_shows_the_layers_and_the_items(run: Run, file: str) -> None:
    done = run("explain", file, "--model", "gpt-4o", "--budget", "1000")
    assert done.code == 0
    for words in ("of 1,000 tokens", "L1 instructions", "L4 history", "L5 current message", "archived"):
        assert words in done.out


def test_explain_lists_every_changed_item_and_unchanged_ones_by_runs(run: Run, tmp_path: Path) -> None:
    sample = tmp_path / "sample.json"
    run("demo", "--save", str(sample))
    asked = ("explain", str(sample), "--budget", "8000")
    tree = run(*asked).out.partition(" items\n")[2]
    decisions = run(*asked, "--json").json["decisions"]
    changed = [one["item"].replace(".parts[0]", "") for one in decisions if one["before"] != one["after"]]
    assert changed
    assert all(f"{item} " in tree for item in changed)
    assert len(tree.splitlines()) < len(decisions)
    assert " – [" in tree


def test_fit_explains_on_standard_error(run: Run, file: str) -> None:
    done = run("fit", file, "--model", "gpt-4o", "--budget", "1000", "--explain")
    assert "L4 history" in done.err
    assert json.loads(done.out)


def test_a_reserve_is_kept_free_of_the_budget(run: Run, file: str) -> None:
    fitted = run("fit", file, "--model", "gpt-4o", "--budget", "1500", "--reserve", "500").json
    assert brim.count(fitted, model="gpt-4o").tokens <= 1_000


@pytest.mark.parametrize("policy", ["agent", "rolling", "concise", "layered"])
def test_every_policy_has_its_name(run: Run, file: str, policy: str) -> None:
    report = run("explain", file, "--model", "gpt-4o", "--budget", "900", "--policy", policy, "--json").json
    assert report["policy"] == policy
    assert report["after"] <= 900


def test_the_policy_of_brim_toml_holds_unless_another_is_named(run: Run, file: str, tmp_path: Path) -> None:
    (tmp_path / "brim.toml").write_text('[policy]\nname = "rolling"\nrecent_messages_to_keep = 4\n')
    assert run("explain", file, "--model", "gpt-4o", "--json").json["policy"] == "rolling"


def test_a_model_of_brim_toml_is_known(run: Run, file: str, tmp_path: Path) -> None:
    (tmp_path / "brim.toml").write_text('[models.house-model-7]\nwindow = 4000\nmax_output = 1000\nfamily = "o200k"\n')
    report = run("explain", file, "--model", "house-model-7", "--json").json
    assert report["limit"] == 3_000
    assert report["after"] <= 3_000


def test_a_budget_that_cannot_hold_gives_exit_code_1_and_what_had_to_stay(run: Run, file: str) -> None:
    done = run("fit", file, "--model", "gpt-4o", "--budget", "20")
    assert (done.code, done.out) == (1, "")
    assert "the parts that must stay need" in done.err
    assert "the budget is 20" in done.err


@pytest.mark.parametrize(
    ("stdin", "words"),
    [
        ("just text", "standard input: is no request"),
        ('{"messages": [', "standard input: is not JSON"),
        ("[]", "standard input: is no request"),
        ('[{"role": "user", "content": "a"}, {"content": "b"}]', "messages[1].role: is missing"),
        ('{"messages": [{"role": "user", "content": [{"text": "x"}]}]}', "messages[0].content[0].type: is missing"),
        ('{"messages": [{"role": "tool", "tool_call_id": "c", "content": "x"}]}', "messages[0]: answers the call 'c'"),
    ],
)
def test_what_is_no_request_is_refused_with_the_place(run: Run, stdin: str, words: str) -> None:
    done = run("fit", "-", "--model", "gpt-4o", "--budget", "500", stdin=stdin)
    assert (done.code, done.out) == (2, "")
    assert words in done.err


def test_a_bad_setting_is_refused_with_its_name(run: Run, file: str, tmp_path: Path) -> None:
    (tmp_path / "brim.toml").write_text("[policy]\nrecent_messages_to_kep = 4\n")
    done = run("fit", file, "--model", "gpt-4o", "--budget", "900")
    assert done.code == 2
    assert "recent_messages_to_kep" in done.err


@pytest.mark.parametrize("budget", ["1000", "1_000", "1,000", "1k", "1K", "0.001M"])
def test_a_budget_may_be_written_as_people_write_numbers(run: Run, file: str, budget: str) -> None:
    assert run("explain", file, "--model", "gpt-4o", "--budget", budget, "--json").json["limit"] == 1_000


@pytest.mark.parametrize("budget", ["0", "-5", "some", "1.5", "8kk", ""])
def test_a_budget_that_is_no_number_of_tokens_is_refused(run: Run, file: str, budget: str) -> None:
    done = run("fit", file, "--model", "gpt-4o", f"--budget={budget}")
    assert done.code == 2
    assert "is not a number of tokens" in done.err


def test_what_left_the_request_is_written_by_its_handles(run: Run, file: str, chat: Chat, tmp_path: Path) -> None:
    fitted = run("fit", file, "--model", "gpt-4o", "--budget", "1000", "--archive", "originals.json").json
    originals = json.loads((tmp_path / "originals.json").read_text())
    assert all(re.fullmatch(r"brim:[0-9a-f]{8}", handle) for handle in originals)
    gone = [message["content"] for message in chat if message not in fitted]
    assert gone
    assert all(any(text in original for original in originals.values()) for text in gone)


def test_a_folder_that_is_not_there_is_named(run: Run, file: str) -> None:
    done = run("fit", file, "--model", "gpt-4o", "--out", "nowhere/fitted.json")
    assert done.code == 2
    assert "there is no folder 'nowhere'" in done.err


LONE = '[{"role": "user", "content": "lone \\ud83d here"}]'


@pytest.mark.parametrize("where", ["printed", "written"])
def test_half_of_a_surrogate_pair_comes_out_as_json_escapes_it(run: Run, tmp_path: Path, where: str) -> None:
    done = run("fit", "-", "--model", "gpt-4o", *(["--out", "out.json"] if where == "written" else []), stdin=LONE)
    assert done.code == 0
    text = (tmp_path / "out.json").read_text() if where == "written" else done.out
    assert json.loads(text) == json.loads(LONE)
    assert run("count", "-", "--model", "gpt-4o", stdin=LONE).code == 0


def test_either_both_files_are_written_or_none(run: Run, file: str, tmp_path: Path) -> None:
    (tmp_path / "out.json").write_text("before")
    more = ("--out", "out.json", "--archive", "missing/archive.json")
    done = run("fit", file, "--model", "gpt-4o", "--budget", "1000", *more)
    assert (done.code, done.out) == (2, "")
    assert "there is no folder 'missing'" in done.err
    assert (tmp_path / "out.json").read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["chat.json", "out.json"]


def test_out_and_archive_are_two_files(run: Run, file: str) -> None:
    done = run("fit", file, "--model", "gpt-4o", "--budget", "1000", "--out", "a.json", "--archive", "a.json")
    assert done.code == 2
    assert "give another file" in done.err


@pytest.mark.parametrize(("out", "archive"), [("./a.json", "a.json"), ("link.json", "a.json"), ("a.json", "hard.json")])
def test_one_file_is_not_two_however_it_is_spelled(run: Run, file: str, tmp_path: Path, out: str, archive: str) -> None:
    (tmp_path / "a.json").write_text("before")
    (tmp_path / "link.json").symlink_to("a.json")
    (tmp_path / "hard.json").hardlink_to(tmp_path / "a.json")
    done = run("fit", file, "--model", "gpt-4o", "--budget", "1000", "--out", out, "--archive", archive)
    assert done.code == 2
    assert f"--archive: '{archive}' is what --out names" in done.err
    assert (tmp_path / "a.json").read_text() == "before"


@pytest.mark.parametrize("whole", [True, False])
def test_a_file_may_begin_with_the_mark_of_utf_8(run: Run, chat: list[dict[str, Any]], whole: bool) -> None:
    data = json.dumps({"model": "gpt-4o", "messages": chat} if whole else chat).encode()
    for command in (
        ("fit", "-", "--budget", "1000", "--model", "gpt-4o"),
        ("count", "-", "--model", "gpt-4o", "--json"),
    ):
        assert run(*command, stdin=b"\xef\xbb\xbf" + data).json == run(*command, stdin=data).json


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full is Linux's own")
def test_a_full_disk_is_one_line_that_names_the_file(run: Run, file: str) -> None:
    done = run("fit", file, "--model", "gpt-4o", "--budget", "1000", "--out", "/dev/full")
    assert done.code == 2
    assert done.err == "brim fit: '/dev/full': No space left on device\n"


def test_a_reserve_is_written_like_a_budget_and_leaves_something_of_it(run: Run, file: str) -> None:
    done = run("fit", file, "--model", "gpt-4o", "--budget", "2k", "--reserve", "1k")
    assert brim.count(done.json, model="gpt-4o").tokens <= 1_000
    assert run("fit", file, "--model", "gpt-4o", "--budget", "2k", "--reserve", "0").code == 0
    done = run("fit", file, "--model", "gpt-4o", "--budget", "2k", "--reserve", "2k")
    assert done.code == 2
    assert "reserve: 2,000 tokens leave nothing of the budget of 2,000" in done.err
