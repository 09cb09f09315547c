"""Bringing archived content back: the tool in every API, and what a message is about."""

from __future__ import annotations

import json
from typing import Any

import pytest

from brim import apis
from brim.apis import recall_tool
from brim.errors import BadInput, NotFound
from brim.sessions import auto_recall as recollecting
from brim.sessions.session import Session
from brim.tokens.tokenizers import tokenizer

CALLS: dict[str, Any] = {
    "openai_chat": {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "r1", "type": "function", "function": {"name": "brim_recall", "arguments": "ARGS"}}],
    },
    "anthropic": {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "r1", "name": "brim_recall", "input": "ARGS"}],
    },
    "openai_responses": {"type": "function_call", "call_id": "r1", "name": "brim_recall", "arguments": "ARGS"},
    "gemini": {"role": "model", "parts": [{"functionCall": {"name": "brim_recall", "args": "ARGS"}}]},
}


def session_with(text: str) -> tuple[Session, str]:
    session = Session(model="gpt-4o", budget=50_000)
    session.say(f"Please keep this: {text[:2000]}")
    handle = session.history.writer.keep(text)
    session.storage.save()
    return session, handle


def call(api: str, **arguments: Any) -> Any:
    text = json.dumps(arguments)
    inner = text if api in ("openai_chat", "openai_responses") else arguments
    value = json.loads(json.dumps(CALLS[api]).replace('"ARGS"', json.dumps(inner)))
    return apis.APIS[api].messages.get(json.dumps(value).encode(), "call")


@pytest.mark.parametrize("api", sorted(CALLS))
def test_a_recall_is_answered_in_the_form_of_its_api(api: str) -> None:
    session, handle = session_with("the original text")
    (result,) = recall_tool.answers(session, api, call(api, handle=handle))
    message = apis.APIS[api].messages.get(json.dumps(result).encode(), "result")
    assert message.answers
    assert "the original text" in message.text
    if api != "gemini":
        assert message.answers == ("r1",)


@pytest.mark.parametrize("api", sorted(CALLS))
def test_the_tool_is_defined_as_its_api_wants_it(api: str) -> None:
    body = {"openai_responses": "input", "gemini": "contents"}.get(api, "messages")
    request = {body: [apis.APIS[api].text_message("user", "hi")], "tools": [recall_tool.definition(api)]}
    assert b"brim_recall" in (apis.parse(request, api).tools or b"")


def test_a_message_without_recalls_gets_no_answer() -> None:
    session, _ = session_with("x")
    assert recall_tool.answers(session, "openai_chat", apis.text_message("openai_chat", "assistant", "hello")) == []


def test_a_long_content_is_read_page_by_page() -> None:
    text = "".join(f"line {number}\n" for number in range(5_000))
    session, handle = session_with(text)
    read, offset = "", 0
    while True:
        page, _, more = recall_tool.answer(session, {"handle": handle, "offset": offset}).partition("\n[… ")
        read += page
        if "next offset" not in more:
            break
        offset = int(more.rpartition(" ")[2].rstrip("]"))
    assert read == text


def test_a_query_reads_what_matches_in_a_content() -> None:
    session, handle = session_with("a" * 30_000 + "\nneedle 42")
    found = recall_tool.answer(session, {"handle": handle, "query": "Needle"})
    assert found.endswith("\nneedle 42\n[1 matching line]")
    assert len(found) < 1_000


@pytest.mark.parametrize("arguments", [{}, {"handle": 7}, {"offset": 3}, {"query": ""}])
def test_a_recall_of_nothing_says_what_to_give(arguments: dict[str, Any]) -> None:
    session, _ = session_with("x")
    assert "handle" in recall_tool.answer(session, arguments)


def test_an_unknown_handle_is_told_to_the_model() -> None:
    session, _ = session_with("x")
    assert "nothing is kept under 'brim:0000'" in recall_tool.answer(session, {"handle": "brim:0000"})


def test_a_query_alone_searches_all_messages() -> None:
    session, _ = session_with("the depot code is Q-7781")
    assert "Q-7781" in recall_tool.answer(session, {"query": "depot code"})
    assert recall_tool.answer(session, {"query": "zebra"}) == "nothing found"


def log_of(texts: list[str]) -> list[Any]:
    return [apis.text_message("openai_chat", "user", text) for text in texts]


def test_what_a_message_is_about_is_found_among_many() -> None:
    log = log_of([f"note {number} about the weather and the hills" for number in range(300)])
    log.insert(40, log_of(["The harbour pilot of Porto is called Almeida."])[0])
    recollection = recollecting.Recollection(log)
    assert recollection.about("Who is the harbour pilot of Porto?", 5)[:1] == [40]
    assert recollection.about("Who is the harbour pilot of Porto?", 5, without={40}) == []
    assert recollection.search("harbour pilot Porto", 3)[0] == 40


def test_a_log_that_is_cut_is_forgotten_from_there() -> None:
    log = log_of(["the code is K-991", "the depot is closed", "the vault is in Lisbon"])
    recollection = recollecting.Recollection(log)
    assert recollection.about("vault Lisbon", 3) == [2]
    assert recollection.search("vault Lisbon", 3)[0] == 2
    del log[2:]
    recollection.cut(2)
    assert recollection.about("vault Lisbon", 3) == []
    assert recollection.search("vault Lisbon", 3) == []
    log += log_of(["the vault moved to Lisbon again"])
    assert recollection.about("vault Lisbon", 3) == [2]


