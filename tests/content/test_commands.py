"""What commands print: told without a hint, and shortened to what a reader needs."""

from __future__ import annotations

import re

import pytest

import brim
from brim.content.commands import build
from brim.content.types import Room
from brim.tokens import text_counter

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
    assert got.startswith("[search, 199 matches in 9 files under src/brim/]")
    assert all(f"\npart_{n}.py (2" in got for n in range(9))


def test_a_text_that_many_files_share_is_shown_once_with_how_often():
    lines = [f"src/part_{n}.py:{at}:{text}" for n in range(30) for at, text in ((1, "import re"), (9, f"run({n})"))]
    got = brim.compact("\n".join(lines), 300).text
    assert got.count("import re") == 1
    assert "import re (×30)" in got
    assert got.count("run(") > 10


BLAME = "\n".join(
    f"{name} (Ana Lopez {day} 02:00:45 +0000 {n:3}) line_{n} = {n}"
    for name, day, first in (("6d739e07", "2026-11-16", 1), ("4bf9fbe2", "2026-11-18", 31))
    for n in range(first, first + 30)
)


def test_blame_names_every_commit_with_its_lines():
    got = brim.compact(BLAME, 200).text
    assert got.startswith("[git blame, 60 lines of 2 commits]\n6d739e07 Ana Lopez 2026-11-16: 1-30\n")
    assert "\n4bf9fbe2 Ana Lopez 2026-11-18: 31-60\n" in got
    assert "\n1) line_1 = 1\n" in got
    assert got.count("…") == 1


HELP = "Usage: dock [OPTIONS] COMMAND\n\nCommands:\n" + "".join(
    f"  verb{n}      Do the thing number {n} to what is named, and say what came of it\n" for n in range(40)
)


def test_a_help_text_names_every_command_before_it_explains_any():
    got = brim.compact(HELP, 200).text
    assert "Usage: dock [OPTIONS] COMMAND" in got
    assert all(f"verb{n}" in got for n in range(40))


def test_rows_unlike_the_others_outlast_the_usual_ones():
    rows = [f"root {n:5} 0.0 0.0 0 0 ? I< 04:12 0:00 [kworker/{n}]" for n in range(2, 200)]
    rows[120] = "ana 122 97.5 8.1 605979 120442 pts/1 R 04:15 2:04 python train.py"
    table = "USER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND\n" + "\n".join(rows)
    assert "python train.py" in brim.compact(table, 200, "table").text


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


