"""Embeddings in recall: they find what shares no word with the question, and each text is embedded once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import brim
from brim.relevance import sentence_model
from brim.sessions.embeddings import Embeddings
from brim.sessions.session import Session
from brim.stores.inmemory import InMemoryStore

FIELDS = ({"dog", "puppy", "pet", "animal"}, {"boat", "sail", "harbour"}, {"rain", "weather", "wind"})


class Toy:
    """Vectors by field of meaning; remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, texts: list[str], /) -> Sequence[Sequence[float]]:
        self.asked += texts
        words = [set(text.lower().replace(".", "").replace("?", "").split()) for text in texts]
        return [[float(len(one & field)) + 0.01 for field in FIELDS] for one in words]


def grown(session: Session) -> Session:
    session.say("Keep a diary of our days for me.")
    session.record({"choices": [{"message": {"role": "assistant", "content": "Gladly."}}]})
    session.say("We took the puppy home.")
    for number in range(60):
        session.record({"choices": [{"message": {"role": "assistant", "content": f"Noted, number {number}."}}]})
        session.say(f"Entry {number}: the weather was grey with rain and wind over the northern hills again.")
    session.record({"choices": [{"message": {"role": "assistant", "content": "Noted."}}]})
    return session


def test_a_question_finds_what_says_the_same_in_other_words() -> None:
    toy = Toy()
    session = grown(Session(model="gpt-4o", budget=900, embed=toy))
    asked = "Which pet animal is ours?"
    assert "puppy" in "\n".join(message.text for message in session.say(asked).conversation.messages)
    assert "We took the puppy home." in toy.asked


def test_a_text_is_embedded_once_for_all_sessions_of_a_store() -> None:
    store, toy = InMemoryStore(), Toy()
    one = Embeddings(toy, store)
    vectors = one(["a dog", "a boat", "a dog"])
    assert toy.asked == ["a dog", "a boat"]
    assert list(vectors[0]) == list(vectors[2]) != list(vectors[1])
    assert list(Embeddings(toy, store)(["a boat"])[0]) == list(vectors[1])
    assert toy.asked == ["a dog", "a boat"]
    assert [list(vector) for vector in Embeddings(toy, store, "other")(["a boat"])] == [list(vectors[1])]
    assert toy.asked[-1] == "a boat"


def test_the_sentence_model_says_which_extra_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentence_model, "onnxruntime", None)
    with pytest.raises(brim.MissingExtra, match=r"brim\[embeddings\]"):
        sentence_model.SentenceModel()


def vectors(kind: str) -> Any:
    if kind == "raises":
        raise ConnectionError("the server is down")
    return {"none": None, "few": [[1.0]], "nan": [[float("nan")]] * 2, "ragged": [[1.0], [1.0, 2.0]]}[kind]


@pytest.mark.parametrize("kind", ["raises", "none", "few", "nan", "ragged"])
def test_an_embedder_that_fails_is_told_once_and_words_rank_without_it(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    asked = 0

    def broken(texts: list[str]) -> Any:
        nonlocal asked
        asked += 1
        return vectors(kind)

    made = Embeddings(broken, InMemoryStore())
    for _ in range(2):
        assert [list(vector) for vector in made(["a", "b"])] == [[0.0], [0.0]]
    assert asked == 1
    assert len(caplog.records) == 1


def test_a_turn_goes_on_when_its_embedder_fails_and_its_message_stands_once_in_the_log() -> None:
    def embed(texts: list[str]) -> Any:
        raise ConnectionError("the server is down")

    session, told = brim.Session(model="gpt-4o", budget=800, embed=embed), list[str]()
    for number in range(12):
        fitted = session.say(f"Question {number} about berth B-{number}: " + "which boats lie there now? " * 12)
        assert fitted.tokens <= 800
        told += map(str, fitted.report.warnings)
    assert sum("words alone rank" in one for one in told) == 1
    assert len(session.log) == 12
    assert session.search("B-3")
