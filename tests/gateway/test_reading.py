"""Small parts: usage readers, addresses, routes and headers."""

from __future__ import annotations

import gzip
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim import apis
from brim.apis import Usage
from brim.apis.addresses import OPENAI
from brim.apis.recall_dialect import events_in
from brim.apis.streamed_usage import StreamReader, read_usage, reader_for
from brim.conversation import decode, encode
from brim.gateway.proxy.faults import Refused
from brim.gateway.proxy.headers import with_beta
from brim.gateway.proxy.routes import route_of
from brim.gateway.proxy.upstreams import Target
from brim.testing import Call
from brim.testing.speech import STREAMED, WHOLE, Speech

USAGE = Usage(1_234, 56, 1_024)
SPEECH = Speech('0"', "m", 'say "prompt_tokens": 7, "input_tokens": 8\n\n', 6, "hm", (Call("f", {"a": "b"}),), USAGE)


def _told(api: str) -> Usage:
    """What an API tells of the usage: Ollama says nothing of its cache."""
    return replace(USAGE, cached=0) if api == "ollama" else USAGE


@pytest.mark.parametrize("api", STREAMED)
@given(cuts=st.lists(st.integers(1, 4_000), max_size=12))
def test_usage_is_read_however_a_stream_is_cut(api: str, cuts: list[int]) -> None:
    whole = b"".join(STREAMED[api](SPEECH))
    reader = StreamReader(api)
    start = 0
    for end in [*sorted(cut % len(whole) for cut in cuts), len(whole)]:
        reader.feed(whole[start:end])
        start = end
    assert reader.usage() == _told(api)
    assert reader.ended


_NUMBERS = st.one_of(st.none(), st.integers(-5, 10_000), st.booleans(), st.just(2.5), st.just("7"))
_NAMES = ("prompt_tokens", "completion_tokens", "total_tokens", "prompt_cache_hit_tokens", "prompt_tokens_details")


@given(
    told=st.one_of(
        st.none(),
        st.dictionaries(
            st.sampled_from(_NAMES), _NUMBERS | st.fixed_dictionaries({}, optional={"cached_tokens": _NUMBERS})
        ),
    )
)
def test_the_usage_of_a_chat_is_what_its_wire_format_says(told: dict[str, object] | None) -> None:
    body = encode({"id": "x", "usage": told})
    assert read_usage(body, "openai_chat") == apis.usage(decode(body), "openai_chat")


@pytest.mark.parametrize("api", STREAMED)
def test_a_stream_that_stops_early_has_not_ended(api: str) -> None:
    reader = StreamReader(api)
    for piece in list(STREAMED[api](SPEECH))[:2]:
        reader.feed(piece)
    assert not reader.ended


@pytest.mark.parametrize("api", WHOLE)
@pytest.mark.parametrize("packing", ["", "gzip"])
def test_usage_is_read_from_whole_and_packed_answers(api: str, packing: str) -> None:
    body = encode(WHOLE[api](SPEECH))
    reader = reader_for(api, "application/json", packing)
    packed = gzip.compress(body) if packing else body
    for start in range(0, len(packed), 100):
        reader.feed(packed[start : start + 100])
    assert reader.usage() == _told(api)


@given(pieces=st.lists(st.binary(max_size=200), max_size=8), api=st.sampled_from(sorted(STREAMED)))
def test_nonsense_tells_no_usage_and_breaks_nothing(pieces: list[bytes], api: str) -> None:
    for kind in ("text/event-stream", "application/json"):
        reader = reader_for(api, kind, "")
        for piece in pieces:
            reader.feed(piece)
        assert reader.usage() is None


@given(cut=st.integers(0, 3_000))
def test_events_are_taken_whole_off_a_buffer(cut: int) -> None:
    stream = b"".join(STREAMED["anthropic"](SPEECH))
    buffer = bytearray()
    found = []
    for part in (stream[: cut % len(stream)], stream[cut % len(stream) :]):
        buffer += part
        found += list(events_in(buffer))
    assert b"".join(event.raw for event in found) == stream
    assert not buffer
    assert [event.data["type"] for event in found if event.data][-1] == "message_stop"


@pytest.mark.parametrize(
    ("base", "path", "query", "expected"),
    [
        ("https://api.openai.com/v1", "/v1/models", "", "https://api.openai.com/v1/models"),
        ("https://api.anthropic.com", "/v1/messages", "beta=true", "https://api.anthropic.com/v1/messages?beta=true"),
        (
            "https://api.groq.com/openai/v1/",
            "/v1/chat/completions",
            "",
            "https://api.groq.com/openai/v1/chat/completions",
        ),
        (
            "https://open.example/api/paas/v4",
            "/v1/chat/completions",
            "",
            "https://open.example/api/paas/v4/chat/completions",
        ),
        (
            "https://g.example/v1beta",
            "/v1beta/models/x:countTokens",
            "",
            "https://g.example/v1beta/models/x:countTokens",
        ),
        ("http://localhost:8080", "/v1/rerank", "", "http://localhost:8080/v1/rerank"),
    ],
)
def test_a_version_in_the_base_address_stands_for_the_one_in_the_path(
    base: str, path: str, query: str, expected: str
) -> None:
    assert Target("t", base, OPENAI).address(path, query) == expected


def test_a_key_in_the_query_goes_where_brim_has_its_own() -> None:
    assert Target("t", "http://x", OPENAI, key="k").address("/v1/m", "key=abc&alt=sse") == "http://x/v1/m?alt=sse"
    assert "k-secret" not in repr(Target("t", "http://x", OPENAI, key="k-secret"))


@pytest.mark.parametrize(
    ("method", "path", "kind", "api"),
    [
        ("POST", "/v1/chat/completions", "fit", "openai_chat"),
        ("POST", "/chat/completions", "fit", "openai_chat"),
        ("GET", "/v1/chat/completions", "pass", ""),
        ("POST", "/v1/messages/batches", "pass", "anthropic"),
        ("GET", "/v1/responses/resp_1", "pass", "openai_responses"),
        ("POST", "/v1beta/models/gemini-2.5-pro:streamGenerateContent", "fit", "gemini"),
        ("POST", "/v1beta/models/gemini-2.5-pro:countTokens", "pass", "gemini"),
        ("GET", "/v1beta/models", "models", "gemini"),
        ("GET", "/v1/models/gpt-4o", "pass", ""),
    ],
)
def test_routes_are_told_by_method_and_path(method: str, path: str, kind: str, api: str) -> None:
    route = route_of(method, path)
    assert route is not None
    assert (route.kind, route.api) == (kind, api)


@given(st.lists(st.sampled_from(["..", ".", "", "v1", "%2e%2e", "models", "a\\b", "up", "x"]), max_size=6))
def test_a_path_with_a_step_up_or_an_empty_part_is_never_routed(parts: list[str]) -> None:
    path = "/" + "/".join(parts)
    harmless = not {"..", ".", "%2e%2e", "a\\b"} & set(parts) and "//" not in path
    try:
        route_of("GET", path)
        routed = True
    except Refused:
        routed = False
    assert routed == harmless


def test_a_beta_is_added_once_to_an_open_list() -> None:
    assert with_beta([(b"anthropic-beta", b"a, b")], "b") == [(b"anthropic-beta", b"a, b")]
    assert with_beta([(b"anthropic-beta", b"a")], "b") == [(b"anthropic-beta", b"a,b")]
    assert with_beta([], "b") == [(b"anthropic-beta", b"b")]