def test_a_long_list_of_errors_keeps_every_place_at_a_ninth_of_its_tokens():
    kinds = [
        "Missing semicolon  semi", "'n{}' is not defined  no-undef", "Unexpected var, use let instead  no-var",
        "Function 'f{}' expected a return value  consistent-return",
    ]  # fmt: skip
    places = [(f"lib/{'abc'[n % 3]}/module_{n % 7}.js", 13 * n % 997 + 1, kinds[n % 4]) for n in range(400)]
    rows = [f"{path}({line},{n % 60}): error: {said.format(n)}" for n, (path, line, said) in enumerate(places)]
    text = "\n".join(rows)
    made = brim.compact(text, text_counter("gpt-4o")(text) // 9).text
    assert "400 errors" in made.split("\n")[0]
    signs = dict(re.findall(r"^([a-z]) (\S.*)$", made, re.M))
    folder, found = "", set()
    for row in made.split("\n"):
        if row.endswith("/"):
            folder = row
        elif match := re.match(r"(\s?)(\S+\.js) (.+)$", row):
            for sign, lines in re.findall(r"([a-z])([\d,-]+)", match[3]):
                for part in lines.split(","):
                    first, _, last = part.partition("-")
                    path = folder * bool(match[1]) + match[2]
                    found |= {(path, line, signs[sign][:8]) for line in range(int(first), int(last or first) + 1)}
    missed = [
        (path, line) for path, line, said in places
        if not any(path.endswith(where) and line == at and words.split()[-1] in said for where, at, words in found)
    ]  # fmt: skip
    assert not missed


def test_what_does_not_fit_of_a_list_of_errors_is_counted_in_its_first_line():
    text = "\n".join(f"a.go:{n * 7}:1: cannot use name{n} as int value" for n in range(200))
    made = brim.compact(text, 120).text
    shown = re.match(r"\[build output, (\d+) of 200 errors\]", made)
    assert shown
    assert len(re.findall(r"\d+", made.split("\n")[1])) >= int(shown[1]) > 30


def test_errors_whose_place_is_set_in_below_their_file_are_a_build():
    rows = [f'  /w/app/m{n % 3}.py:{n}:5 - error: "x{n}" is possibly unbound (reportUnbound)' for n in range(1, 40)]
    made = brim.compact("\n".join(["/w/app/m1.py", *rows, "39 errors, 0 warnings"]), 200)
    assert made.kind == "build"
    assert "39 errors" in made.text


def test_errors_outlast_warnings_in_every_room():
    lines = ["/app/one.js"]
    for n in range(1, 40, 5):
        lines.append(f"   {n}:10  error    'pay_{n}' is defined but never used  no-unused-vars")
        lines.append(f"   {n}:16  warning  Strings must use doublequote       quotes")
    text = "\n".join([*lines, "", "✖ 16 problems (8 errors, 8 warnings)", ""])
    for tokens in range(40, 160):
        assert brim.compact(text, tokens).text.startswith("[build output, ")


def test_a_build_that_only_warns_fits_the_smallest_rooms():
    text = "".join(f"src/a{at}.c:{at}:5: warning: unused variable 'x{at}' [-Wunused-variable]\n" for at in range(1, 40))
    count = text_counter("gpt-4o")
    for tokens in range(24):
        assert count(build.extract(text, Room(tokens, count, "brim:3f2a9c01", True, ""))) <= tokens


def test_counts_of_matches_are_shown_by_file_most_first():
    lines = [f"/srv/app/part_{n:03}.py:{n * 7 % 101}" for n in range(120)]
    got = brim.compact("\n".join(lines), 300, "matches").text
    assert got.startswith(f"[search, {sum(n * 7 % 101 for n in range(120)):,} matches in 120 files under /srv/app/]")
    assert f"part_{next(n for n in range(120) if n * 7 % 101 == 100):03}.py:100" in got


def test_a_room_of_a_few_lines_holds_a_few_lines():
    log = "\n".join(
        f"I, [2026-11-19T04:57:18.{n:06} #21825]  INFO -- : crate {n} weighed {n * 3} kg" for n in range(99)
    )
    got = brim.compact(log, 130).text
    assert got.count("crate") >= 2


def test_where_no_error_fits_no_warning_takes_its_place():
    report = "src/main.rs:{0}:24: error[E0308]: mismatched types: expected `String`, found integer of another kind\n"
    text = (
        "    Checking shop v0.1.0\nsrc/main.rs:1:5: warning: unused import: `std::collections::HashMap`\n"
        + "".join(report.format(n) for n in range(4, 60, 4))
        + 'warning: `shop` (bin "shop") generated 1 warning\n'
        + "error: could not compile `shop` due to 14 previous errors\n"
    )
    assert "[build output, 15 errors and 2 warnings]" in brim.compact(text, 40).text
    assert "warning:" not in brim.compact(text, 40).text
    assert "main.rs 4,8,12" in brim.compact(text, 48).text


TIDY = "".join(f"line {n} column {n % 7 + 1} - Warning: missing </b> before </div>\n" for n in range(1, 40))
OCAML = "".join(
    f'File "a{n}.ml", line {n}, characters 11-14:\n{n} | let g = f "x"\n               ^^^\n'
    "Error: This expression has type string but an expression was expected of type int\n"
    for n in range(1, 9)
)
SHELLCHECK = "".join(
    f"\nIn deploy.sh line {n}:\nfor f in $(ls *.txt); do echo $f; done\n         ^---------^ SC2045 (error): Iterating "
    "over ls output is fragile. Use globs.\n              ^-- SC2035 (info): Use ./*glob* for names with dashes.\n"
    for n in range(2, 20)
)
YAMLLINT = "conf/a.yaml\n" + "".join(
    f"  {n}:14      error    too many spaces after colon  (colons)\n" for n in range(40)
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TIDY, "missing </b> before </div>: 1-39"),
        (OCAML, "a1.ml"),
        (SHELLCHECK, "SC2045"),
        (YAMLLINT, "too many spaces after colon"),
    ],
)
def test_a_report_of_any_layout_is_told_by_its_places_and_complaints(text, said):
    got = brim.compact(text, 240)
    assert got.kind == "build"
    assert said in got.text
