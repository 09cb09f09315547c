"""Ranking old content for the current message: what is found, what is kept, and that it stays stable."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.relevance import Index, quick_scores
from brim.relevance.dates import Date, dates_in, day_number, nearness
from brim.relevance.entries import Entries
from brim.relevance.matching import Matcher
from brim.relevance.packing import chosen, pack
from brim.relevance.question import parse_question
from brim.relevance.terms import stem, words

CHAT = [
    "Ann: Hey Ben! How was your week?",
    "Ben: Busy. The office moved to the harbour.",
    "Ann: I adopted a puppy yesterday, he is called Biscuit.",
    "Ben: How lovely! What breed is he?",
    "Ann: A small terrier, four months old.",
    "Ben: I never had animals. We had a piano when I was a child.",
    "Ann: Do you still play?",
    "Ben: Not since 2019, when I broke my wrist.",
    "Ann: The kitchen is still being painted.",
    "Ben: Which colour did you take?",
    "Ann: Dark green, with white shelves.",
    "Ben: See you on Friday then.",
]


def index_of(texts: list[str], **same: str) -> Index:
    index = Index()
    for text in texts:
        index.add(text, tokens=10, **same)
    return index


def best(scores: list[float]) -> int:
    return max(range(len(scores)), key=scores.__getitem__)


@pytest.mark.parametrize(
    ("query", "entry"),
    [
        ("What is the name of the puppy that Ann adopted?", 2),
        ("When did Ben break his wrist?", 7),
        ("What colours are the shelves?", 10),
        ("Where has the office been moving to?", 1),
    ],
)
def test_the_entry_that_answers_is_one_of_the_first_two(query: str, entry: int) -> None:
    scores = index_of(CHAT).score(query)
    assert entry in sorted(range(len(CHAT)), key=scores.__getitem__)[-2:]


def test_an_answer_without_the_words_of_the_question_is_raised_by_its_neighbours() -> None:
    scores = index_of(CHAT).score("What breed is the puppy?")
    assert scores[4] > max(scores[5:])


def test_neighbours_in_another_session_are_not_raised() -> None:
    texts = ["the puppy arrived", "some other words here"]
    joined, apart = Index(), Index()
    for session, text in enumerate(texts):
        joined.add(text, session="one")
        apart.add(text, session=session)
    gained = joined.score("puppy")[1] - joined.score("nothing matches")[1]
    assert gained > 0
    assert apart.score("puppy")[1] == apart.score("nothing matches")[1]


def test_a_related_word_finds_what_shares_no_word_with_the_question() -> None:
    texts = ["The weather was fine", "My children like swimming", "The report is late", "The bus left early"]
    assert best(index_of(texts).score("What about the kids?")) == 1


def test_a_speaker_named_in_the_question_is_preferred_over_one_who_is_only_addressed() -> None:
    texts = ["Ann: Ben, are you painting?", "Ben: Ann, are you painting?"] * 3
    scores = index_of(texts).score("What is Ben painting?")
    assert min(scores[1::2]) > max(scores[0::2])


def test_a_speaker_may_be_given_apart_from_the_text() -> None:
    index = Index()
    for speaker in ("Ann", "Ben", "Ann", "Ben"):
        index.add("I went swimming", speaker=speaker, session=len(index))
    scores = index.score("When did Ben swim?")
    assert min(scores[1], scores[3]) > max(scores[0], scores[2])


def test_the_word_user_in_a_question_does_not_mean_the_role() -> None:
    index = Index()
    index.add("the login form is broken", speaker="user", session=1)
    index.add("the login form is broken", speaker="assistant", session=2)
    first, second = index.score("which user form is broken?")
    assert first == second


def test_labels_in_a_text_that_is_no_transcript_stay_words() -> None:
    texts = ["Error: disk full", "all is well", "copied the files", "an error came up", "done", "started"]
    ranked = sorted(range(len(texts)), key=index_of(texts).score("what was the error?").__getitem__, reverse=True)
    assert set(ranked[:2]) == {0, 3}


def test_an_entry_of_the_day_that_is_asked_for_ranks_above_the_same_words_on_another_day() -> None:
    index = Index()
    for session, when in enumerate(["3 May, 2023", "9:10 am on 8 May, 2023", "2023-06-20T10:00:00Z"]):
        index.add("we had dinner at the harbour", when=when, session=session)
    assert best(index.score("Who had dinner on May 8, 2023?")) == 1
    assert best(index.score("Who had dinner in June?")) == 2


def test_identifiers_are_found_by_their_parts_and_as_a_whole() -> None:
    texts = ["def unrelated(): pass", "def getUserName(self): ...", "def parse_http_header(raw): ..."]
    index = index_of(texts)
    assert best(index.score("where do we get the user name?")) == 1
    assert best(index.score("getUserName")) == 1
    assert best(index.score("how are HTTP headers parsed?")) == 2


@pytest.mark.parametrize(
    ("texts", "query"),
    [
        (["今天天气很好", "会议改到星期五下午三点", "我喜欢喝咖啡"], "会议是什么时候?"),
        (
            ["Das Wetter ist schön.", "Die Besprechungen sind am Freitag.", "Ich trinke Kaffee."],
            "Wann ist die Besprechung?",
        ),
        (["Погода сегодня хорошая", "Совещание перенесли на пятницу", "Я люблю кофе"], "Когда будет совещания?"),
        (["El tiempo es bueno", "La reunión es el viernes por la tarde", "Me gusta el café"], "¿Cuándo es la reunion?"),
        (["오늘 날씨가 좋다", "회의는 금요일이다", "커피를 좋아한다"], "회의가 언제인가요?"),
    ],
)
def test_other_languages_are_ranked_too(texts: list[str], query: str) -> None:
    assert best(index_of(texts).score(query)) == 1
    assert best(quick_scores(texts, query)) == 1


def test_a_pasted_log_in_the_question_does_not_hide_what_is_asked() -> None:
    noise = " ".join(f"worker{n} heartbeat {n * n}" for n in range(3_000))
    texts = (
        ["status line"] * 40 + ["the invoice of Biscuit is unpaid"] + [f"heartbeat {n * n}" for n in range(900, 940)]
    )
    assert best(index_of(texts).score(f"why is the invoice unpaid?\n{noise}\nplease tell me")) == 40


@given(st.lists(st.integers(1, 60), min_size=1, max_size=40), st.integers(0, 400), st.data())
def test_a_packed_set_never_exceeds_its_budget_and_is_full(sizes: list[int], budget: int, data: st.DataObject) -> None:
    drawn = st.lists(st.floats(0, 5), min_size=len(sizes), max_size=len(sizes))
    decay = data.draw(st.none() | st.lists(st.sampled_from([0.0, 0.5]), min_size=len(sizes), max_size=len(sizes)))
    kept = pack(data.draw(drawn), sizes, budget, decay)
    used = sum(sizes[number] for number in kept)
    assert used <= budget
    assert kept == sorted(set(kept))
    left_out = [size for number, size in enumerate(sizes) if number not in kept]
    assert all(size > budget - used for size in left_out)


def test_the_newest_entries_keep_a_twentieth_of_the_budget() -> None:
    scores = [5.0] * 95 + [0.0] * 5
    kept = pack(scores, [10] * 100, 400)
    assert 99 in kept
    assert 98 in kept
    assert 97 not in kept


def test_of_equal_scores_the_newer_entry_is_kept() -> None:
    assert pack([1.0, 1.0, 1.0], [10, 10, 10], 15) == [2]


def test_a_question_for_a_discussion_gets_the_whole_passage() -> None:
    texts = [f"Ann: point {n} of the agenda" for n in range(40)]
    texts[20] = "Ben: now the budget of the harbour project"
    texts[19], texts[21], texts[22] = "Ann: Right.", "Ann: OK.", "Ben: Hm."
    assert {19, 20, 21, 22} <= set(index_of(texts).pack("Summarize the discussion about the budget.", 100))


def test_scores_are_one_for_each_entry_and_an_empty_index_has_none() -> None:
    index = Index()
    assert len(index.score("anything")) == 0
    assert index.pack("anything", 100) == []
    assert [index.add(text) for text in CHAT] == list(range(len(CHAT)))
    assert len(index) == len(CHAT) == len(index.score("anything"))


@given(st.lists(st.text(max_size=60), min_size=1, max_size=12), st.text(max_size=60))
def test_any_text_can_be_indexed_and_asked_for(texts: list[str], query: str) -> None:
    index = Index()
    for text in texts:
        index.add(text, speaker=query[:5], when=query)
    assert all(score >= 0 for score in index.score(query))
    assert len(quick_scores(texts, query)) == len(texts)


def test_entries_added_one_by_one_score_like_entries_added_at_once() -> None:
    asked_between, at_once = Index(), index_of(CHAT)
    for text in CHAT:
        asked_between.add(text, tokens=10)
        asked_between.score("What breed is the puppy?")
    assert asked_between.score("What breed is the puppy?") == at_once.score("What breed is the puppy?")


def test_scores_do_not_depend_on_the_hash_seed() -> None:
    code = (
        "from brim.relevance import Index, quick_scores\n"
        f"texts = {CHAT!r}\n"
        "index = Index()\n"
        "for text in texts: index.add(text)\n"
        "q = 'Summarize what Ann and Ben discussed about the puppy, the piano and the kitchen shelves'\n"
        "print(index.score(q), index.pack(q, 60), quick_scores(texts, q))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(outputs) == 1


def test_unindexed_texts_rank_like_indexed_ones_at_the_top() -> None:
    for query in ("What is the name of the puppy?", "When did Ben break his wrist?", "What colour are the shelves?"):
        assert best(quick_scores(CHAT, query)) == best(index_of(CHAT).score(query))


def test_unindexed_search_finds_other_forms_of_a_word() -> None:
    texts = ["nothing here", "she ran home", "two cities", "the children slept"]
    assert best(quick_scores(texts, "run")) == 1
    assert best(quick_scores(texts, "city")) == 2
    assert best(quick_scores(texts, "child")) == 3


def test_embeddings_find_what_no_word_does_and_each_entry_is_embedded_once() -> None:
    seen: list[str] = []

    def embed(texts: list[str], /) -> list[list[float]]:
        seen.extend(texts)
        return [[1.0, 0.1] if "zug" in text or "train" in text else [0.0, 1.0] for text in texts]

    index = index_of(["der zug kam", "kaffee", "tee"])
    assert best(index.score("train", embeddings=embed)) == 0
    index.add("noch ein zug", tokens=10)
    index.score("train", embeddings=embed)
    assert [text for text in seen if text != "train"] == ["der zug kam", "kaffee", "tee", "noch ein zug"]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("adoptions", "adopt"),
        ("cities", "citi"),
        ("hopping", "hop"),
        ("hoping", "hope"),
        ("generously", "generous"),
        ("psychologists", "psycholog"),
        ("relational", "relat"),
        ("news", "news"),
        ("dying", "die"),
        ("agreed", "agre"),
        ("happily", "happili"),
        ("boyish", "boyish"),
    ],
)
def test_stems_follow_porter2(word: str, expected: str) -> None:
    assert stem(word) == expected


def test_function_words_are_no_terms_and_irregular_forms_are_one() -> None:
    assert words("What is it that you were?") == []
    assert words("bought buying") == words("buy buys")
    assert words("children") == words("child")


@pytest.mark.parametrize("piece", ["会议", "aB", "in May ", "A b: ", " ", "?", "2023-05-08 "])
def test_a_huge_question_or_entry_is_ranked_without_blowing_up(piece: str) -> None:
    huge = piece * 50_000
    index = index_of([*CHAT, huge])
    assert len(index.score(huge)) == len(CHAT) + 1
    assert len(quick_scores([*CHAT, huge], huge)) == len(CHAT) + 1


def test_a_huge_word_is_one_bounded_term() -> None:
    assert [len(term) for term in words("A" * 1_000_000)] == [64]


def test_dates_are_read_as_people_write_them() -> None:
    assert dates_in("1:56 pm on 8 May, 2023") == [Date(2023, 5, 8)]
    assert dates_in("Since March 3rd or in June") == [Date(None, 3, 3), Date(None, 6, None)]
    assert dates_in("May I ask? We march on. 2023-13-40") == []
    assert day_number("no date") == 0


def test_things_are_told_on_their_day_or_soon_after_and_not_before() -> None:
    asked = Date(2023, 5, 8)
    near = [nearness(asked, day_number(f"{day} May 2023")) for day in (7, 8, 12, 30)]
    assert near == [0.0, 1.0, 0.5, 0.0]


def test_what_is_chosen_stands_in_the_order_of_choosing() -> None:
    scores, sizes = [1.0, 3.0, 2.0, 0.0], [10, 10, 10, 1]
    assert chosen(scores, sizes, 31) == [3, 1, 2, 0]
    assert chosen(scores, sizes, 21) == [3, 1, 2]
    assert pack(scores, sizes, 21) == [1, 2, 3]


def test_words_that_meet_in_one_place_count_for_more_than_apart() -> None:
    entries = Entries.unread(["a kettle of copper", *["a quiet morning"] * 20, "one old kettle"])
    held = {"kettl": [0, 21], "copper": [0]}
    matcher = Matcher(entries, lambda term: held.get(term, []), parse_question("the copper kettle"))
    apart, together = matcher.match(), matcher.match(0.15)
    assert together[0] > 1.05 * apart[0]
    assert together[21] == pytest.approx(apart[21])
