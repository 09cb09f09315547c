"""A model with a larger window for what cannot be made to fit: only by setting, and never unfitted."""

from __future__ import annotations

from typing import Any

from brim.testing import FakeProvider

from .conftest import Running, Start

SMALL = {"window": 2_000, "max_output": 200, "family": "o200k"}
BIG = {"window": 60_000, "max_output": 200, "family": "o200k"}


def made(start: Start, **more: Any) -> Running:
    small = {**SMALL, "larger": "big-one", **more}
    return start(models={"small-one": small, "big-one": BIG})


def asked(words: int) -> dict[str, Any]:
    """A request with instructions of so many words, which must stay."""
    text = " ".join(f"word{number}" for number in range(words))
    said = [{"role": "system", "content": text}, {"role": "user", "content": "hi"}]
    return {"model": "small-one", "temperature": 0.25, "messages": said}


def test_a_request_that_cannot_fit_is_sent_to_the_larger_model_and_it_is_told(start: Start, fake: FakeProvider) -> None:
    running = made(start)
    answer = running.chat(asked(3_000))
    assert answer.status == 200
    assert fake.posts[-1].fields == {**asked(3_000), "model": "big-one"}
    assert answer.headers["x-brim-note"] == "sent to 'big-one': what must stay does not fit into 'small-one'"
    told = running.ask("GET", "/metrics").body.decode()
    assert 'brim_larger_models_total{model="small-one",to="big-one"} 1' in told
    running.settled()
    assert running.get("/brim/v1/live")["turns"][0]["model"] == "big-one"


def test_a_request_that_fits_stays_with_its_model(start: Start, fake: FakeProvider) -> None:
    assert made(start).chat(asked(50)).status == 200
    assert fake.posts[-1].fields["model"] == "small-one"


def test_what_the_larger_model_has_no_room_for_is_refused(start: Start, fake: FakeProvider) -> None:
    assert made(start).chat(asked(60_000)).status == 400
    assert not fake.posts


def test_without_the_setting_it_is_refused(start: Start, fake: FakeProvider) -> None:
    assert made(start, larger=None).chat(asked(3_000)).status == 400
    assert not fake.posts


def test_a_model_of_which_nothing_is_known_gets_nothing(start: Start, fake: FakeProvider) -> None:
    assert made(start, larger="nobody-knows-this").chat(asked(3_000)).status == 400
    assert not fake.posts


def test_a_budget_of_the_client_stays_its_budget(start: Start, fake: FakeProvider) -> None:
    assert made(start).chat(asked(3_000), x_brim_budget="1000").status == 400
    assert not fake.posts


def test_a_conversation_goes_on_with_the_larger_model_within_its_window(start: Start, fake: FakeProvider) -> None:
    running = start(models={"small-one": {**SMALL, "larger": "big-one"}, "big-one": {**BIG, "window": 12_000}})
    body = asked(3_000)
    fake.window = 12_000
    for number in range(8):
        said = " ".join(f"note{number}-{place}" for place in range(300))
        body["messages"] += [{"role": "assistant", "content": "ok"}, {"role": "user", "content": said}]
        assert running.chat(body).status == 200
        assert fake.posts[-1].fields["model"] == "big-one"
        assert fake.posts[-1].fields["messages"][0] == body["messages"][0]
    assert any(post.fields["messages"] != body["messages"][: len(post.fields["messages"])] for post in fake.posts)
