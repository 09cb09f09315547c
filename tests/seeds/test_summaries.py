"""Summaries of the windowed and of the truncated history: every topic, the decisions, and how they are asked for."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import brim
from brim import Policy, docsearch
from brim.summaries.deterministic import key_points
from brim.summaries.endpoint import Endpoint
from brim.summaries.llm import INSTRUCTION, LlmSummarizer


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def long_chat(turns: int) -> list[dict[str, Any]]:
    found = []
    for n in range(turns):
        found += [user(f"Topic {n}: the crane of berth {n} and its winter schedule. " + "tide " * 100)]
        found += [assistant(f"- Option red {n}\n- Keep file src/b{n}.py\n**Decision:** plan {n}.\n" + "boat " * 100)]
    return [*found, user("And now?")]


def summary_of(turns: int) -> str:
    text: str = brim.fit(long_chat(turns), model="gpt-4o", policy="concise").messages[0]["content"]
    return text


def test_each_archived_message_of_the_user_is_a_topic_and_older_ones_are_counted() -> None:
    text = summary_of(25)
    assert len(text) <= 2_000
    shown = [line for line in text.splitlines() if line.startswith("- Topic ")]
    earlier = next(line for line in text.splitlines() if line.startswith("- and "))
    assert f"and {23 - len(shown)} earlier topics: Topic 0" in earlier
    assert all(f"Topic {n}" in text for n in range(23))


def test_decisions_come_before_the_options_that_they_reject() -> None:
    text = summary_of(25)
    assert sum(f"Decision: plan {n}." in text for n in range(23)) >= 9
    points = key_points("- SQLite\n- Postgres\n**Decision:** Postgres it is.")
    assert points == ["Decision: Postgres it is.", "SQLite", "Postgres"]


@pytest.mark.parametrize(
    "line",
    [
        "Conclusion: we go with SQLite in WAL mode.",
        "Decision: SQLite in WAL mode.",
        "We will use SQLite in WAL mode.",
        "Let's go with SQLite in WAL mode.",
        "Final answer: SQLite in WAL mode.",
        "**Decision:** SQLite in WAL mode.",
        "## Conclusion\nSQLite in WAL mode.",
        "### Decision: SQLite in WAL mode",
    ],
)
def test_a_conclusion_is_found_in_every_form(line: str) -> None:
    assert any("SQLite in WAL mode" in point for point in key_points(f"Some words first.\n\n{line}\n"))


def test_an_empty_heading_takes_no_room() -> None:
    assert key_points("## Plan 18\n\n## Plan 19\nDo it in May.") == ["Plan 19: Do it in May."]


def test_a_file_name_in_a_decision_is_not_said_again() -> None:
    text = summary_of(14)
    assert text.count("src/b9.py") == 1


def test_pastes_in_the_last_two_turns_are_shortened_and_their_words_stay_with_a_warning() -> None:
    log = "\n".join(f"2026-03-09T06:30:{n % 60:02}Z INFO checkout event={n * 7919:x} done" for n in range(700))
    said = "These are my words. " * 10
    chat = [user(f"{said}\n```\n{log}\n```"), assistant("Fine."), user("tide " * 50), assistant("Good."), user("Now?")]
    fitted = brim.fit(chat, model="gpt-4o", policy="concise")
    assert sum(len(message["content"]) for message in fitted.messages[:-1]) <= 12_000
    assert fitted.messages[0]["content"].startswith(said)
    words = [user("word " * 4_000), assistant("fine " * 4_000), user("Go on."), assistant("Good."), user("Now?")]
    kept = brim.fit(words, model="gpt-4o", policy="concise")
    assert kept.messages == words
    assert any("stay verbatim" in warning for warning in kept.report.warnings)


def test_six_recent_messages_are_six_and_the_report_says_why_they_are_seven() -> None:
    chat = [turn for n in range(30) for turn in (user(f"[q{n}] " + "tide " * 200), assistant("boat " * 200))]
    two = [*chat[:-2], user("One thing. " * 40), assistant("Yes."), user("And. " * 40), user("More. " * 9)]
    fitted = brim.fit([*two, assistant("Ok."), user("Now?")], model="gpt-4o", policy="rolling")
    assert len([message for message in fitted.messages if message["role"] != "system"]) == 6
    seven = brim.fit([*chat, user("And now?")], model="gpt-4o", policy="rolling")
    assert len([message for message in seven.messages if message["role"] != "system"]) == 7
    reasons = {step.reason for step in seven.plan}
    assert any("the 7 messages that are kept (not 6: an answer and its question stay together)" in r for r in reasons)


def test_context_is_nothing_where_a_recent_message_had_to_be_cut() -> None:
    chat = [user("tide " * 9_000), assistant("boat " * 9_000), user("Why?")]
    fitted = brim.fit(chat, model="gpt-4o", policy="rolling", context="deep water " * 3_000)
    assert fitted.report.layers[2].after == 0


def test_a_huge_single_message_is_condensed_by_the_summarizer_where_there_is_one() -> None:
    asked: list[int] = []

    def summarize(messages: Any, previous: str, tokens: int) -> str:
        asked.append(sum(len(message.text) for message in messages))
        return "Ports and their distances."

    huge = "List the ports.\n" + "".join(f"Port {n} is {n} miles off.\n" for n in range(9_000)) + "Which is nearest?"
    fitted = brim.fit([user(huge)], model="gpt-4o", policy="rolling", summarize=summarize)
    text = fitted.messages[-1]["content"]
    assert text.startswith("List the ports.")
    assert text.endswith("Which is nearest?")
    assert "Ports and their distances." in text
    assert max(asked) <= 50_000
    assert huge in fitted.archive.values()


def test_the_summarizer_has_a_style_a_temperature_and_a_length() -> None:
    told: list[tuple[str, int]] = []

    async def ask(system: str, text: str, tokens: int) -> str:
        told.append((system, tokens))
        return "Berth 12."

    history = brim.fit([user("Which berth? " * 40), assistant("12. " * 40)], model="gpt-4o").conversation.messages
    asyncio.run(LlmSummarizer(ask, style="Write in German.").summarize(history, "", 200))
    assert told == [(f"{INSTRUCTION} Write in German.", 200)]
    for api in ("openai_chat", "anthropic", "gemini"):
        body = json.dumps(Endpoint("http://localhost:1", "m", api=api, temperature=0.2)._body("s", "t", 200))
        assert '"temperature": 0.2' in body
        assert "200" in body


@pytest.mark.parametrize("policy", ["agent", "rolling", "concise"])
def test_the_first_compaction_waits_for_the_summary_of_the_model_where_that_is_set(policy: str) -> None:
    first: dict[bool, str] = {}
    for wait in (True, False):
        asked: list[str] = []

        async def ask(system: str, text: str, tokens: int, asked: list[str] = asked) -> str:
            asked.append(text)
            return "The harbour was talked about."

        budget = None if policy == "concise" else 2_000  # it goes by characters
        session = brim.Session(model="gpt-4o", budget=budget, policy=policy, summarizer=LlmSummarizer(ask, wait=wait))
        chat = long_chat(14)
        for end in range(1, len(chat) + 1, 2):
            fitted = session.fit(chat[:end])
            if session.compactions:
                break
        first[wait] = str(fitted.messages)
        assert fitted.tokens <= (budget or 4_000)
        assert len(asked) == wait
    assert "The harbour was talked about." in first[True]
    assert "The harbour was talked about." not in first[False]


def test_a_summary_that_is_waited_for_in_vain_leaves_the_one_without_a_model() -> None:
    asked: list[str] = []

    async def ask(system: str, text: str, tokens: int) -> str:
        asked.append(text)
        raise OSError("down")

    writer = LlmSummarizer(ask, wait=True, retries=0)
    session = brim.Session(model="gpt-4o", budget=2_000, policy="rolling", summarizer=writer)
    fitted = session.fit(long_chat(14))
    assert fitted.messages[0]["content"].startswith("Conversation summary: ")
    assert "Topic 3" in fitted.messages[0]["content"]
    assert session.fit(long_chat(14)).messages == fitted.messages
    assert len(asked) == 1


def openai_client(folder: Path, asked: list[list[dict[str, Any]]]) -> Any:
    def create(messages: list[dict[str, Any]], **request: Any) -> dict[str, Any]:
        asked.append(list(messages))
        if len(asked) == 1:
            assert [tool["function"]["name"] for tool in request["tools"]] == ["search_features"]
            function = {"name": "search_features", "arguments": '{"keywords": ["token"]}'}
            call = {"id": "c1", "type": "function", "function": function}
            return {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [call]}}]}
        return {"choices": [{"message": assistant("Cap it at 12,000 characters.")}]}

    return SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))


def test_the_tool_loop_answers_the_searches_of_a_model(tmp_path: Path) -> None:
    (tmp_path / "token-limit.md").write_text("# Token limit\nHistory is capped at 12,000 characters.\n")
    asked: list[list[dict[str, Any]]] = []
    client = openai_client(tmp_path, asked)
    response, messages = docsearch.run_tools(client, messages=[user("What is the cap?")], folders=tmp_path, model="m")
    assert response["choices"][0]["message"]["content"] == "Cap it at 12,000 characters."
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "assistant"]
    assert "capped at 12,000 characters" in messages[2]["content"]


@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_a_model_that_goes_on_searching_is_asked_to_answer_without_tools(tmp_path: Path, api: str) -> None:
    (tmp_path / "token-limit.md").write_text("# Token limit\n")
    asked: list[dict[str, Any]] = []

    def create(**request: Any) -> dict[str, Any]:
        asked.append(request)
        done, keywords = "tool_choice" in request, {"keywords": ["token"]}
        if api == "anthropic":
            use = {"type": "tool_use", "id": f"c{len(asked)}", "name": "search_features", "input": keywords}
            return {"content": [{"type": "text", "text": "So be it."} if done else use]}
        function = {"name": "search_features", "arguments": json.dumps(keywords)}
        call = {"id": f"c{len(asked)}", "type": "function", "function": function}
        message = assistant("So be it.") if done else {"role": "assistant", "content": None, "tool_calls": [call]}
        return {"choices": [{"message": message}]}

    client = SimpleNamespace(messages=SimpleNamespace(create=create))
    if api == "openai":
        client = SimpleNamespace(chat=SimpleNamespace(completions=client.messages))
    _, said = docsearch.run_tools(client, messages=[user("Why?")], folders=tmp_path, model="m", rounds=2)
    assert len(asked) == 3
    assert all(request["tools"] for request in asked)
    assert [request.get("tool_choice") for request in asked] == [
        *(None, None, "none" if api == "openai" else {"type": "none"})
    ]
    assert "So be it." in str(said[-1])


def test_the_whole_policy_is_data() -> None:
    given = Policy.concise(system_role=False).as_dict()
    assert given["system_role"] is False
    assert Policy.named(given.pop("name"), given) == Policy.concise(system_role=False)


def test_an_unknown_model_counts_by_a_named_approximation_and_strict_refuses() -> None:
    with pytest.warns(UserWarning, match="my-model.*estimate"):
        count = brim.count("hello world", model="my-model")
    assert count.source == "estimated"
    assert count.upper > count.tokens > 0
    with pytest.raises(brim.UnknownModel):
        brim.count("hello world", model="my-model", strict=True)


def test_over_http_an_unknown_model_counts_by_a_named_approximation_too(gateway: Any) -> None:
    asked = {"request": {"model": "my-model", "messages": [user("hello world")]}}
    told = gateway.ask("POST", "/brim/v1/count", asked)
    assert told.status == 200
    assert told.json["source"] == "estimated"
    assert told.json["upper"] > told.json["tokens"] > 0
    assert "'my-model' is not a known model" in told.json["warning"]
    assert gateway.ask("POST", "/brim/v1/count", asked | {"strict": True}).status == 404


def test_a_plain_text_has_the_margin_of_its_tokenizer() -> None:
    count = brim.count("word " * 1_000, model="gpt-4o")
    assert 1.049 * count.tokens <= count.upper <= 1.05 * count.tokens + 1
