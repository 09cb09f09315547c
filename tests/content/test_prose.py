from __future__ import annotations

from hypothesis import given
from rooms import budgets, count, room, stays_inside, texts

from brim.content.documents import prose

SMALL_TALK = "The weather was rather pleasant and everyone seemed happy to be there again. "
MEETING = (
    "We met in the afternoon as usual. "
    + SMALL_TALK * 12
    + "We agreed to ship version 4.2 on 17 May. "
    + SMALL_TALK * 12
    + "The importer must not delete the old rows. "
    + SMALL_TALK * 12
    + "Who will write to Priya Raman about the licence? "
    + SMALL_TALK * 12
    + "The meeting ended at last."
)


@given(texts, budgets, texts)
def test_an_extract_never_exceeds_its_room(text, tokens, query):
    stays_inside(prose.extract, text, tokens, query[:30])


def test_decisions_negations_numbers_and_open_questions_stay_before_small_talk():
    got = prose.extract(MEETING, room(90))
    assert "We agreed to ship version 4.2 on 17 May." in got
    assert "The importer must not delete the old rows." in got
    assert "Who will write to Priya Raman about the licence?" in got
    assert got.startswith("We met in the afternoon as usual.")


def test_sentences_stay_in_their_order_and_the_missing_ones_are_counted():
    got = prose.extract(MEETING, room(90, handle="brim:3f2a", recall=True))
    assert got.index("version 4.2") < got.index("importer") < got.index("Priya")
    kept = sum(got.count(end) for end in (". ", "? ", "last."))
    assert f"[… {53 - kept} sentences, recall brim:3f2a]" in got


def test_a_sentence_about_the_query_is_kept():
    text = SMALL_TALK * 20 + "Marmalade is stored on the lower shelf. " + SMALL_TALK * 20
    assert "lower shelf" in prose.extract(text, room(60, query="where is the marmalade"))


def test_a_chat_turn_keeps_the_name_of_its_speaker():
    chat = "".join(f"Ana: {SMALL_TALK}{SMALL_TALK}\nBo: {SMALL_TALK}\n" for _ in range(10))
    chat += f"Cleo: {SMALL_TALK}We decided on blue paint for 12 rooms.\n" + f"Ana: {SMALL_TALK}\n" * 5
    got = prose.extract(chat, room(80))
    before, decision, _ = got.partition("We decided on blue paint for 12 rooms.")
    assert decision
    assert before.rsplit("\n", 1)[-1].startswith("Cleo: ")


def test_abbreviations_do_not_end_a_sentence():
    pieces, _ = prose.cut("Dr. Who met J. Smith. They left, e.g. by train. Done.")
    assert pieces == ["Dr. Who met J. Smith. ", "They left, e.g. by train. ", "Done."]


def test_the_room_is_filled():
    assert count(prose.extract(MEETING * 5, room(600))) >= 560


def test_the_names_of_a_listing_stay_before_the_sentences_about_them():
    about = "You must not call it twice. It is important to note that it will fail without a pilot. "
    names = ["weigh_cargo", "list-berths", "tide.table", "hail_pilot", "ring_bell2", "count_crew"]
    listing = "\n".join(f"- tool_name: {name}\n  about: {about * 3}" for name in names)
    for tokens in (110, 160, 220):
        got = prose.extract(listing, room(tokens))
        assert [name for name in names if name not in got] == []
