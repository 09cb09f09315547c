"""OpenTelemetry by the GenAI conventions: a span and some measurements per turn, made when it ends.

They contain no request content. docs/telemetry.md lists every name.
"""

from __future__ import annotations

from typing import Any, Final

from brim.apis import APIS
from brim.errors import MissingExtra
from brim.gateway.observe.turns import GatewayTurn

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

# Every name in one place, because the conventions still change.
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
    "archived": "brim.archived",
    "refits": "brim.refits",
    "recalls": "brim.recalls",
    "added": "brim.added_ms",
    "upper": "brim.tokens.upper",
    "stream": "gen_ai.request.stream",
    "most": "gen_ai.request.max_tokens",
    "tokens_histogram": "gen_ai.client.token.usage",
    "seconds_histogram": "gen_ai.client.operation.duration",
    "fit_histogram": "brim.fit.duration",
    "removed_counter": "brim.tokens.removed",
    "avoided_counter": "brim.overflows.avoided",
    "refits_counter": "brim.overflows.refitted",
}
# The bounds that the conventions require.
TOKEN_BOUNDS: Final = [4**power for power in range(14)]
SECOND_BOUNDS: Final = [0.01 * 2**power for power in range(14)]
FIT_BOUNDS: Final = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0]
_NANO: Final = 1_000_000_000


class Telemetry:
    """A hook for the journal. Without providers it uses the process-wide ones."""

    def __init__(self, tracers: Any = None, meters: Any = None) -> None:
        self._tracer = trace.get_tracer("brim.gateway", tracer_provider=tracers)
        meter = metrics.get_meter("brim.gateway", meter_provider=meters)
        self._tokens = meter.create_histogram(
            NAMES["tokens_histogram"], "{token}", "Tokens used", explicit_bucket_boundaries_advisory=TOKEN_BOUNDS
        )
        self._seconds = meter.create_histogram(
            NAMES["seconds_histogram"], "s", "Duration", explicit_bucket_boundaries_advisory=SECOND_BOUNDS
        )
        self._fits = meter.create_histogram(
            NAMES["fit_histogram"], "s", "Time before sending", explicit_bucket_boundaries_advisory=FIT_BOUNDS
        )
        self._removed = meter.create_counter(NAMES["removed_counter"], "{token}", "Tokens that were not sent")
        self._avoided = meter.create_counter(NAMES["avoided_counter"], "{request}", "Requests that did not fit")
        self._refits = meter.create_counter(NAMES["refits_counter"], "{request}", "Requests fitted once more")

    def __call__(self, turn: GatewayTurn) -> None:
        shared = {
            NAMES["operation"]: "chat",
            NAMES["provider"]: APIS[turn.api].provider if turn.api in APIS else turn.api,
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
        self._fits.record(turn.added_ms / 1e3, shared)
        if turn.changed:
            self._removed.add(max(0, turn.before - turn.after), shared)
        if turn.overflowing and turn.outcome == "done":
            self._avoided.add(1, shared)
        if turn.refits:
            self._refits.add(turn.refits, shared)
        if turn.usage is not None:
            self._tokens.record(turn.usage.input, {**shared, NAMES["token_type"]: "input"})
            self._tokens.record(turn.usage.output, {**shared, NAMES["token_type"]: "output"})


def _details(turn: GatewayTurn) -> dict[str, Any]:
    found: dict[str, Any] = {
        NAMES["session"]: turn.session,
        NAMES["upstream"]: turn.upstream,
        NAMES["status"]: turn.status,
        NAMES["before"]: turn.before,
        NAMES["after"]: turn.after,
        NAMES["upper"]: turn.upper,
        NAMES["limit"]: turn.limit,
        NAMES["stream"]: turn.streamed,
        NAMES["archived"]: turn.archived,
        NAMES["refits"]: turn.refits,
        NAMES["recalls"]: turn.recalls,
        NAMES["added"]: turn.added_ms,
    }
    if turn.sent is not None and turn.sent.max_output is not None:
        found[NAMES["most"]] = turn.sent.max_output
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
    """Export to the collector named by the standard OTEL_… variables."""
    resource = Resource.create({"service.name": "brim"})
    tracers = TracerProvider(resource=resource)
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    meters = MeterProvider([PeriodicExportingMetricReader(OTLPMetricExporter())], resource=resource)
    return Telemetry(tracers, meters)
