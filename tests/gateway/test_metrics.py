"""Numbers for Prometheus: what is added up first is told under the same names."""

from __future__ import annotations

from brim.apis import Usage
from brim.gateway.observe.metrics import MOST_SERIES, Metrics
from brim.gateway.observe.turns import GatewayTurn


def finished(metrics: Metrics, model: str, status: int = 200) -> None:
    turn = GatewayTurn("id", 1, "s", 0.0, "openai_chat", model, "upstream", "", before=100, after=40, upper=50)
    turn.status, turn.outcome, turn.usage, turn.added_ms, turn.total_ms = status, "done", Usage(41), 2.0, 3_000.0
    metrics.ended(turn)


def test_requests_that_were_added_up_are_told_by_name() -> None:
    metrics = Metrics()
    for _ in range(2):
        finished(metrics, "a")
        finished(metrics, "b", 404)
        assert metrics.total("brim_tokens_before_total") in (200, 400)
    told = metrics.render().splitlines()
    assert metrics.render().splitlines() == told
    for line in (
        'brim_requests_total{api="openai_chat",status="2xx",outcome="done"} 2',
        'brim_requests_total{api="openai_chat",status="4xx",outcome="done"} 2',
        'brim_tokens_after_total{model="a"} 80',
        'brim_input_tokens_total{model="b"} 82',
        'brim_added_seconds_bucket{api="openai_chat",le="0.001"} 0',
        'brim_added_seconds_bucket{api="openai_chat",le="0.0025"} 4',
        'brim_request_seconds_sum{api="openai_chat"} 12',
        'brim_request_seconds_count{api="openai_chat"} 4',
        'brim_count_error_ratio_count{model="a"} 2',
    ):
        assert line in told
    assert not [line for line in told if line.startswith("brim_cached_tokens_total{")]


def test_models_that_clients_make_up_do_not_fill_the_memory() -> None:
    metrics = Metrics()
    for number in range(3 * MOST_SERIES):
        finished(metrics, f"m{number}")
    told = metrics.render().splitlines()
    assert len([line for line in told if line.startswith("brim_tokens_after_total{")]) == MOST_SERIES + 1
    assert metrics.total("brim_tokens_after_total") == 3 * MOST_SERIES * 40
