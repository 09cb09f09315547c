"""What sessions refuse at once, and with which error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import brim
from brim.sessions.session import Session, list_sessions
from brim.summaries.llm import LlmSummarizer
from tests.cli.conftest import Run, run

__all__ = ["run"]


@pytest.fixture
def session() -> Session:
    return Session(model="gpt-4o", budget=2_000)


@pytest.mark.parametrize(
    ("settings", "at"),
    [
        ({"model": 5}, "model"),
        ({"model": ["gpt-4o"]}, "model"),
        ({"api": "nope"}, "api"),
        ({"api": 5}, "api"),
        ({"store": 5}, "store"),
        ({"budget": "5"}, "budget"),
        ({"budget": -1}, "budget"),
        ({"budget": 100, "reserve": 200}, "reserve"),
        ({"id": "a\ud800"}, "id"),
        ({"id": 5}, "id"),
        ({"summarizer": 5}, "summarizer"),
        ({"summarizer": lambda prompt: prompt}, "summarizer"),
        ({"embed": "all-minilm"}, "embed"),
        ({"on_event": 5}, "on_event"),
    ],
)
def test_a_session_is_not_made_of_what_makes_no_sense(settings: dict[str, Any], at: str) -> None:
    with pytest.raises(brim.BadInput) as refused:
        Session(**{"model": "gpt-4o"} | settings)
    assert refused.value.at == at


def test_a_session_asks_for_its_model() -> None:
    with pytest.raises(brim.UnknownModel, match="no model is named"):
        Session(model=None)  # type: ignore[arg-type]


def test_a_response_that_is_no_json_is_not_recorded(session: Session) -> None:
    session.say("Hello.")
    with pytest.raises(brim.BadInput, match="response: is no message"):
        session.record({"choices": [{"message": {"role": "assistant", "content": object()}}]})
    assert len(session.log) == 1


def test_instructions_that_are_no_message_are_refused() -> None:
    for system in (5, object()):
        with pytest.raises(brim.BadInput, match="system"):
            Session(model="gpt-4o", system=system).say("Hello.")


@pytest.mark.parametrize("context", [None, 5, b"text", {"text": "x"}])
def test_what_is_no_text_is_not_attached(session: Session, context: Any) -> None:
    with pytest.raises(brim.BadInput, match="context: must be text"):
        session.attach(context)
    with pytest.raises(brim.BadInput, match=r"Attachment\.source: must be text"):
        session.attach("x", source=context)
    session.say("Hello.")


@pytest.mark.parametrize("wrong", [None, 5, b"brim:3f2a9c01"])
def test_handles_and_queries_are_texts(session: Session, wrong: Any) -> None:
    with pytest.raises(brim.BadInput, match="handle: must be text"):
        session.recall(wrong)
    with pytest.raises(brim.BadInput, match="query: must be text"):
        session.search(wrong)


@pytest.mark.parametrize("wrong", [None, -1, 1.5, "3", True])
def test_limits_and_lengths_are_whole_numbers(session: Session, wrong: Any) -> None:
    with pytest.raises(brim.BadInput, match="limit: must be a whole number of at least 0"):
        session.search("berth", limit=wrong)
    with pytest.raises(brim.BadInput, match="length: must be a whole number of at least 0"):
        session.fork(wrong)


@pytest.mark.parametrize("message", [None, 5, object(), b"text", ["text"]])
def test_what_is_no_message_is_not_said(session: Session, message: Any) -> None:
    with pytest.raises(brim.BadInput):
        session.say(message)
    assert not session.log


@pytest.mark.parametrize("store", [5, {}])
def test_what_is_no_store_has_no_sessions(store: Any) -> None:
    with pytest.raises(brim.BadInput, match="store: must be"):
        list_sessions(store)


def test_a_file_that_cannot_be_read_is_not_imported(tmp_path: Path) -> None:
    with pytest.raises(brim.NotFound, match="cannot be read: No such file"):
        Session.import_(tmp_path / "missing.jsonl")
    with pytest.raises(brim.NotFound, match="cannot be read"):
        Session.import_(tmp_path)
    (tmp_path / "latin.jsonl").write_bytes(b'{"id": "\xe9"}')
    with pytest.raises(brim.BadInput, match="is not UTF-8 text"):
        Session.import_(tmp_path / "latin.jsonl")


@pytest.mark.parametrize("lines", [5, None, "{}", b"{}", [5], ["{}", 5], []])
def test_what_are_no_lines_is_not_imported(lines: Any) -> None:
    with pytest.raises(brim.BadInput, match="line"):
        Session.import_(lines)


@pytest.mark.parametrize(
    "head", [{"api": "nope"}, {"model": 5}, {"id": 5}, {"budget": "x"}, {"settings": {"reserve": -1}}]
)
def test_an_export_whose_head_makes_no_sense_is_not_imported(run: Run, tmp_path: Path, head: dict[str, Any]) -> None:
    lines = [json.dumps({"id": "a", "model": "gpt-4o", "api": "openai_chat", "budget": None} | head)]
    with pytest.raises(brim.BadInput):
        Session.import_(lines)
    (tmp_path / "chat.jsonl").write_text("\n".join(lines))
    done = run("sessions", "import", "chat.jsonl", "--store", "s.db")
    assert done.code == 2
    assert "Traceback" not in done.err


async def _ask(system: str, user: str, tokens: int) -> str:
    return ""


@pytest.mark.parametrize(
    "settings",
    [
        {"window": "x"},
        {"window": None},
        {"timeout": "x"},
        {"retries": -1},
        {"max_tokens": 1.5},
        {"block_chars": 0},
        {"ask": 5},
    ],
)
def test_a_summarizer_is_not_made_of_what_makes_no_sense(settings: dict[str, Any]) -> None:
    (name,) = settings
    with pytest.raises(brim.BadSetting) as refused:
        LlmSummarizer(**{"ask": _ask} | settings)
    assert refused.value.name == f"summarizer.{name}"
