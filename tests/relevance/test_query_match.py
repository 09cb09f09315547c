from __future__ import annotations

from hypothesis import given

from brim.relevance import query_match
from tests.content.rooms import texts


def test_identifiers_are_looked_for_whole_and_in_parts():
    assert query_match.terms("Where is parseHeader of http_client?") == (
        "parseheader",
        "parse",
        "header",
        "http_client",
        "http",
        "client",
    )


def test_words_that_every_question_has_are_left_out():
    assert query_match.terms("What is the use of this and that?") == ()


def test_rare_words_weigh_more_and_endings_do_not_matter():
    pieces = ["the pump failed\n", "the pump ran\n", "the pump ran\n", "nothing\n"]
    assert query_match.ranked(pieces, "why do pumps fail") == [0, 1, 2]


def test_a_short_word_counts_only_at_the_start_of_a_word():
    assert query_match.ranked(["said\n", "id 4\n"], "which id") == [1]


def test_a_script_without_spaces_is_looked_up_by_pairs():
    assert query_match.ranked(["今天天气很好\n", "数据库连接失败了\n"], "为什么数据库失败") == [1]


@given(texts, texts)
def test_scores_belong_to_pieces_whatever_the_text(text, query):
    pieces = text.splitlines(keepends=True)
    assert all(0 <= index < len(pieces) and score > 0 for index, score in query_match.scores(pieces, query).items())
