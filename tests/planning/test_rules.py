"""Rules of single APIs hold whatever is archived: calls follow the user's side, last calls keep their thoughts."""

from __future__ import annotations

import random
from typing import Any

import pytest

import brim

WORDS = "order log server error cause berth token window value path file query payment retry stock build".split()


def chat(seed: int, turns: int = 14) -> list[dict[str, Any]]:
    """Turns of a question, one or two steps with calls, and an answer, of all sizes."""
    pick = random.Random(seed)

    def words(most: int) -> str:
        return " ".join(pick.choices(WORDS, k=pick.choice([3, most // 4, most])))

    found: list[dict[str, Any]] = []
    for number in range(turns):
        asked = {"text": words(300)}
        image = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo" + "A" * 400}}
        found.append({"role": "user", "parts": [image if pick.random() < 0.3 else asked]})
        for step in range(pick.choice([0, 1, 2])):
            call = {"name": "read", "args": {"path": f"/{number}/{step}.txt"}}
            answer = {"name": "read", "response": {"result": words(400)}}
            found.append({"role": "model", "parts": [{"functionCall": call}]})
            found.append({"role": "user", "parts": [{"functionResponse": answer}]})
        found.append({"role": "model", "parts": [{"text": words(200)}]})
    return [*found, {"role": "user", "parts": [{"text": "And the order value?"}]}]


def wrong(contents: list[dict[str, Any]]) -> list[int]:
    """Where calls do not follow the user's side, or a content is empty."""
    calling = [any("functionCall" in part for part in content["parts"]) for content in contents]
    return [
        number
        for number, content in enumerate(contents)
        if not content["parts"] or (calling[number] and (not number or contents[number - 1]["role"] != "user"))
    ]


@pytest.mark.parametrize("seed", range(40))
def test_calls_of_gemini_follow_the_users_side_whatever_is_archived(seed: int) -> None:
    messages = chat(seed)
    total = brim.count(messages, model="gemini-2.5-pro").tokens
    for share in (0.15, 0.4, 0.7):
        fitted = brim.fit(messages, model="gemini-2.5-pro", budget=int(total * share))
        assert wrong(fitted.messages) == []
        assert brim.count(fitted.messages, model="gemini-2.5-pro").tokens <= total * share


@pytest.mark.parametrize("seed", range(6))
def test_calls_of_gemini_follow_the_users_side_in_a_session_too(seed: int) -> None:
    messages = chat(seed, 20)
    session = brim.Session(model="gemini-2.5-pro", budget=brim.count(messages, model="gemini-2.5-pro").tokens // 4)
    asks = [n for n, message in enumerate(messages) if "text" in message["parts"][0] and message["role"] == "user"]
    for end in asks:
        assert wrong(session.fit(messages[: end + 1]).messages) == []


def thinking_chat(seed: int) -> list[dict[str, Any]]:
    """Turns with thoughts, calls and answers, and a new question at the end."""
    pick = random.Random(seed)

    def words(most: int) -> str:
        return " ".join(pick.choices(WORDS, k=pick.choice([3, most // 4, most])))

    found: list[dict[str, Any]] = []
    for number in range(6):
        found.append({"role": "user", "content": words(200)})
        thought = {"type": "thinking", "thinking": words(200), "signature": f"sig{number}" * 9}
        call = {"type": "tool_use", "id": f"t{number}", "name": "read", "input": {"path": f"/{number}.txt"}}
        found.append({"role": "assistant", "content": [thought, call]})
        answer = {"type": "tool_result", "tool_use_id": f"t{number}", "content": f"BERTH-{number} " + words(80)}
        found.append({"role": "user", "content": [answer]})
        found.append({"role": "assistant", "content": words(900)})
    return [*found, {"role": "user", "content": "What was BERTH-5?"}]


@pytest.mark.parametrize("seed", range(40))
def test_a_last_answer_with_calls_keeps_the_thoughts_that_it_began_with(seed: int) -> None:
    messages = thinking_chat(seed)
    total = brim.count(messages, model="claude-sonnet-4-5").tokens
    for share in (0.1, 0.2, 0.3, 0.5):
        fitted = brim.fit(messages, model="claude-sonnet-4-5", budget=int(total * share))
        assert brim.count(fitted.messages, model="claude-sonnet-4-5").tokens <= total * share
        last = next((m["content"] for m in reversed(fitted.messages) if m["role"] == "assistant"), "")
        if isinstance(last, list) and any(block["type"] == "tool_use" for block in last):
            assert last[0]["type"] == "thinking"


def test_the_newest_result_of_an_agent_that_writes_its_calls_as_text_stays_whole() -> None:
    said: list[dict[str, str]] = [{"role": "user", "content": "Find out why berth_12 is booked twice."}]
    for day in range(12):
        log = "\n".join(
            f"{day}-{line} berth_{(day * 7 + line) % 40} ship S{day * 131 + line * 17}" for line in range(80)
        )
        call = f'Thought: I look.\nAction: read_log\nAction Input: {{"day": {day}}}\nObservation: {log}'
        said += [{"role": "assistant", "content": call}, {"role": "user", "content": "Go on, or answer."}]
        fitted = brim.fit(said, model="gpt-4o", budget=8_000)
        assert fitted.messages[-2]["content"] == call
    assert fitted.tokens < brim.count(said, model="gpt-4o").tokens
