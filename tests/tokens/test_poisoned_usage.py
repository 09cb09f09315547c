"""What a provider reports is outside input: what no tokenizer can have made of a request teaches nothing."""

from __future__ import annotations

from typing import Any

import pytest

import brim
from brim import apis, models
from brim.models import Model
from brim.tokens.actuals import InMemory
from brim.tokens.calibration import Calibration
from brim.tokens.counter import Counter
from brim.tokens.observations import Observation, Observations
from tests.conversations import PNG

GPT = models.find("gpt-4o")
CLAUDE = models.find("claude-sonnet-4-5")
GEMINI = models.find("gemini-2.5-flash")
ACME = Model("acme-1", "acme", 100_000, None, "estimate", None, "openai_chat", "test")
SENTENCE = "The harbour master counted the crates twice and wrote the number into the ledger. "
INPUT = [{"role": "user", "content": SENTENCE * 40}]
CONTENTS = [{"parts": [{"text": SENTENCE * 40}]}]
PDF = {"fileUri": "https://x.example", "mimeType": "application/pdf"}
SERVER = {"type": "url", "url": "https://x.example", "name": "x"}
FUNCTION = {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}


def body(sentences: int, **fields: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": SENTENCE * sentences}], **fields}


def record(actuals: brim.Actuals, model: Model, request: dict[str, Any], tokens: int, api: str = "openai_chat") -> bool:
    return Counter(model, api, actuals).record(apis.parse(request, api), tokens)


def upper(actuals: brim.Actuals | None, model: Model, request: dict[str, Any], api: str = "openai_chat") -> int:
    return Counter(model, api, actuals).count(apis.parse(request, api)).upper


def total(model: Model, request: dict[str, Any], api: str = "openai_chat") -> int:
    return Counter(model, api).total(apis.parse(request, api))


@pytest.mark.parametrize("model", [GPT, CLAUDE, ACME])
@pytest.mark.parametrize("tokens", [1, 60_000, 10**9, 0, -7])
def test_a_report_that_cannot_be_leaves_every_bound_as_it_was(model: Model, tokens: int) -> None:
    store = InMemory()
    actuals = brim.Actuals(store)
    for sentences in (1, 3, 60):
        assert not record(actuals, model, body(sentences), tokens)
    for known in (actuals, brim.Actuals(store)):
        for sentences in (1, 3, 60, 5_000):
            assert upper(known, model, body(sentences)) == upper(None, model, body(sentences))


def test_ten_tokens_charged_as_60_000_do_not_move_the_bound_of_a_thousand() -> None:
    counter = Counter(GPT, "openai_chat", brim.Actuals())
    tiny, chat = apis.parse({"messages": [{"role": "user", "content": "hello there"}]}), apis.parse(body(65))
    assert not counter.record(tiny, 60_000)
    assert counter.count(chat).upper <= 1.1 * counter.total(chat)


HIDDEN: dict[str, tuple[str, dict[str, Any]]] = {
    "a previous response": ("openai_responses", {"input": INPUT, "previous_response_id": "resp_1"}),
    "a conversation": ("openai_responses", {"input": INPUT, "conversation": "conv_1"}),
    "a stored prompt": ("openai_responses", {"input": INPUT, "prompt": {"id": "pmpt_1"}}),
    "automatic truncation": ("openai_responses", {"input": INPUT, "truncation": "auto"}),
    "web search": ("openai_responses", {"input": INPUT, "tools": [{"type": "web_search"}]}),
    "file search": (
        "openai_responses",
        {"input": INPUT, "tools": [{"type": "file_search"}]},
    ),
    "code": (
        "openai_responses",
        {"input": INPUT, "tools": [{"type": "code_interpreter"}]},
    ),
    "a computer": ("openai_responses", {"input": INPUT, "tools": [{"type": "computer_use_preview"}]}),
    "remote tools": (
        "openai_responses",
        {"input": INPUT, "tools": [{"type": "mcp", "server_url": "https://x.example"}]},
    ),
    "an item by its id": ("openai_responses", {"input": [*INPUT, {"type": "item_reference", "id": "msg_1"}]}),
    "a file by its id": (
        "openai_responses",
        {"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "file_1"}]}]},
    ),
    "search in chat": ("openai_chat", {**body(40), "web_search_options": {}, "plugins": [{"id": "web"}]}),
    "a server tool": ("anthropic", {**body(40), "tools": [{"type": "web_search_20250305", "name": "web_search"}]}),
    "remote servers": (
        "anthropic",
        {**body(40), "mcp_servers": [SERVER]},
    ),
    "a document's address": (
        "anthropic",
        {
            "messages": [
                {"role": "user", "content": [{"type": "document", "source": {"type": "url", "url": "https://x"}}]}
            ]
        },
    ),
    "cached content": (
        "gemini",
        {"contents": CONTENTS, "cachedContent": "cachedContents/1"},
    ),
    "grounding": ("gemini", {"contents": CONTENTS, "tools": [{"googleSearch": {}}]}),
    "Gemini's code": ("gemini", {"contents": CONTENTS, "tools": [{"codeExecution": {}}]}),
    "addresses": ("gemini", {"contents": CONTENTS, "tools": [{"urlContext": {}}]}),
    "a file's address": (
        "gemini",
        {"contents": [{"parts": [{"text": SENTENCE}, {"fileData": PDF}]}]},
    ),
    "an image": (
        "openai_chat",
        {
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": SENTENCE * 40},
                        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
                    ],
                }
            ]
        },
    ),
}


