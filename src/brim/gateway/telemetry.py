"""OpenTelemetry by the GenAI conventions: a span and two histograms for each turn, made when the turn has ended.

Nothing of a request's content is in them.
"""

from __future__ import annotations

from typing import Any, Final

from brim.errors import MissingExtra
from brim.gateway.turns import Turn

try:
    from opentelemetry import metrics, trace
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
except ImportError as problem:  # pragma: no cover, the extra is not installed
    raise MissingExtra("OpenTelemetry", "otel") from problem

# Every name in one place: the conventions still move.
NAMES: Final = {
    "operation": "gen_ai.operation.name",
    "provider": "gen_ai.provider.name",
    "model": "gen_ai.request.model",
    "session": "gen_ai.conversation.id",
    "input": "gen_ai.usage.input_tokens",
    "output": "gen_ai.usage.output_tokens",
    "cached": "gen_ai.usage.cache_read.input_tokens",
    "written": "gen_ai.usage.cache_creation.input_tokens",
    "token_type": "gen_ai.token.type",
    "error": "error.type",
    "status": "http.response.status_code",
    "upstream": "brim.upstream",
    "before": "brim.tokens.before",
    "after": "brim.tokens.after",
    "limit": "brim.tokens.limit",
    "folded": "brim.folded",
    "refits": "brim.refits",
    "recalls": "brim.recalls",
    "added": "brim.added_ms",
    "tokens_histogram": "gen_ai.client.token.usage",
    "seconds_histogram": "gen_ai.client.operation.duration",
}
PROVIDERS: Final = {
    "openai_chat": "openai",
    "openai_responses": "openai",
    "anthropic": "anthropic",
    "gemini": "gcp.gemini",
}
_NANO: Final = 1_000_000_000


class Telemetry:
    """A hook for the journal. Without providers it uses the process-wide ones."""

    def __init__(self, tracers: Any = None, meters: Any = None) -> None:
        self._tracer = trace.get_tracer("brim.gateway", tracer_provider=tracers)
        meter = metrics.get_meter("brim.gateway", meter_provider=meters)
        self._tokens = meter.create_histogram(NAMES["tokens_histogram"], "{token}", "Tokens used")
        self._seconds = meter.create_histogram(NAMES["seconds_histogram"], "s", "Duration of the operation")

    def __call__(self, turn: Turn) -> None:
        shared = {
            NAMES["operation"]: "chat",
            NAMES["provider"]: PROVIDERS.get(turn.api, turn.api),
            NAMES["model"]: turn.model,
        }
        start = int(turn.at * _NANO)
        span = self._tracer.start_span(
            f"chat {turn.model}", kind=trace.SpanKind.CLIENT, start_time=start, attributes={**shared, **_details(turn)}
        )
        if turn.outcome not in ("done", "gone"):
            span.set_status(trace.StatusCode.ERROR, turn.outcome)
        span.end(end_time=start + int(turn.total_ms * 1_000_000))
        failed = {} if turn.outcome == "done" else {NAMES["error"]: turn.outcome}
        self._seconds.record(turn.total_ms / 1e3, {**shared, **failed})
        if turn.usage is not None:
            self._tokens.record(turn.usage.input, {**shared, NAMES["token_type"]: "input"})
            self._tokens.record(turn.usage.output, {**shared, NAMES["token_type"]: "output"})


def _details(turn: Turn) -> dict[str, Any]:
    found: dict[str, Any] = {
        NAMES["session"]: turn.session,
        NAMES["upstream"]: turn.upstream,
        NAMES["status"]: turn.status,
        NAMES["before"]: turn.before,
        NAMES["after"]: turn.after,
        NAMES["limit"]: turn.limit,
        NAMES["folded"]: turn.folded,
        NAMES["refits"]: turn.refits,
        NAMES["recalls"]: turn.recalls,
        NAMES["added"]: turn.added_ms,
    }
    if turn.usage is not None:
        found |= {
            NAMES["input"]: turn.usage.input,
            NAMES["output"]: turn.usage.output,
            NAMES["cached"]: turn.usage.cached,
            NAMES["written"]: turn.usage.written,
        }
    if turn.outcome not in ("done", "gone"):
        found[NAMES["error"]] = turn.outcome
    return found


def exporting() -> Telemetry:
    """Send to the collector that the standard OTEL_… variables name."""
    resource = Resource.create({"service.name": "brim"})
    tracers = TracerProvider(resource=resource)
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    meters = MeterProvider([PeriodicExportingMetricReader(OTLPMetricExporter())], resource=resource)
    return Telemetry(tracers, meters)
