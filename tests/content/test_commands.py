"""What commands print: told without a hint, and shortened to what a reader needs."""

from __future__ import annotations

import re

import pytest

import brim

LOG = "".join(
    f"commit {n:040x}\nAuthor: Ada <ada@example.com>\nDate:   Wed Nov 18 16:{n:02}:35 2026 +0000\n\n"
    f"    Pay order {n} in full\n\n src/orders_{n}.py | {n + 1} +-\n tests/test_orders_{n}.py | 14 ++++\n"
    f" 2 files changed, {n + 15} insertions(+)\n\n"
    for n in range(40)
)
RUST = "".join(
    f"error[E0308]: mismatched types\n  --> src/main.rs:{9 * n + 5}:24\n   |\n5 |     let name: String = 42;\n"
    f"   |               ------   ^^- help: try using a conversion method: `.to_string()`\n   |\n\n"
    f"warning: unused variable: `spare_{n}`\n  --> src/main.rs:{9 * n + 7}:9\n   |\n   = note: on by default\n\n"
    for n in range(12)
)
PS = "USER       PID %CPU COMMAND\n" + "".join(f"root     {n:5}  {n % 7}.0 worker --id {n}\n" for n in range(1, 90))
GREP = "".join(f"src/brim/part_{n % 9}.py:{n}:    return value_{n}\n" for n in range(1, 200))
STAMPS = {
    "bars": "20171223-22:15:{:02}:606|Step_LSC|30002312|onStandStepChanged {}\n",
    "dots": "[10.30 16:49:{:02}] chrome.exe - proxy.cse.example:5070 open through proxy {} HTTPS\n",
    "none": "13468{} node-246 unix.hw state_change.unavailable 107780474{} 1 Component State Change\n",
}


@pytest.mark.parametrize("stamp", STAMPS)
def test_a_log_is_told_whatever_its_time_stamp_looks_like(stamp):
    text = "".join(STAMPS[stamp].format(n, n * 7 % 50) for n in range(10, 50))
    assert brim.compact(text).kind == "log"


@pytest.mark.parametrize(("text", "kind"), [(LOG, "history"), (RUST, "build"), (PS, "table"), (GREP, "matches")])
@pytest.mark.parametrize("share", [0.05, 0.2, 0.6])
def test_a_commands_output_is_told_without_a_hint_and_fits_its_budget(text, kind, share):
    budget = int(brim.compact(text).tokens * share)
    got = brim.compact(text, budget)
    assert got.kind == kind
    assert got.tokens <= budget


def test_a_history_keeps_every_subject_before_any_file():
    got = brim.compact(LOG, 700).text
    assert got.startswith("[git log, 40 commits")
    assert all(f"Pay order {n} in full" in got for n in range(40))


def test_a_build_keeps_every_error_with_its_place_before_its_warnings():
    got = brim.compact(RUST, 160).text
    assert got.startswith("[build output, 12 errors and 12 warnings]")
    assert "error[E0308]: mismatched types" in got
    assert all(f"{9 * n + 5}:24" in got for n in range(12))


def test_webpacks_errors_are_kept_before_its_warnings():
    warnings = "".join(f"WARNING in ./src/w{n}.js 3:4\nexport 'x{n}' was not found\n\n" for n in range(30))
    errors = "".join(f"ERROR in ./src/e{n}.js 1:0\nModule not found: 'gone-{n}'\n\n" for n in range(3))
    got = brim.compact(
        f"asset main.js 5 KiB [emitted]\n\n{warnings}{errors}webpack 5.9 compiled with 3 errors\n", 120
    ).text
    assert all(f"ERROR in ./src/e{n}.js 1:0\nModule not found: 'gone-{n}'" in got for n in range(3))


def test_a_table_keeps_its_header_and_the_row_that_is_asked_for():
    got = brim.compact(PS, 120, query="worker 77").text
    assert got.startswith("[table, 89 rows]\nUSER  PID %CPU COMMAND")
    assert "worker --id 77" in got


def test_a_search_shows_a_match_of_every_file_before_a_second_of_any():
    got = brim.compact(GREP, 200).text
    assert got.startswith("[search, 199 matches in 9 files]")
    assert all(f"src/brim/part_{n}.py:" in got for n in range(9))


def test_what_is_missing_is_said_in_one_place():
    for text in (LOG, RUST, PS, GREP):
        assert brim.compact(text, 200).text.count("…") == 1


@pytest.mark.parametrize("share", [0.2, 0.3])
def test_every_error_keeps_its_line_however_small_the_room(share):
    lines = "".join(
        f'shop/{name}.py:{n}: error: Argument {n % 3 + 1} to "pay" has incompatible type "int"; expected "str"\n'
        for name in ("till", "desk")
        for n in range(3, 90, 7)
    )
    text = lines + "Found 26 errors in 2 files (checked 4 source files)\n"
    got = brim.compact(text, int(brim.count(text, model="gpt-4o").tokens * share)).text
    assert got.startswith("[build output, 26 errors]")
    assert all(re.search(rf"(?<!\d){n}(?!\d)", got) for n in range(3, 90, 7))


def test_compilers_that_name_no_severity_are_read():
    text = "# example.com/broken\n" + "".join(
        f'./main.go:{n}:16: cannot use "text" (untyped string constant) as int value in variable declaration\n'
        for n in range(9, 60, 5)
    )
    assert brim.compact(text, 70, "build").text.startswith("[build output, 11 errors]\n")
