"""Recall with the sentence model of the extra `embeddings`, which runs without a network: `make real-embeddings`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from operator import mul

import pytest

import brim
from brim.relevance.sentence_model import SentenceModel
from tests.sessions.test_embeddings import grown

QUESTIONS = ["Which pet do we own?", "Do we have an animal?", "Is there a dog in our family?"]


@cache
def model() -> SentenceModel:
    return SentenceModel()


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_finds_what_says_the_same_in_other_words(question: str) -> None:
    session = grown(brim.Session(model="gpt-4o", budget=400, embed=model()))
    assert "We took the puppy home." in str(session.say(question).messages)


def test_what_says_the_same_in_other_words_is_nearer_than_another_subject() -> None:
    asked, same, other = model()(["Which pet do we own?", "We took the puppy home.", "The wind came from the north."])
    assert sum(map(mul, asked, same)) / norm(same) > sum(map(mul, asked, other)) / norm(other)


def norm(vector: Sequence[float]) -> float:
    return sum(value * value for value in vector) ** 0.5


def test_a_text_has_the_same_vector_beside_others_and_in_another_model() -> None:
    alone = model()(["We took the puppy home."])
    assert model()(["a harbour " * 200, "We took the puppy home."])[1] == alone[0]
    assert SentenceModel()(["We took the puppy home."]) == alone
    assert len(alone[0]) == 384


def test_no_pytorch_is_loaded() -> None:
    model()
    assert "torch" not in sys.modules