@pytest.mark.parametrize("name", sorted(HIDDEN))
@pytest.mark.parametrize("times", [0.9, 1.1, 2.5])
def test_what_is_not_all_visible_teaches_nothing_about_text(name: str, times: float) -> None:
    api, request = HIDDEN[name]
    for known in (GPT, CLAUDE, GEMINI, ACME):
        store = InMemory()
        actuals = brim.Actuals(store)
        for _ in range(8):
            record(actuals, known, request, round(times * total(known, request, api)), api)
        for later in (actuals, brim.Actuals(store)):
            calibration = later.calibration(Counter(known, api).kin)
            assert not calibration.wholes.seen
            assert not calibration.rests.seen
            assert upper(later, known, body(900)) == upper(None, known, body(900))


def test_functions_that_the_client_runs_do_not_keep_a_request_from_teaching() -> None:
    declared = {
        "contents": [{"parts": [{"text": SENTENCE * 40}]}],
        "tools": [{"functionDeclarations": [{"name": "a"}]}],
    }
    requests = [
        ("openai_chat", {**body(40), "tools": [FUNCTION], "previous_response_id": None}),
        ("openai_responses", {"input": INPUT, "tools": [{"type": "function", "name": "a"}], "truncation": "disabled"}),
        ("anthropic", {**body(40), "tools": [{"name": "a", "input_schema": {"type": "object"}}]}),
        ("gemini", declared),
    ]
    for api, request in requests:
        assert record(brim.Actuals(), GPT, request, total(GPT, request, api), api)


@pytest.mark.parametrize("model", [GPT, CLAUDE, ACME])
def test_single_reports_that_are_off_by_half_move_nothing_among_many_that_are_true(model: Model) -> None:
    honest, poisoned = brim.Actuals(), brim.Actuals()
    share = 0.6 if model is ACME else 1.02
    for n in range(40):
        request = body(40 + 5 * n)
        true = round(share * total(model, request))
        assert record(honest, model, request, true)
        assert record(poisoned, model, request, true)
        if n % 3 == 0:
            record(poisoned, model, body(41 + 5 * n), round((1.5, 0.67)[n % 2] * true))
    for sentences in (30, 300, 3_000):
        assert upper(poisoned, model, body(sentences)) == pytest.approx(upper(honest, model, body(sentences)), rel=0.03)


def test_a_provider_that_changes_its_vocabulary_is_followed() -> None:
    actuals = brim.Actuals()
    for share in (0.6, 0.9):
        for n in range(64):
            request = body(40 + n + round(100 * share))
            record(actuals, ACME, request, round(share * total(ACME, request)))
        found = Counter(ACME, "openai_chat", actuals).count(apis.parse(body(1_000)))
        assert found.tokens == pytest.approx(share * total(ACME, body(1_000)), rel=0.02)
        assert share * total(ACME, body(1_000)) <= found.upper <= 1.11 * found.tokens


