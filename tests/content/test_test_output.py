from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rooms import budgets, count, room, stays_inside, texts

from brim.content import test_output
from brim.errors import NotDecodable

PYTEST = """\
============================= test session starts ==============================
platform linux -- Python 3.12.1, pytest-8.2.2
collected 400 items

{passed}
=================================== FAILURES ===================================
_________________________ TestCart.test_total_with_tax _________________________

    def test_total_with_tax(self):
>       assert cart.total() == 107
E       AssertionError: assert 100 == 107
E        +  where 100 = total()

tests/test_cart.py:31: AssertionError
=========================== short test summary info ============================
FAILED tests/test_cart.py::TestCart::test_total_with_tax - AssertionError: asser...
ERROR tests/test_pay.py - ModuleNotFoundError: No module named 'stripe'
=================== 1 failed, 398 passed, 1 error in 5.59s ====================
"""
UNITTEST = """\
{passed}
======================================================================
FAIL: test_rounding (shop.tests.MoneyTests)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/app/shop/tests.py", line 12, in test_rounding
    self.assertEqual(round_money(1.005), 1.01)
AssertionError: 1.0 != 1.01

----------------------------------------------------------------------
Ran 301 tests in 1.893s

FAILED (failures=1)
"""
JEST = """\
PASS src/a.test.js
{passed}
FAIL src/cart.test.js
  Cart
    ✓ adds items (3 ms)
    ✕ applies the discount (5 ms)

  ● Cart › applies the discount

    expect(received).toBe(expected) // Object.is equality

    Expected: 90
    Received: 100

      at Object.<anonymous> (src/cart.test.js:14:25)

Tests:       1 failed, 240 passed, 241 total
"""
GO = """\
{passed}
--- FAIL: TestParseHeader (0.00s)
    parse_test.go:42: got "a", want "b"
panic: runtime error: index out of range [3] with length 3
FAIL
FAIL\texample.com/app/parse\t0.012s
"""
CARGO = """\
{passed}
test parse::tests::reads_header ... FAILED

failures:

---- parse::tests::reads_header stdout ----
thread 'parse::tests::reads_header' panicked at src/parse.rs:12:9:
assertion `left == right` failed
  left: 3
 right: 4

test result: FAILED. 120 passed; 1 failed; 0 ignored
error: test failed, to rerun pass `--lib`
"""
GCC = """\
{passed}
src/net/socket.c:118:14: error: 'struct conn' has no member named 'fd'
src/net/socket.c:118:14: note: did you mean 'sfd'?
make[1]: *** [Makefile:88: socket.o] Error 1
make: *** [Makefile:12: all] Error 2
"""
TSC = """\
{passed}
src/app.ts(14,7): error TS2322: Type 'string' is not assignable to type 'number'.
Found 1 error in src/app.ts:14
npm ERR! code ELIFECYCLE
"""
MAVEN = """\
{passed}
[ERROR] Tests run: 12, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.5 s <<< FAILURE! - in com.acme.CartTest
[ERROR] com.acme.CartTest.appliesDiscount:41 expected:<90> but was:<100>
[INFO] BUILD FAILURE
"""
RUNS = {
    "pytest": (
        PYTEST,
        "tests/test_many.py::test_number_{} PASSED",
        [
            "FAILED tests/test_cart.py::TestCart::test_total_with_tax - AssertionError: asser...",
            "ERROR tests/test_pay.py - ModuleNotFoundError: No module named 'stripe'",
            "E       AssertionError: assert 100 == 107",
            "=================== 1 failed, 398 passed, 1 error in 5.59s ====================",
        ],
    ),
    "unittest": (
        UNITTEST,
        "test_case_{} (shop.tests.MoneyTests) ... ok",
        ["FAIL: test_rounding (shop.tests.MoneyTests)", "AssertionError: 1.0 != 1.01", "FAILED (failures=1)"],
    ),
    "jest": (
        JEST,
        "    ✓ does thing number {} (2 ms)",
        [
            "    ✕ applies the discount (5 ms)",
            "    Expected: 90",
            "    Received: 100",
            "Tests:       1 failed, 240 passed, 241 total",
        ],
    ),
    "go": (
        GO,
        "--- PASS: TestCase{} (0.00s)",
        [
            "--- FAIL: TestParseHeader (0.00s)",
            '    parse_test.go:42: got "a", want "b"',
            "panic: runtime error: index out of range [3] with length 3",
        ],
    ),
    "cargo": (
        CARGO,
        "test parse::tests::case_{} ... ok",
        [
            "test parse::tests::reads_header ... FAILED",
            "thread 'parse::tests::reads_header' panicked at src/parse.rs:12:9:",
            "  left: 3",
            "test result: FAILED. 120 passed; 1 failed; 0 ignored",
        ],
    ),
    "gcc": (
        GCC,
        "gcc -O2 -c -o obj/file{}.o src/file{}.c",
        [
            "src/net/socket.c:118:14: error: 'struct conn' has no member named 'fd'",
            "make: *** [Makefile:12: all] Error 2",
        ],
    ),
    "tsc": (
        TSC,
        "> building module {}",
        [
            "src/app.ts(14,7): error TS2322: Type 'string' is not assignable to type 'number'.",
            "Found 1 error in src/app.ts:14",
        ],
    ),
    "maven": (
        MAVEN,
        "[INFO] Running com.acme.Case{}Test",
        ["[ERROR] com.acme.CartTest.appliesDiscount:41 expected:<90> but was:<100>", "[INFO] BUILD FAILURE"],
    ),
}


