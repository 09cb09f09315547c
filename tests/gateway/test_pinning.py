"""The header `x-brim-pin` and `[policy] pin`: what they match is sent word for word, in every API."""

from __future__ import annotations

from typing import Any

import pytest

from brim.testing import FakeProvider

from .conftest import Running, Start, long_chat
from .test_fitter import requests

BUDGET = {"x-brim-budget": "3000"}
# Words of a question in the middle of `long_chat`, which a window of 3,000 tokens does not keep by itself.
CHAT = long_chat(40)
PINNED = CHAT[21]["content"][:60]


def sent_whole(fake: FakeProvider) -> bool:
    return CHAT[21]["content"].encode() in fake.posts[-1].body


@pytest.mark.parametrize("path", requests())
def test_what_the_header_names_is_sent_word_for_word(gateway: Running, fake: FakeProvider, path: str) -> None:
    body = requests()[path]
    gateway.ask("POST", path, body, {**BUDGET, "x-brim-session": "other"})
    assert not sent_whole(fake)
    answer = gateway.ask(
        "POST", path, body, {**BUDGET, "x-brim-session": "one", "x-brim-pin": f"nothing here; {PINNED}"}
    )
    assert answer.number("tokens-after") <= 3_000
    assert sent_whole(fake)


def test_one_request_with_the_header_is_enough_though_all_of_it_fits(gateway: Running, fake: FakeProvider) -> None:
    def ask(messages: list[Any], **headers: str) -> None:
        body = {"model": "gpt-4o", "messages": messages}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        gateway.ask("POST", "/v1/chat/completions", body, {"x-brim-session": "one", **named})

    ask(CHAT[:22], x_brim_pin=PINNED.replace(" ", "%20"))
    ask(CHAT, x_brim_budget="3000")
    assert sent_whole(fake)


def test_the_settings_pin_for_every_request(start: Start, fake: FakeProvider) -> None:
    running = start(policy={"pin": [PINNED]})
    running.ask("POST", "/v1/chat/completions", requests()["/v1/chat/completions"], BUDGET)
    assert sent_whole(fake)


@pytest.mark.parametrize(
    ("headers", "problem"),
    [
        ({"x-brim-pin": "*"}, "x-brim-pin: each must be a text of 3"),
        ({"x-brim-pin": ";".join(["abc"] * 40)}, "x-brim-pin: may have at most 32"),
        ({"x-brim-pin": "never", "x-brim-policy": "rolling"}, "agent keeps what is pinned"),
    ],
)
def test_a_header_that_cannot_hold_is_refused(gateway: Running, headers: dict[str, str], problem: str) -> None:
    answer = gateway.ask("POST", "/v1/chat/completions", requests()["/v1/chat/completions"], headers)
    assert answer.status == 400
    assert problem in answer.body.decode()


def test_a_pin_that_does_not_fit_is_named(gateway: Running) -> None:
    headers = {"x-brim-budget": "300", "x-brim-pin": PINNED}
    answer = gateway.ask("POST", "/v1/chat/completions", requests()["/v1/chat/completions"], headers)
    assert answer.status == 400
    assert answer.headers["x-brim-must-stay"].startswith("pinned user messages[21] 45")
