"""A chat session that is asked about what it has archived."""

from __future__ import annotations

from array import array

from brim.planning.ranking import weigh
from brim.sessions.session import Session

TOPICS = ("tides", "kilns", "beehives", "gliders", "mosaics", "anvils", "orchards", "sundials")


def talked(turns: int) -> list[dict[str, str]]:
    messages = []
    for turn in range(turns):
        topic = TOPICS[turn * len(TOPICS) // turns]
        messages.append(
            {"role": "user", "content": f"Tell me more on {topic}, part {turn}: I noted figure {turn * 37}."}
        )
        messages.append({"role": "assistant", "content": f"On {topic}: " + f"{topic} need patience and care. " * 40})
    return messages


def followed(messages: list[dict[str, str]]) -> Session:
    session = Session(model="gpt-4o", budget=2_500)
    for end in range(1, len(messages), 2):
        session.fit(messages[:end])
    return session


def test_a_question_about_what_is_archived_is_planned_for() -> None:
    messages = talked(96)
    session = followed(messages)
    before = session.compactions
    sent = session.fit([*messages, {"role": "user", "content": "What did we say about kilns?"}]).messages
    noted = [message["content"] for message in messages if message["role"] == "user" and "kilns" in message["content"]]
    shown = "\n".join(message["content"] for message in sent)
    assert session.compactions == before + 1
    assert sum(said in shown for said in noted) >= len(noted) // 2


def test_a_message_that_asks_for_what_is_shown_causes_no_compaction() -> None:
    messages = talked(48)
    session = followed(messages)
    session.fit(messages)
    before = session.compactions
    session.fit([*messages, {"role": "user", "content": "And part 47 on sundials?"}])
    assert session.compactions == before


def test_long_answers_are_weighed_by_how_much_longer_they_are_than_what_the_user_says() -> None:
    sizes, by_user = [20, 400, 20, 400], [True, False, True, False]
    scores = array("d", [1.0, 2.0, 1.0, 2.0])
    weigh(scores, sizes, by_user, named=[3])
    assert scores[0] == scores[2] > scores[1]
    assert scores[3] == 2.0
    alone = array("d", [1.0, 2.0])
    weigh(alone, [500, 20], [True, True])
    assert list(alone) == [1.0, 2.0]