def run_of(name: str, passed: int = 300) -> str:
    form, line, _ = RUNS[name]
    return form.replace("{passed}", "\n".join(line.replace("{}", str(i)) for i in range(passed)))


pieces = st.lists(
    st.one_of(
        st.sampled_from([line for form, _, _ in RUNS.values() for line in form.split("\n")]),
        st.builds("PASSED tests/test_a.py::test_{}".format, st.integers(0, 300)),
        st.text(alphabet="=- E>:FAILED«·»\x1b[31m", max_size=30),
    ),
    max_size=60,
).map("\n".join)


@given(st.one_of(texts, pieces), budgets, texts)
def test_an_extract_never_exceeds_its_room(text, tokens, query):
    stays_inside(test_output.extract, text, tokens, query[:30])


@given(st.one_of(texts, pieces, pieces.map(lambda text: "\n".join([text] * 3))))
def test_the_dense_form_decodes_to_the_same_text(text):
    form = test_output.dense(text)
    assert form is None or (test_output.decode(form) == text and len(form) < len(text))


@pytest.mark.parametrize("name", RUNS)
def test_what_failed_and_why_stays_while_what_passed_goes(name):
    text = run_of(name)
    got = test_output.extract(text, room(250, handle="brim:3f2a")).split("\n")
    assert [line for line in RUNS[name][2] if line not in got] == []


@pytest.mark.parametrize("name", RUNS)
def test_every_kept_line_is_a_line_of_the_run(name):
    text = run_of(name)
    lines = {*text.split("\n"), "…"}
    got = test_output.extract(text, room(200)).split("\n")
    assert got[0] == f"[test output, {text.count(chr(10)) + 1:,} lines]"
    assert [line for line in got[1:-1] if line not in lines] == []
    assert got[-1].startswith("[… ")


def test_many_failing_ids_are_kept_whole_and_the_same_exception_is_kept_once():
    ids = [f"tests/test_scales.py::TestScale::test_case_{i}" for i in range(40)]
    why = "\n".join(
        f"___ {name} ___\nE   AttributeError: no attribute 'x'\n\ntests/a.py:{i}: AttributeError"
        for i, name in enumerate(ids)
    )
    text = why + "\n" + "\n".join(f"FAILED {name} - AttributeError: no att..." for name in ids) + "\n"
    got = test_output.extract(text, room(1200))
    assert all(name in got for name in ids)
    first = test_output.extract(text, room(500))
    assert first.count("E   AttributeError: no attribute 'x'") == 1


def test_titles_of_failures_stay_where_no_summary_names_them():
    text = "\n".join(f"test_case_{i} ok" for i in range(300)) + (
        "\n____ TestCart.test_total ____\n\n    code here\nE   assert 1 == 2\n\n"
        "____ test_pay[card] ____\nE   assert 3 == 4\n"
        "_________ lib/core/tests/test_basic.py:test_free_symbols __________\n  more\n"
    )
    got = test_output.extract(text, room(120)).split("\n")
    assert "____ TestCart.test_total ____" in got
    assert "____ test_pay[card] ____" in got
    assert "_________ lib/core/tests/test_basic.py:test_free_symbols __________" in got


def test_failing_ids_that_do_not_fit_line_by_line_stand_together_by_file():
    lines = [f"FAILED tests/test_scale.py::test_number_{i} - AttributeError: 'Scale' obj..." for i in range(60)]
    got = test_output.extract("\n".join(lines), room(500)).split("\n")
    names = next(line for line in got if line.startswith("tests/test_scale.py: ")).partition(": ")[2].split(", ")
    assert names == [f"test_number_{i}" for i in range(60)]


def test_colour_codes_go_and_the_result_says_so():
    text = (
        "\n".join(f"\x1b[32mok {i} some passing test\x1b[0m" for i in range(200))
        + "\n\x1b[31mFAILED tests/a.py::test_b\x1b[0m\n"
    )
    got = test_output.extract(text, room(150))
    assert "FAILED tests/a.py::test_b" in got.split("\n")
    assert got.startswith("[test output, 202 lines, colour codes removed]")
    assert "\x1b" not in got


def test_lines_of_the_query_stay():
    text = run_of("pytest")
    assert "test_number_217 PASSED" in test_output.extract(text, room(250, "did test_number_217 pass?"))


def test_verbose_lists_of_passing_tests_get_smaller_without_loss():
    text = run_of("pytest")
    form = test_output.dense(text)
    assert form is not None
    assert test_output.decode(form) == text
    assert count(form) < 0.7 * count(text)


@pytest.mark.parametrize("text", ["", "x\ny", "#brim test: other", "#brim log: x"])
def test_what_is_no_dense_test_output_is_not_decoded(text):
    with pytest.raises(NotDecodable):
        test_output.decode(text)


@pytest.mark.parametrize(
    "text",
    [
        "=" * 5_000_000,
        "= 1 1 1 1 1 1 1 1 1 failed " * 200_000,
        "E " * 2_000_000,
        "\n".join(
            f"tests/test_{i % 97}.py::test_{i} {'FAILED' if i % 5000 == 9 else 'PASSED'}" for i in range(400_000)
        ),
    ],
    ids=["rule", "one line", "one line of E", "many lines"],
)
def test_huge_output_takes_no_more_than_moments(text):
    start = time.perf_counter()
    got = test_output.extract(text, room(500))
    assert time.perf_counter() - start < 15
    assert 0 < count(got) <= 500
