"""Recognising "too long" in the wordings of many servers, and nothing else."""

from __future__ import annotations

import json

import pytest

from brim.gateway.proxy.overflow import ReportedOverflow, read

WORDINGS = [
    (
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 130001 tokens.",
        130001,
        128000,
    ),
    (
        "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8500 in the messages, "
        "500 in the completion). Please reduce the length of the messages or completion.",
        8500,
        8192,
    ),
    (
        "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens (139000 "
        "of text input, 1000 in the output).",
        139000,
        131072,
    ),
    (
        "This model's maximum context length is 16384 tokens. However, you requested 20000 tokens in the messages, "
        "Please reduce the length of the messages.",
        20000,
        16384,
    ),
    ("prompt is too long: 210000 tokens > 200000 maximum", 210000, 200000),
    (
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length",
        190000,
        200000,
    ),
    ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1200000, 1048576),
    ("The input token count exceeds the maximum number of tokens allowed (1048576).", None, 1048576),
    ("request (17507 tokens) exceeds the available context size (16384 tokens), try increasing it", 17507, 16384),
    ("the request exceeds the available context size, try increasing it", None, None),
    ("This model's maximum prompt length is 131072 but the request contains 150000 tokens.", 150000, 131072),
    ("prompt token count of 90000 exceeds the limit of 64000", 90000, 64000),
    (
        "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        40000,
        32768,
    ),
    (
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens and "
        "10 `max_new_tokens`",
        9000,
        8193,
    ),
    ("The prompt (total length 20000) is too long to fit into the model (context length 16384).", 20000, 16384),
    ("Your input exceeds the context window of this model. Please adjust your input and try again.", None, None),
    ("Input is too long for requested model.", None, None),
    ("Please reduce the length of the messages or completion.", None, None),
]


@pytest.mark.parametrize(("message", "tokens", "window"), WORDINGS)
@pytest.mark.parametrize("wrap", ["error", "anthropic", "list", "plain"])
def test_the_sizes_that_an_upstream_states_are_read(
    message: str, tokens: int | None, window: int | None, wrap: str
) -> None:
    bodies = {
        "error": {"error": {"message": message, "type": "invalid_request_error"}},
        "anthropic": {"type": "error", "error": {"type": "invalid_request_error", "message": message}},
        "list": [{"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}],
        "plain": {"object": "error", "message": message, "code": 400},
    }
    assert read(400, json.dumps(bodies[wrap]).encode()) == ReportedOverflow(tokens, window)


def test_codes_and_fields_are_enough_without_a_wording() -> None:
    assert read(400, b'{"error":{"code":"context_length_exceeded","message":"no"}}') == ReportedOverflow(None, None)
    told = b'{"error":{"type":"exceed_context_size_error","message":"no","n_prompt_tokens":9,"n_ctx":5}}'
    assert read(400, told) == ReportedOverflow(9, 5)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, b'{"error":{"message":"max_tokens is too large: 99999. This model supports at most 16384"}}'),
        (400, b'{"error":{"message":"Invalid value for model"}}'),
        (429, b'{"error":{"message":"prompt is too long: 9 tokens > 5 maximum"}}'),
        (401, b'{"error":{"message":"Incorrect API key provided"}}'),
        (400, b"<html>Bad Request</html>"),
        (400, b""),
        (500, b'{"error":null}'),
        (400, b"[]"),
        (400, b"[[[[[[[[]]]]]]]]"),
    ],
)
def test_other_errors_are_not_taken_for_overflows(status: int, body: bytes) -> None:
    assert read(status, body) is None
