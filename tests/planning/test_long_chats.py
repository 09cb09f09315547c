"""Chats without tools whose answers are many times as long as what the user says."""

from __future__ import annotations

from typing import Any

import brim

MODEL = "gpt-4o"
TOPICS = ("the harbour museum", "the winter garden", "the night market", "the tram depot", "the old brewery")


def chat(turns: int = 60) -> list[dict[str, Any]]:
    """A user who tells a little of each visit, and an assistant who gives long advice."""
    messages: list[dict[str, Any]] = []
    for turn in range(turns):
        topic = TOPICS[turn % len(TOPICS)]
        messages.append({"role": "user", "content": f"I went to {topic} and counted {turn * 7 + 3} visitors there."})
        advice = "\n".join(
            f"- Advice {turn}.{n}: plan the visit to {topic} early, and bring a {word} for the queue outside."
            for n, word in enumerate(("chair", "map", "lamp", "coat", "drink", "book", "radio", "scarf"))
        )
        messages.append({"role": "assistant", "content": f"Noted.\n{advice}\nHere is how to do it:"})
    return messages


def fitted(question: str, budget: int, messages: list[dict[str, Any]] | None = None) -> list[dict[str, Any]]:
    request = [*(messages or chat()), {"role": "user", "content": question}]
    sent: list[dict[str, Any]] = brim.fit(request, model=MODEL, budget=budget, fit_timeout=None).messages
    return sent


def answers(sent: list[dict[str, Any]]) -> int:
    known = {message["content"] for message in chat() if message["role"] == "assistant"}
    return sum(message["content"] in known for message in sent)


def test_a_question_about_the_whole_chat_keeps_what_the_user_said_rather_than_a_few_long_answers() -> None:
    sent = fitted("Can you give me a summary of my visits and the visitors I counted?", 3_000)
    said = {message["content"] for message in chat() if message["role"] == "user"}
    assert sum(message["content"] in said for message in sent) > 40


def test_a_larger_window_keeps_the_answers_to_more_of_the_messages_that_match() -> None:
    question = "How many visitors did I count in the tram depot?"
    assert answers(fitted(question, 2_000)) < answers(fitted(question, 8_000))


def test_advice_and_lines_that_announce_something_are_not_told_as_decided_or_open() -> None:
    sent = fitted("How many visitors did I count in the tram depot?", 3_000)
    summary = next(message["content"] for message in sent if "messages archived" in message["content"])
    assert "Advice" not in summary
    assert "how to do it:" not in summary


def test_what_a_chat_decided_is_told_when_it_is_archived() -> None:
    messages = chat()
    messages[101] = {"role": "assistant", "content": "We compared both.\n**Decision:** the group meets at pier 14."}
    sent = fitted("How many visitors did I count in the tram depot?", 3_000, messages)
    assert any("pier 14" in message["content"] for message in sent)


def test_the_last_answer_gives_way_to_what_is_asked_unless_the_message_goes_on_with_it() -> None:
    messages = [*chat(), {"role": "user", "content": "Which ferry goes to Ulvøya?"}]
    ferry = "\n".join(f"The ferry to Ulvøya leaves pier {n} at {n % 24}:10 and takes {n} cars." for n in range(60))
    messages.append({"role": "assistant", "content": ferry})

    def shown(question: str) -> int:
        sent = fitted(question, 3_000, messages)
        return max(len(each["content"]) for each in sent if each["role"] == "assistant" and "Ulvøya" in each["content"])

    assert shown("How many visitors did I count in the tram depot?") < shown("Does the ferry to Ulvøya take cars?")


def test_in_a_chat_of_thousands_of_messages_a_short_fact_stays_before_long_answers_that_resemble_it() -> None:
    messages = chat(1_000)
    messages[600] = {"role": "user", "content": "My sister Ingrid opened a bakery beside the tram depot in May."}
    for number in range(1, 2_000, 40):
        advice = " ".join(f"Ask in the bakery beside the tram depot who opened stall {n} in May." for n in range(30))
        messages[number] = {"role": "assistant", "content": f"Noted {number}. {advice}"}
    sent = fitted("Who opened a bakery beside the tram depot, and when?", 2_000, messages)
    assert messages[600] in sent
