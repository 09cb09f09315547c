"""Summaries by a model: never over its window, never over the budget, refused when they are no good."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given, settings
from hypothesis import strategies as st

import brim
from brim import apis
from brim.conversation import Message
from brim.models.model import Prices
from brim.sessions.session import Session
from brim.stores.inmemory import InMemoryStore
from brim.summaries import llm
from brim.summaries.endpoint import Endpoint
from brim.summaries.llm import FRAME, INSTRUCTION, LlmSummarizer
from brim.tokens.tokenizers import tokenizer

count = tokenizer("o200k")


def talk(turns: int, words: int = 60) -> list[Message]:
    texts = [f"Turn {number}: " + "the depot is full and the road is long " * (words // 9) for number in range(turns)]
    return [apis.text_message("openai_chat", "user", text) for text in texts]


class Model:
    """A model that answers with a short text, keeps what it was asked, and fails as often as it is told to."""

    def __init__(self, answer: str = "They spoke of the depot.", failures: int = 0, wait: float = 0.0) -> None:
        self.answer, self.failures, self.wait = answer, failures, wait
        self.asked: list[tuple[str, str, int]] = []

    async def __call__(self, system: str, text: str, tokens: int) -> str:
        self.asked.append((system, text, tokens))
        await asyncio.sleep(self.wait)
        if self.failures:
            self.failures -= 1
            raise ConnectionError("the model is away")
        return self.answer


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llm, "WAIT", 0.0)


def run(awaitable: Awaitable[Any]) -> Any:
    async def main() -> Any:
        return await awaitable

    return asyncio.run(main())


def test_the_prompt_has_the_instruction_the_previous_summary_and_the_lines() -> None:
    model = Model()
    run(LlmSummarizer(model).summarize(talk(3), "Earlier they met.", 200))
    system, text, tokens = model.asked[0]
    assert system == INSTRUCTION
    assert text.startswith("Previous summary: Earlier they met.\n\nUser: Turn 0: ")
    assert tokens == 200


@settings(max_examples=25)
@given(st.integers(1, 60), st.integers(400, 3_000), st.sampled_from([20, 200, 4_000]))
def test_no_call_is_larger_than_the_window(turns: int, window: int, words: int) -> None:
    model = Model()
    summarizer = LlmSummarizer(model, window=window)
    run(summarizer.summarize(talk(turns, words), "Earlier they met.", 500))
    assert model.asked
    for system, text, tokens in model.asked:
        assert FRAME + count(system) + count(text) + tokens <= window + FRAME


def test_a_large_block_is_summarised_in_pieces_and_those_together() -> None:
    model = Model()
    text = run(LlmSummarizer(model, window=1_000).summarize(talk(80), "", 200))
    assert len(model.asked) > 4
    assert "They spoke of the depot." in model.asked[-1][1]
    assert text is not None
    assert text.startswith("They spoke of the depot.")


def test_a_call_that_fails_is_tried_again() -> None:
    model = Model(failures=2)
    assert run(LlmSummarizer(model, retries=2).summarize(talk(9), "", 200)) is not None
    assert len(model.asked) == 3


def test_a_call_that_goes_on_failing_gives_no_summary(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert run(LlmSummarizer(Model(failures=9), retries=1).summarize(talk(9), "", 200)) is None
    assert "the model is away" in caplog.text


def test_a_call_that_takes_too_long_is_given_up() -> None:
    assert run(LlmSummarizer(Model(wait=5), timeout=0.01, retries=0).summarize(talk(9), "", 200)) is None


def test_the_budget_in_tokens_ends_the_calls() -> None:
    model = Model()
    summarizer = LlmSummarizer(model, window=1_000, max_tokens=2_500)
    assert run(summarizer.summarize(talk(80), "", 200)) is None
    assert 0 < summarizer.spent <= 2_500


def test_the_budget_in_money_ends_the_calls() -> None:
    model = Model()
    summarizer = LlmSummarizer(model, max_cost=0.002, prices=Prices(fresh=1.0, output=4.0))
    made = [run(summarizer.summarize(talk(9), "", 64)) for _ in range(5)]
    assert made[0] is not None
    assert made[-1] is None
    assert 0 < summarizer.cost <= 0.002


@pytest.mark.parametrize("settings", [{"window": 100}, {"max_cost": 1.0}])
def test_settings_that_cannot_work_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(brim.BadSetting):
        LlmSummarizer(Model(), **settings)


def answering(answer: Callable[[dict[str, Any]], Any], path: str) -> Any:
    async def handle(request: web.Request) -> web.Response:
        return web.json_response(answer({"body": await request.json(), "headers": dict(request.headers)}))

    app = web.Application()
    app.router.add_post(path, handle)
    return app


@pytest.mark.parametrize("api", ["openai_chat", "anthropic"])
def test_an_endpoint_is_asked_in_its_own_form(api: str) -> None:
    seen: list[dict[str, Any]] = []
    answers = {
        "openai_chat": {"choices": [{"message": {"role": "assistant", "content": "short"}}]},
        "anthropic": {"content": [{"type": "text", "text": "short"}]},
    }

    def answer(request: dict[str, Any]) -> Any:
        seen.append(request)
        return answers[api]

    async def main() -> str:
        path = {"openai_chat": "/v1/chat/completions", "anthropic": "/v1/messages"}[api]
        runner = web.AppRunner(answering(answer, path))
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        base = f"http://127.0.0.1:{port}" + ("/v1" if api == "openai_chat" else "")
        found = await Endpoint(base, "m", "k", api)("be brief", "text", 99)
        await runner.cleanup()
        return found

    assert asyncio.run(main()) == "short"
    body = seen[0]["body"]
    assert (body["model"], body["max_tokens"]) == ("m", 99)
    assert body["messages"][-1] == {"role": "user", "content": "text"}
    names = {name.casefold(): value for name, value in seen[0]["headers"].items()}
    assert names.get("x-api-key", names.get("authorization", "")).endswith("k")


def test_an_endpoint_of_an_unknown_api_is_refused() -> None:
    with pytest.raises(brim.BadSetting):
        Endpoint("http://localhost", "m", api="smoke")


def filled(session: Session, turns: int, start: int = 0) -> brim.Fitted:
    for number in range(start, start + turns):
        fitted = session.say(f"Item {number}: " + "the weather report mentions rain over the hills again " * 4)
        session.record({"choices": [{"message": {"role": "assistant", "content": f"Noted {number}."}}]})
        session.running_summary.wait(5)
    return fitted


def texts(fitted: brim.Fitted) -> str:
    return "\n".join(message.text for message in fitted.conversation.messages)


def test_a_session_uses_a_summary_from_the_next_re_plan_on() -> None:
    model = Model("The talk was about RAINFALL.")
    session = Session(model="gpt-4o", budget=1_500, summarizer=LlmSummarizer(model))
    filled(session, 40)
    assert model.asked
    assert "RAINFALL" in texts(filled(session, 40, 40))
    assert session.say("And now?").tokens <= 1_500


def test_a_sessions_summary_survives_reload() -> None:
    store = InMemoryStore()
    session = Session(model="gpt-4o", budget=1_500, store=store, id="s", summarizer=LlmSummarizer(Model("RAINFALL.")))
    filled(session, 60)
    again = Session.load("s", store=store)
    assert again.running_summary.text == session.running_summary.text != ""
    assert again.say("x").messages == session.say("x").messages


def test_a_summary_can_be_awaited() -> None:
    session = Session(model="gpt-4o", budget=1_500)
    filled(session, 40)
    session.history.running_summary = type(session.running_summary)(LlmSummarizer(Model("RAINFALL.")))
    assert run(session.summarize()) is True
    assert session.running_summary.text.startswith("RAINFALL.")


def test_a_failing_summariser_leaves_the_session_as_it_would_be_without() -> None:
    plain = Session(model="gpt-4o", budget=1_500)
    failing = Session(model="gpt-4o", budget=1_500, summarizer=LlmSummarizer(Model(failures=999), retries=0))
    assert texts(filled(plain, 40)) == texts(filled(failing, 40))


def test_an_edit_takes_back_a_summary_of_what_is_gone() -> None:
    session = Session(model="gpt-4o", budget=1_500, summarizer=LlmSummarizer(Model("RAINFALL.")))
    messages = [message.value for message in talk(60, 90)]
    session.fit(messages)
    session.record(1_000)
    session.running_summary.wait(5)
    assert session.running_summary.text
    session.fit(messages[:3])
    assert session.running_summary.text == ""


def test_rolling_builds_on_the_models_summary() -> None:
    policy = brim.Policy.rolling()
    session = Session(model="gpt-4o", budget=900, policy=policy, summarizer=LlmSummarizer(Model("RAINFALL.")))
    fitted = filled(session, 30)
    summaries = [message["content"] for message in fitted.messages if message["role"] == "system"]
    assert any("RAINFALL" in text for text in summaries)


def test_a_summary_that_is_made_after_a_response_survives_a_reload_at_once() -> None:
    store = InMemoryStore()
    session = Session(model="gpt-4o", budget=1_500, store=store, id="s", summarizer=LlmSummarizer(Model()))
    filled(session, 30)
    session.record(1_200)
    session.running_summary.wait(10)
    assert session.running_summary.text
    assert Session.load("s", store=store).running_summary.text == session.running_summary.text


@pytest.mark.parametrize("answer", [None, 5, ["a", "b"]])
def test_an_answer_that_is_no_text_is_refused_in_one_line(answer: Any, caplog: pytest.LogCaptureFixture) -> None:
    async def ask(system: str, text: str, tokens: int) -> Any:
        return answer

    session = Session(model="gpt-4o", budget=1_500)
    filled(session, 30)
    session.history.running_summary = type(session.running_summary)(LlmSummarizer(ask))
    assert run(session.summarize()) is False
    assert len([record for record in caplog.records if "no text" in record.message]) == 1


def test_a_summariser_of_ones_own_that_fails_leaves_the_session_as_it_would_be_without() -> None:
    class Broken:
        async def summarize(self, messages: Any, previous: str, tokens: int) -> str | None:
            raise KeyError("summary")

    session = Session(model="gpt-4o", budget=1_500, summarizer=Broken())
    filled(session, 30)
    assert run(session.summarize()) is False