@pytest.mark.parametrize("share", [0.55, 1.6])
def test_a_vocabulary_far_from_the_estimate_is_learnt_and_fills_its_window(share: float) -> None:
    actuals, window = brim.Actuals(), 20_000
    model = Model("acme-1", "acme", window, None, "estimate", None, "openai_chat", "test")

    def fill() -> float:
        messages = [{"role": ("user", "assistant")[n % 2], "content": SENTENCE * 20} for n in range(201)]
        fitted = brim.fit(messages, model=model, actuals=actuals, reserve=0)
        return share * Counter(model, "openai_chat").total(apis.parse(fitted.messages)) / window

    before = fill()
    for n in range(12):
        request = body(200 + n)
        assert record(actuals, model, request, round(share * total(model, request)))
    after = fill()
    assert before < 0.6 if share < 1 else before > 1.3
    assert 0.86 <= after <= 1


def test_images_tell_of_their_own_prompt_only() -> None:
    api, request = HIDDEN["an image"]
    actuals = brim.Actuals()
    charged = total(GPT, request, api) + 40
    assert record(actuals, GPT, request, charged, api)
    assert Counter(GPT, api, actuals).count(apis.parse(request, api)).tokens == charged
    assert not record(actuals, GPT, request, 100 * charged, api)


def test_reports_that_say_the_same_are_believed_against_more_that_say_anything() -> None:
    """Five absurd reports on both sides of four true ones, so that the median of all tells nothing."""
    seen = Observations()
    true = [Observation(1_000 + 90 * n, 400 + 36 * n, 11, 512 + 46 * n) for n in range(4)]
    absurd = [Observation(600, 250, 3, 186), Observation(1_900, 760, 21, 560)]
    absurd += [
        Observation(1_000, 400, 9, 980),
        Observation(1_200, 470, 23, 1_165),
        Observation(3_000, 1_200, 43, 4_400),
    ]
    for one in (*true[:2], *absurd, *true[2:]):
        seen.add(one)
    assert seen.agreeing() == true


def test_framing_that_was_seen_of_a_few_messages_is_expected_of_many() -> None:
    """A provider that takes 3 tokens more for each message, seen with up to 11 messages."""
    seen = Calibration()
    for counted, messages in (
        (208, 3),
        (233, 3),
        (367, 9),
        (395, 5),
        (467, 9),
        (546, 9),
        (602, 11),
        (661, 9),
        (946, 11),
    ) * 2:
        seen.learn_whole((counted, None), messages, counted + 3 * messages)
    assert seen.upper("exact", 2_414, 31) >= 2_414 + 3 * 31
    assert seen.upper("exact", 2_414, 31) <= 1.1 * (2_414 + 3 * 31)


def test_a_request_of_a_few_tokens_does_not_move_the_factor_of_a_vocabulary() -> None:
    """Framing alone explains almost any charge for it, so it agrees with whatever the long ones say."""
    honest, poisoned = Calibration(), Calibration()
    for seen in (honest, poisoned):
        for n in range(12):
            seen.learn_whole((1_000 + 40 * n, 400 + 16 * n), 9, 600 + 24 * n)
    poisoned.learn_whole((14, 6), 1, 15)
    assert poisoned.factor == pytest.approx(honest.factor, rel=0.01)


def test_absurd_reports_change_nothing_of_what_the_true_ones_tell() -> None:
    # The estimate is off by content here, the second count always by the same share: it tells true from absurd.
    true = [Observation(6_928, 2_907, 43, 3_724), Observation(1_539, 634, 9, 810), Observation(1_963, 726, 11, 927)]
    absurd = [Observation(956, 343, 9, 1_072), Observation(116, 52, 1, 30), Observation(3_047, 1_181, 21, 3_934)]
    assert Observations(true).telling() == true
    assert Observations([*absurd, *true]).telling() == true
