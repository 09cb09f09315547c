"""What an upstream reports or states is checked: it cannot cut later requests, nor let them pass the window."""

from __future__ import annotations

import json
from typing import Any

import pytest

from brim import counting
from brim.gateway.fitting.learned import Learned
from brim.testing import Fail, FakeProvider, Raw
from brim.tokens.actuals import InMemory
from tests.gateway.conftest import Start

SENTENCE = "The harbour master counted the crates twice and wrote the number into the ledger. "


def chat(sentences: int) -> list[dict[str, Any]]:
    return [{"role": "user", "content": SENTENCE * sentences}]


def turns(number: int, sentences: int) -> list[dict[str, Any]]:
    """A chat of so many turns that ends with a short question."""
    said = [{"role": ("user", "assistant")[n % 2], "content": f"{n}: " + SENTENCE * sentences} for n in range(number)]
    return [*said, *([said[0]] if number % 2 else []), {"role": "user", "content": "And now?"}]


def charged(fake: FakeProvider, tokens: int) -> None:
    """Let the next chat be answered with so much usage."""
    choices = [{"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}]
    usage = {"prompt_tokens": tokens, "completion_tokens": 1, "total_tokens": tokens + 1}
    fake.script(Raw((json.dumps({"choices": choices, "usage": usage}).encode(),)))


def test_a_response_that_went_on_from_another_does_not_cut_later_chats(start: Start, fake: FakeProvider) -> None:
    running = start(models={"gpt-4o": {"window": 128_000}})
    asked = {"model": "gpt-4o", "input": "And then?", "previous_response_id": "resp_1"}
    usage = {"input_tokens": 60_000, "output_tokens": 1, "total_tokens": 60_001}
    answer = {"object": "response", "status": "completed", "output": [], "usage": usage}
    fake.script(Raw((json.dumps(answer).encode(),)))
    assert running.ask("POST", "/v1/responses", asked).status == 200
    running.settled()
    for sentences in (60, 600, 4_400):
        body = {"messages": chat(sentences)}
        assert running.chat(body).status == 200
        assert fake.posts[-1].json["messages"] == body["messages"]
    assert 'brim_usage_ignored_total{api="openai_responses"} 1' in running.ask("GET", "/metrics").body.decode()


@pytest.mark.parametrize("share", [0.0, 0.02])
def test_reports_of_next_to_nothing_do_not_let_requests_pass_the_window(
    start: Start, fake: FakeProvider, share: float
) -> None:
    """Usage 1, or only the part that was not cached."""
    running = start(models={"acme-1": {"window": 8_192}})
    sent: dict[str, Any] = {"model": "acme-1"}
    for n in range(12):
        body = {**sent, "messages": turns(3 + n, 4)}
        charged(fake, max(1, round(share * counting.count(body["messages"], model="gpt-4o").tokens)))
        assert running.ask("POST", "/v1/chat/completions", body).status == 200
    running.settled()
    assert running.ask("POST", "/v1/chat/completions", {**sent, "messages": turns(400, 8)}).status == 200
    went = fake.posts[-1].json["messages"]
    assert counting.count(went, model="gpt-4o").tokens <= 8_192
    assert len(fake.posts[-1].body) < 60_000


def test_an_absurd_charge_does_not_reach_other_chats(start: Start, fake: FakeProvider) -> None:
    running = start(models={"gpt-4o": {"window": 64_000}})
    for tokens in (60_000, 10**9, 1, 0):
        charged(fake, tokens)
        running.chat({"messages": chat(1)})
    running.settled()
    body = {"messages": turns(20, 30)}
    assert running.chat(body).status == 200
    assert fake.posts[-1].json["messages"] == body["messages"]


def test_an_overflow_that_states_absurd_sizes_cuts_nothing_to_nothing(start: Start, fake: FakeProvider) -> None:
    running = start(models={"gpt-4o": {"window": 64_000}})
    body = {"messages": turns(20, 30)}
    size = counting.count(body["messages"], model="gpt-4o").tokens
    for tokens, window in ((10**9, 20_000), (9, 5), (10**9, 5), (900, 600), (70_000, 64_000)):
        said = f"maximum context length is {window} tokens. However, your messages resulted in {tokens} tokens."
        fake.script(Fail(400, f"This model's {said}"))
        assert running.chat(body).status == 200
        running.settled()
        assert counting.count(fake.posts[-1].json["messages"], model="gpt-4o").tokens >= 0.25 * size
    fitter, turn = running.gateway.fitter, running.last
    assert fitter.models.find("gpt-4o", turn.upstream, turn.tenant).window == 64_000  # type: ignore[union-attr]


def test_a_stated_window_must_be_one_that_the_prompt_can_pass_and_none_passed() -> None:
    learned = Learned(InMemory())
    actuals = learned.of("upstream", "alice")
    assert learned.can_be(actuals, "m", 4_096, 30_000, 10, 500)
    assert not learned.can_be(actuals, "m", 4_096, 3_000, 10, 500)
    assert not learned.can_be(actuals, "m", 5, 30_000, 10, 500)
    learned.accept(actuals, "m", 6_000)
    assert not learned.can_be(actuals, "m", 4_096, 30_000, 10, 500)
    assert learned.can_be(learned.of("upstream", "bob"), "m", 4_096, 30_000, 10, 500)


def test_what_one_key_or_one_upstream_is_told_is_not_used_for_another(start: Start, fake: FakeProvider) -> None:
    running = start(models={"gpt-4o": {"window": 64_000}})
    body = {"messages": turns(30, 20)}
    said = "This model's maximum context length is 3000 tokens. However, your messages resulted in 9000 tokens."
    fake.script(Fail(400, said))
    running.chat(body, authorization="Bearer alice")
    running.settled()
    alice = running.last
    running.chat(body, authorization="Bearer bob")
    running.settled()
    bob, fitter = running.last, running.gateway.fitter
    assert alice.tenant != bob.tenant
    assert fitter.models.find("gpt-4o", "upstream", alice.tenant).window == 3_000  # type: ignore[union-attr]
    assert fitter.models.find("gpt-4o", "upstream", bob.tenant).window == 64_000  # type: ignore[union-attr]
    assert fake.posts[-1].json["messages"] == body["messages"]
    one, two = (fitter.learned.of("upstream", turn.tenant) for turn in (alice, bob))
    assert one is not two
    assert counting.count(body["messages"], model="gpt-4o", actuals=one).tokens == 9_000
    assert counting.count(body["messages"], model="gpt-4o", actuals=two).tokens == bob.usage.input != 9_000
