"""Summaries by topic in very long chats, and what a summary never quotes."""

from __future__ import annotations

from typing import Any

import pytest

import brim
from brim import Policy


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


SUBJECTS = {
    "harbour": "crane berth tide harbour pilot ledger mooring".split(),
    "bread": "flour oven dough yeast loaf crust bakery".split(),
    "taxes": "invoice receipt deduction audit income declaration accountant".split(),
}


def chat_on_three_subjects() -> list[dict[str, Any]]:
    found = []
    for subject, nouns in SUBJECTS.items():
        for n in range(14):
            one, two, three = nouns[n % 7], nouns[(n + 1) % 7], nouns[(n + 3) % 7]
            asked = f"About the {one} and the {two}: what do we do with number {n} of the {three}? "
            told = f"**Decision:** the {one} plan {subject}-{n:02} with the {three}.\n"
            found += [user(asked + f"The {one} {two} {three} matter. " * 12)]
            found += [assistant(told + f"The {two} and {three} follow the {one}. " * 20)]
    return found


def parts_of(summary: str) -> dict[str, str]:
    """The parts of a summary under their titles."""
    parts = summary.removeprefix("Conversation summary: ").split("## ")[1:]
    return {part.split("\n")[0]: part for part in parts}


def test_a_very_long_chat_has_a_summary_for_each_of_its_topics() -> None:
    chat = [*chat_on_three_subjects(), user("And now?")]
    policy = Policy.rolling(summary_topics=4, max_prompt_tokens=4_096)
    fitted = brim.fit(chat, model="gpt-4o", policy=policy)
    parts = parts_of(fitted.messages[0]["content"])
    assert [title.split(" (")[1] for title in parts] == ["28 messages)", "28 messages)", "22 messages)"]
    for (subject, nouns), (title, part) in zip(SUBJECTS.items(), parts.items(), strict=True):
        assert set(title.split(" (")[0].split(", ")) <= set(nouns)
        assert part.count(f"plan {subject}-") >= 3
        assert sum(f"plan {other}-" in part for other in SUBJECTS) == 1
    assert fitted.tokens <= 4_096 - 512
    one = brim.fit(chat, model="gpt-4o", policy=policy.with_(summary_topics=1)).messages[0]["content"]
    assert "plan harbour-" not in one  # one summary has no room for what was decided first


@pytest.mark.parametrize("model", ["gpt-4o", "claude-sonnet-4-5"])
def test_a_topic_that_is_over_keeps_its_summary_as_the_chat_goes_on(model: str) -> None:
    session = brim.Session(model=model, policy=Policy.rolling(summary_topics=4, max_prompt_tokens=4_096))
    chat, seen = chat_on_three_subjects(), []
    for n in range(0, len(chat), 2):
        fitted = session.say(chat[n]["content"])
        session.record(chat[n + 1]["content"])
        assert fitted.tokens <= 4_096 - 512
        text = fitted.conversation.messages[0].text
        seen.append(parts_of(text) if text.startswith("Conversation summary: ") else {})
    assert 3 <= len(seen[-1]) <= 4
    first, second = list(seen[-1])[:2]
    over = [parts[first] for parts in seen if second in parts]
    assert len(over) > 5
    assert len(set(over[-6:])) <= 2  # it gives way only where there is too little room for all


def test_more_topics_than_are_kept_become_one_from_the_oldest_on() -> None:
    chat = [*chat_on_three_subjects(), user("And now?")]
    policy = Policy.rolling(summary_topics=2, max_prompt_tokens=4_096)
    parts = parts_of(brim.fit(chat, model="gpt-4o", policy=policy).messages[0]["content"])
    assert [title.split(" (")[1] for title in parts] == ["56 messages)", "22 messages)"]
    assert "bread-" in next(iter(parts.values()))


def test_a_model_summarises_each_topic_by_itself() -> None:
    asked: list[str] = []

    def summarize(messages: Any, previous: str, tokens: int) -> str:
        asked.append(" ".join(message.text for message in messages))
        return f"They planned {len(asked)}."

    policy = Policy.rolling(summary_topics=4, max_prompt_tokens=4_096)
    chat = [*chat_on_three_subjects(), user("And now?")]
    text = brim.fit(chat, model="gpt-4o", policy=policy, summarize=summarize).messages[0]["content"]
    assert len(asked) == len(parts_of(text)) == 3
    assert [sum(f"{subject}-" in one for one in asked) for subject in SUBJECTS] == [1, 1, 1]


@pytest.mark.parametrize("policy", ["agent", "rolling", "concise", "layered"])
def test_what_brim_recalled_is_never_quoted_as_the_words_of_the_user(policy: str) -> None:
    session = brim.Session(model="gpt-4o", budget=3_500, policy=policy)
    chat = chat_on_three_subjects()
    for n in range(0, len(chat), 2):
        fitted = session.say(chat[n]["content"])
        session.record({"choices": [{"message": chat[n + 1]}]})
        for message in fitted.messages:
            text = str(message["content"])
            assert "[Brim recalls" not in text or text.startswith("[Brim recalls")
