"""What a summary must hold, and when it is refused."""

from __future__ import annotations

import pytest

from brim import wire
from brim.conversation import Message
from brim.summarize.verify import PUT_BACK, essentials, instructions, verified
from brim.tokens.tokenizers import tokenizer

count = tokenizer("o200k")
FILLER = "We talked about the weather, the hills and the long way home for quite a while. " * 12


def said(*texts: str) -> list[Message]:
    roles = ("user", "assistant")
    return [wire.text_message("openai_chat", roles[number % 2], text) for number, text in enumerate(texts)]


def test_what_a_summary_left_out_is_put_back_verbatim() -> None:
    span = said(
        f"{FILLER} Move order ORD-4417 to /srv/depot/list.csv. Never email bob@example.com.",
        "- Done: 3 boxes, 1,250 USD. The invoice is still open.",
    )
    text = verified("They moved an order.", span, count)
    assert text is not None
    assert text.startswith("They moved an order.\n" + PUT_BACK)
    for essential in ("ORD-4417", "/srv/depot/list.csv", "bob@example.com", "Never email", "1,250 USD"):
        assert essential in text


def test_a_summary_that_holds_everything_is_left_as_it_is() -> None:
    span = said(f"{FILLER} Order ORD-4417 is late.", "Noted.")
    assert verified("Order  ord-4417 is late.", span, count) == "Order  ord-4417 is late."


@pytest.mark.parametrize("summary", ["", "  \n"])
def test_an_empty_summary_is_refused(summary: str) -> None:
    assert verified(summary, said(FILLER), count) is None


def test_a_summary_that_is_no_smaller_than_what_it_replaces_is_refused() -> None:
    assert verified("word " * 40, said("A short message.", "And its answer."), count) is None
    assert verified("word " * 40, said("A short message."), count, previous="an earlier summary " * 40) is not None


def test_instructions_are_what_a_user_says_must_be_done() -> None:
    span = said("Use tabs. Never edit main.py! From now on answer in French.", "I must say this is odd.")
    assert instructions(span) == ["Never edit main.py!", "From now on answer in French."]


def test_all_essentials_of_a_span_are_in_what_is_verified() -> None:
    span = said(f"{FILLER} Look at src/app/main.py, ticket AB-77 and 2026-11-30.", f"{FILLER} TODO: check 4711 again.")
    text = verified("A talk.", span, count)
    assert text is not None
    assert all(essential in text for essential in essentials(span))


def test_a_task_too_long_for_its_line_is_put_back_as_far_as_it_goes() -> None:
    task = "TODO: walk the fence from the north gate to the old mill and note every post that leans, " * 3
    text = verified("They talked.", said(FILLER, f"{FILLER}\n{task}"), count)
    assert text is not None
    assert "- TODO: walk the fence from the north gate" in text
    assert (
        verified(f"They talked. {task}", said(FILLER * 3, f"{FILLER}\n{task}"), count) == f"They talked. {task}".strip()
    )
