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


def test_code_pasted_into_a_message_that_is_asked_about_stays_with_its_words() -> None:
    code = "\n".join(f"    ferries[{n}] = load_timetable('pier {n}', minutes={n * 7})" for n in range(30))
    messages = chat(200)
    for number in range(0, 400, 40):  # words of the user take less than their share, so all of them stay
        messages[number] = {"role": "user", "content": f"Script {number} of many:\n```python\n{code}\n```\nOk?"}
    told = f"My validation of the ferry form looks like this:\n```python\n{code}\n```\nCan you review it?"
    messages[100] = {"role": "user", "content": told}
    sent = fitted("What did my validation of the ferry form look like?", 12_000, messages)
    assert told in [message["content"] for message in sent]


def test_the_greetings_that_open_the_days_of_a_transcript_stay_only_if_they_say_what_is_asked() -> None:
    messages: list[dict[str, Any]] = []
    for day in range(1, 29):
        messages.append({"role": "user", "content": f"[10:{day + 10} am on {day} May, 2023] Ann: Hey Bob, long time!"})
        messages.append({"role": "assistant", "content": "Bob: Hi Ann, nice to hear from you. How have you been?"})
        for turn in range(10):
            topic = TOPICS[(day + turn) % len(TOPICS)]
            messages.append({"role": "user", "content": f"Ann: On visit {turn} to {topic} I met {day} people."})
            messages.append({"role": "assistant", "content": f"Bob: And how did you like {topic} that time?"})
    sent = fitted("How many people did Ann meet in the tram depot?", 2_000, messages)
    assert sum("long time!" in message["content"] for message in sent) < 5


def test_a_question_about_the_whole_chat_keeps_more_answers_than_one_about_a_detail() -> None:
    messages = chat(400)

    def whole(question: str) -> int:
        sent = fitted(question, 8_000, messages)
        return sum(each["role"] == "assistant" and each["content"].endswith("do it:") for each in sent)

    summary = whole("Can you summarize what I asked about the tram depot?")
    assert summary > whole("How many visitors did I count in the tram depot?")
    assert summary > whole("I think I counted all visitors in the tram depot.")


def test_a_question_that_asks_when_keeps_the_date_under_which_its_answer_was_said() -> None:
    messages: list[dict[str, Any]] = []
    for day in range(1, 29):
        messages.append({"role": "user", "content": f"[10:{day + 10} am on {day} May, 2023] Ann: Hey Bob, long time!"})
        for turn in range(20):
            topic = TOPICS[(day + turn) % len(TOPICS)]
            messages.append({"role": "assistant", "content": f"Bob: And how did you like {topic} that time?"})
            messages.append({"role": "user", "content": f"Ann: On visit {turn} to {topic} I met {day} people."})
    messages[500] = {"role": "user", "content": "Ann: Yesterday I adopted a greyhound."}
    opening = max(n for n in range(500) if "long time!" in messages[n]["content"])
    sent = [message["content"] for message in fitted("When did Ann adopt a greyhound?", 1_000, messages)]
    assert messages[500]["content"] in sent
    assert messages[opening]["content"] in sent
