"""What a summary must hold, and when it is refused."""

from __future__ import annotations

import pytest

from brim import apis
from brim.conversation import Message, encode
from brim.summaries.verify import PUT_BACK, essentials, instructions, verified
from brim.tokens.tokenizers import tokenizer

count = tokenizer("o200k")
FILLER = "We talked about the weather, the hills and the long way home for quite a while. " * 12


def said(*texts: str) -> list[Message]:
    roles = ("user", "assistant")
    return [apis.text_message("openai_chat", roles[number % 2], text) for number, text in enumerate(texts)]


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


def test_all_identifiers_that_were_said_or_called_with_are_put_back() -> None:
    orders = [f"ORD-{number}" for number in range(1_000, 1_090)]
    call = {"id": "c1", "type": "function", "function": {"name": "get", "arguments": '{"ship": "SHIP-77"}'}}
    api = apis.APIS["openai_chat"].messages
    span = [
        *said(f"{FILLER * 4} Check these: {', '.join(orders[:60])}", f"{FILLER * 4} Late are {' '.join(orders[60:])}"),
        api.get(encode({"role": "assistant", "content": None, "tool_calls": [call]}), ""),
        api.get(encode({"role": "tool", "tool_call_id": "c1", "content": " ".join(f"K{n}-x" for n in range(900))}), ""),
    ]
    text = verified("Orders were checked.", span, count)
    assert text is not None
    assert [code for code in [*orders, "SHIP-77"] if code not in text] == []


def test_what_is_put_back_is_at_most_half_of_what_the_summary_stands_for() -> None:
    numbers = " ".join(f"ORD-{number}" for number in range(1_000, 1_200))
    span = said(numbers, numbers.replace("ORD", "INV"), numbers.replace("ORD", "SHP"))
    text = verified("Orders.", span, count)
    assert text is not None
    assert 256 < count(text) <= 0.55 * sum(count(message.text) for message in span)


def test_what_the_summary_before_had_to_hold_is_in_the_next_one_too() -> None:
    first = said(f"Never deploy on Fridays. The order is ORD-4417 in /srv/app/main.py. {FILLER}")
    one = verified("They talked. The ship is SHP-8812.", first, count)
    assert one is not None
    two = verified("They talked more.", said(f"Now to berth 99. {FILLER}"), count, one)
    assert two is not None
    three = verified("They talked on.", said(f"And then? {FILLER}"), count, two)
    assert three is not None
    for essential in ("Never deploy on Fridays.", "ORD-4417", "/srv/app/main.py", "SHP-8812", "berth 99"):
        assert three.count(essential) == 1


def test_where_there_is_no_room_the_oldest_facts_go_first_and_instructions_last() -> None:
    summary: str | None = ""
    for turn in range(12):
        codes = " ".join(f"T{turn}-{number:03}" for number in range(80))
        told = "Never deploy on Fridays. " if not turn else ""
        summary = verified("They talked.", said(f"{told}{codes}"), count, summary or "")
        assert summary is not None
        assert count(summary) < 2_000
    assert "Never deploy on Fridays." in summary
    assert "T11-000" in summary
    assert "T0-000" not in summary


def test_a_number_inside_another_one_is_not_that_number() -> None:
    text = verified("It was 144170, and 4417.5.", said(f"The order is 4417. {FILLER}"), count)
    assert text is not None
    assert text.endswith("4417")
    assert verified("Order 4417, then.", said(f"The order is 4417. {FILLER}"), count) == "Order 4417, then."


def test_small_numbers_with_a_name_are_put_back() -> None:
    text = verified("They talked.", said(f"Berth 7 and room 99 get v1.2, the 12 others 50%. {FILLER}"), count)
    assert text is not None
    assert [name for name in ("Berth 7", "room 99", "v1.2", "50%") if name not in text] == []
    assert "the 12" not in text