def test_recalled_text_stays_within_its_tokens() -> None:
    log = log_of(["short one", "long " * 500, "another"])
    count = tokenizer("o200k")
    text = recollecting.recall_text(log, [1, 0, 2], 40, count)
    assert "short one" in text
    assert "long long" not in text
    assert count(text) <= 40
    assert recollecting.recall_text(log, [1], 40, count) == ""


def test_a_recalled_call_names_its_tool_and_what_says_nothing_is_left_out() -> None:
    called = {"id": "c1", "type": "function", "function": {"name": "find_flight", "arguments": '{"to":"LAS"}'}}
    chat = [
        {"role": "user", "content": "Find me a flight."},
        {"role": "assistant", "content": None, "tool_calls": [called]},
        {"role": "tool", "tool_call_id": "c1", "content": " "},
    ]
    log = apis.parse(chat).messages
    text = recollecting.recall_text(log, [1, 2], 60, tokenizer("o200k"), "a flight to LAS")
    assert text == f'{recollecting.HEADER}\nassistant: find_flight({{"to":"LAS"}})'


def test_of_recalled_messages_the_best_are_shown_in_the_order_of_the_log() -> None:
    log = log_of(["the first thing that is said.", "the second thing that is said.", "the third thing that is said."])
    count = tokenizer("o200k")
    room = count(f"{recollecting.HEADER}\nuser: {log[2].text}\nuser: {log[0].text}\n")
    text = recollecting.recall_text(log, [2, 0, 1], room, count)
    assert [message.text in text for message in log] == [True, False, True]
    assert text.index(log[0].text) < text.index(log[2].text)
    assert count(text) <= room


def test_a_search_puts_the_log_that_holds_the_asked_identifier_first() -> None:
    session = Session(model="gpt-4o", budget=50_000)
    messages = []
    for number in range(60):
        messages.append({"role": "user", "content": f"Why was order ORD-{700_000 + (number + 7) % 60 * 10} delayed?"})
        lines = [f"order ORD-{700_000 + number * 10 + line}: delayed at depot {line}, order kept" for line in range(10)]
        messages.append({"role": "assistant", "content": "\n".join(lines)})
    session.fit(messages)
    for number in (0, 17, 59):
        found = session.search(f"why was order ORD-{700_000 + number * 10} delayed?", 3)
        assert found[0][0] == 2 * number + 1


def test_a_search_returns_as_many_messages_as_are_asked_for_where_so_many_match() -> None:
    session = Session(model="gpt-4o", budget=50_000)
    talk = [
        {"role": "user", "content": f"The lighthouse keeper wrote letter {n}. {'So it was. ' * n}"} for n in range(30)
    ]
    session.fit([*talk, {"role": "user", "content": "Lighthouse, lighthouse, keeper!"}])
    assert len(session.search("lighthouse keeper", 25)) == 25
    assert len(session.search("lighthouse keeper", 100)) == 31


def test_a_search_never_returns_the_question_itself() -> None:
    session = Session(model="gpt-4o", budget=50_000)
    question = "Where did Ann park the green van?"
    session.fit(
        [
            {"role": "user", "content": "Ann: I left the green van behind the mill."},
            {"role": "assistant", "content": "Noted."},
            {"role": "user", "content": question},
        ]
    )
    assert [number for number, _ in session.search(f" {question.lower()} ", 5)] == [0, 1]


def test_a_session_answers_expressions_about_what_it_archived() -> None:
    session, handle = session_with("".join(f"{n} {('ok', 'failed')[n % 7 == 3]}\n" for n in range(900)))
    assert session.query(handle, "tail 1") == "[lines 900-900 of 900]\n899 failed"
    assert session.query(handle, "/^3 /") == "[1 matching line of /^3 /]\n4: 3 failed"
    with pytest.raises(NotFound):
        session.query("brim:00000000", "tail 1")
    with pytest.raises(BadInput):
        session.query(handle, "lines 9-3")


@pytest.mark.parametrize("api", sorted(CALLS))
def test_a_query_is_answered_in_the_form_of_its_api(api: str) -> None:
    session, handle = session_with("one\ntwo\nthree")
    asked = json.loads(json.dumps(CALLS[api]).replace("brim_recall", "brim_query"))
    arguments = {"handle": handle, "expression": "line 2"}
    inner = json.dumps(arguments) if api in ("openai_chat", "openai_responses") else arguments
    value = json.dumps(asked).replace('"ARGS"', json.dumps(inner))
    (result,) = recall_tool.answers(session, api, apis.APIS[api].messages.get(value.encode(), "call"))
    assert "[lines 2-2 of 3]" in json.dumps(result)
    assert "three" not in json.dumps(result)
    if api == "gemini":
        assert result["parts"][0]["functionResponse"]["name"] == "brim_query"


def test_a_wrong_expression_is_answered_with_what_to_write() -> None:
    session, handle = session_with("one\ntwo")
    (result,) = recall_tool.answers(
        session,
        "openai_chat",
        apis.APIS["openai_chat"].messages.get(
            json.dumps(CALLS["openai_chat"])
            .replace("brim_recall", "brim_query")
            .replace('"ARGS"', json.dumps(json.dumps({"handle": handle, "expression": "lines 9-3"})))
            .encode(),
            "call",
        ),
    )
    assert "they count from 1" in result["content"]
