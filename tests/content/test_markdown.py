from __future__ import annotations

from hypothesis import given
from rooms import budgets, count, keeps_lines, room, stays_inside, texts

from brim.content.documents import markdown

FILLER = "".join(f"Some running words about nothing much, number {i} of them.\n" for i in range(12))
DOCUMENT = "Opening words.\n\n" + "".join(
    f"{'#' * (1 + i % 3)} Section {i}\n\nThis is what section {i} is about.\n{FILLER}\n" for i in range(8)
)


@given(texts, budgets, texts)
def test_an_extract_never_exceeds_its_room(text, tokens, query):
    stays_inside(markdown.extract, text, tokens, query[:30])


@given(budgets)
def test_lines_are_kept_whole(tokens):
    assert keeps_lines(markdown.extract(DOCUMENT, room(tokens)), DOCUMENT) or tokens == 0


def test_every_heading_stays_with_the_opening_of_its_section():
    got = markdown.extract(DOCUMENT, room(260))
    for i in range(8):
        assert f" Section {i}\n" in got
        assert f"This is what section {i} is about.\n" in got


def test_a_section_about_the_query_gets_more_than_the_others():
    text = DOCUMENT.replace("This is what section 5 is about.\n", "Tomatoes.\nWater them daily.\nNever at noon.\n")
    got = markdown.extract(text, room(300, query="how to water tomatoes"))
    assert "Water them daily." in got


def test_a_code_fence_stays_closed_and_a_table_keeps_its_head():
    code = "```python\n" + "".join(f"value_{i} = {i}\n" for i in range(80)) + "```\n"
    table = "| name | size |\n|---|---|\n" + "".join(f"| file {i} | {i} |\n" for i in range(80))
    got = markdown.extract(f"# A\n\n{code}\n# B\n\n{table}", room(120, query="value_70 file 60"))
    assert got.count("```") == 2
    assert "value_70 = 70" in got
    assert "| name | size |\n|---|---|\n" in got
    assert "| file 60 | 60 |" in got


def test_a_comment_in_a_fence_is_no_heading():
    pieces = ["# A\n", "```\n", "# not a heading\n", "```\n", "Title\n", "=====\n", "text\n"]
    assert [(one.first, one.level) for one in markdown.sections(pieces)] == [(0, 1), (4, 1)]


def test_a_paste_that_is_most_of_the_text_is_shortened_by_its_own_kind():
    log = "".join(f"2026-01-02 10:00:{i % 60:02d} INFO step {i} of the job is done\n" for i in range(300))
    log = log.replace("INFO step 150 of the job is done", "ERROR step 150 of the job failed: disk full")
    text = f"# Question\n\nWhy did the job of Monday fail?\n\n```\n{log}```\n\nPlease answer in one line.\n"
    got = markdown.extract(text, room(300))
    assert got.startswith("# Question\n\nWhy did the job of Monday fail?\n\n```\n")
    assert got.endswith("\n```\n\nPlease answer in one line.\n")
    assert "ERROR step 150 of the job failed: disk full" in got


def test_the_room_is_filled():
    assert count(markdown.extract(DOCUMENT, room(700))) >= 660
