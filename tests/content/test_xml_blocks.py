from __future__ import annotations

import time

from hypothesis import given
from rooms import budgets, count, room, stays_inside, texts

from brim.content.documents import xml_blocks
from brim.content.documents.xml_blocks import blocks, prior_context

LOG = "".join(f"2026-03-01 12:00:{i % 60:02d} INFO worker {i} picked up job {i * 31}\n" for i in range(40))
CODE = "".join(f"def function_{i}(x):\n    return x + {i}\n\n" for i in range(10))


@given(texts, budgets, texts)
def test_an_extract_never_exceeds_its_room(text, tokens, query):
    stays_inside(xml_blocks.extract, text, tokens, query[:30])


def test_small_elements_stay_whole_and_large_ones_keep_their_tags():
    text = f"<context>\n<note>Ship it on Friday.</note>\n<log>\n{LOG}</log>\n</context>"
    got = xml_blocks.extract(text, room(200))
    assert "<note>Ship it on Friday.</note>" in got
    assert "<log>" in got
    assert got.endswith("</log>\n</context>")
    assert count(got) <= 200


def test_of_many_like_elements_the_asked_for_one_is_kept_and_the_rest_counted():
    items = "".join(f"<item><title>Thing {i}</title><price>{i}.50</price></item>\n" for i in range(200))
    got = xml_blocks.extract(f"<items>\n{items}</items>", room(200, query="Thing 137"))
    assert "<title>Thing 137</title>" in got
    assert " elements]" in got
    assert got.startswith("<items>")


def test_prior_context_shows_headings_with_previews():
    text = "# Plan\n" + "word " * 400 + "\n## Risks\nFew.\n"
    got = prior_context(text, 'notes/"plan".md', "note")
    assert got.startswith('<prior_context source="notes/&quot;plan&quot;.md" type="note">\n# Plan\nword word')
    assert got.endswith("## Risks\nFew.\n</prior_context>")
    assert len(got) < 700
    assert " characters]" in got


def test_a_short_prior_context_is_verbatim():
    assert prior_context("Few words.", "a", "b") == '<prior_context source="a" type="b">\nFew words.\n</prior_context>'


def test_blocks_are_found_apart_from_the_instructions():
    ask = "Why does this fail? Do not change the public API.\n\n"
    file = f'<file path="a/b.py">\n{CODE}</file>\n'
    paste = f'```json\n{{"a": "{"x" * 300}"}}\n```\n'
    text = f"{ask}{LOG}\nCompare it with this file:\n{file}and\n{paste}Be brief."
    found = blocks(text)
    assert [(one.kind, one.name) for one in found] == [("log", ""), ("code", "file a/b.py"), ("json", "json")]
    assert text[found[0].start : found[0].end].strip() == LOG.strip()
    assert text[found[1].start : found[1].end].strip() == CODE.strip()
    rest = text[: found[0].start] + text[found[0].end : found[1].start] + text[found[1].end : found[2].start]
    for words in (ask, "Compare it with this file:", "and"):
        assert words in rest


def test_lists_and_sentences_are_instructions_however_long():
    text = "".join(f"- Make sure that step {i} of the plan is done before the next.\n" for i in range(40))
    assert blocks(text) == []
    assert blocks("Please be careful with this one. " * 80) == []


def test_a_nested_block_belongs_to_the_outer_one():
    text = f"<context>\n<file>\n{CODE}</file>\n<file>\n{CODE}</file>\n</context>\n"
    assert [one.name for one in blocks(text)] == ["context"]


@given(texts)
def test_blocks_are_in_order_and_inside_the_text(text):
    at = 0
    for one in blocks(text, smallest=1):
        assert at <= one.start <= one.end <= len(text)
        at = one.end


def test_unclosed_tags_and_fences_take_linear_time():
    for line in ("<a>\n", "<a>\n</a>\n", "```\n", "{ x\n", "<a b='"):
        small, large = line * 5_000, line * 40_000
        start = time.process_time()
        blocks(small)
        first = time.process_time() - start
        start = time.process_time()
        blocks(large)
        assert time.process_time() - start < 30 * first + 0.5
