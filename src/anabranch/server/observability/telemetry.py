"""Traces and metrics of requests by OpenTelemetry, sent to a collector by OTLP over HTTP.

A traced request has a span, named by its operation, and one below it for each call of a store and
for the hooks before a change. It continues the trace that the client's `traceparent` names, and
requests that it causes carry the context on (`trace_context`). Each delivery of an event to hooks
after a change is a span of the trace of the request that has made the change. The names of
attributes are those of OpenTelemetry's semantic conventions where these have one. Spans have
neither path nor query.

Like all of OpenTelemetry's variables, `OTEL_EXPORTER_OTLP_HEADERS` counts, as for a token.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from anabranch.actions.queue.deliveries import Attempt, Delivery
from anabranch.http.request_head import RequestHead
from anabranch.server.config.telemetry import Telemetry as TelemetrySettings
from anabranch.server.observability.request_trace import RequestTrace
from anabranch.server.observability.slow_log import CompletedRequest
from anabranch.spent_time import SpentTime

__all__ = ["OpenTelemetry"]

_FLUSH_MILLISECONDS = 3_000
_SERVER_ERROR = 500
# of the semantic conventions: any other method is "_OTHER", or clients could have a series for each
_METHODS = frozenset(
    ("CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE")
)
# of the semantic conventions of `http.server.request.duration`
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)


_W3C = TraceContextTextMapPropagator()


class _Traced(RequestTrace):
    """The record of a traced request, with its span."""

    def __init__(self, span: Span) -> None:
        super().__init__(_headers(span))
        self.span = span


class _Delivered(Delivery):
    """A delivery with its span."""

    def __init__(self, span: Span) -> None:
        self.trace_headers = _headers(span)
        self._span = span

    def fail(self) -> None:
        """Notes that a hook has failed."""
        self._span.set_status(Status(StatusCode.ERROR))


class OpenTelemetry:
    """Sends the traces and metrics of a process. `version` is that of the server."""

    def __init__(self, settings: TelemetrySettings, version: str) -> None:
        resource = Resource.create(
            {"service.name": settings.service_name, "service.version": version}
        )
        address = settings.endpoint.rstrip("/")
        sampler = ParentBased(TraceIdRatioBased(settings.traced_percent / 100))
        self._traces = TracerProvider(sampler=sampler, resource=resource, shutdown_on_exit=False)
        exporter = OTLPSpanExporter(endpoint=f"{address}/v1/traces")
        self._traces.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._traces.get_tracer("anabranch", version)
        reader = PeriodicExportingMetricReader(OTLPMetricExporter(endpoint=f"{address}/v1/metrics"))
        self._metrics = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
        meter = self._metrics.get_meter("anabranch", version)
        self._durations = meter.create_histogram(
            "http.server.request.duration",
            unit="s",
            description="Seconds that requests took",
            explicit_bucket_boundaries_advisory=_BUCKETS,
        )
        self._waited = meter.create_counter(
            "anabranch.request.waited",
            unit="s",
            description="Seconds for which requests waited, by what for",
        )

    def begin(self, head: RequestHead) -> SpentTime:
        """Returns the record of a request that has arrived."""
        parent = _W3C.extract(head.headers, Context())
        span = self._tracer.start_span("request", parent, SpanKind.SERVER)
        if span.is_recording():
            return _Traced(span)
        spent = SpentTime()
        if span.get_span_context().is_valid:  # others must not trace it either
            spent.trace_headers = _headers(span)
        return spent

    def completed(self, request: CompletedRequest, took: float, spent: SpentTime) -> None:
        """Ends the span of a request that took so many seconds, and counts it."""
        method = request.head.method
        attributes: dict[str, Any] = {
            "http.request.method": method if method in _METHODS else "_OTHER",
            "http.response.status_code": request.status,
            "anabranch.service": request.service,
            "anabranch.operation": request.operation,
        }
        self._durations.record(took, attributes)
        parts = _parts(spent)
        for part, seconds in parts.items():
            if seconds:
                self._waited.add(seconds, {"part": part, "anabranch.service": request.service})
        if isinstance(spent, _Traced):
            waits = {
                f"anabranch.{part}_seconds": round(waited, 6) for part, waited in parts.items()
            }
            self._end(spent, request, attributes | waits)

    def _end(self, spent: _Traced, request: CompletedRequest, attributes: dict[str, Any]) -> None:
        span = spent.span
        span.update_name(request.operation)
        span.set_attributes(attributes)
        span.set_attribute("anabranch.request_id", request.request_id)
        if request.user:
            span.set_attribute("user.id", request.user)
        if request.status >= _SERVER_ERROR:
            span.set_status(Status(StatusCode.ERROR))
        inside = set_span_in_context(span, Context())
        for call in spent.calls:
            kind = SpanKind.INTERNAL if call.part == "hooks" else SpanKind.CLIENT
            below = self._tracer.start_span(
                f"{call.part} {call.name}", inside, kind, start_time=call.began
            )
            if call.failed:
                below.set_attribute("error.type", call.failed)
                below.set_status(Status(StatusCode.ERROR))
            below.end(call.ended)
        span.end(time.time_ns())

    @contextmanager
    def deliver(self, attempt: Attempt) -> Iterator[Delivery]:
        """Traces an attempt to run the hooks of a queued event. An error ends its span, too."""
        attributes: dict[str, Any] = {
            "anabranch.event_id": attempt.event_id,
            "anabranch.run_id": attempt.run_id,
            "anabranch.attempt": attempt.number,
        }
        parent = _W3C.extract(attempt.trace, Context())
        name = f"hooks {attempt.event_type}"
        span = self._tracer.start_span(name, parent, SpanKind.CONSUMER, attributes)
        try:
            yield _Delivered(span)
        except BaseException as error:
            span.set_attribute("error.type", type(error).__name__)
            span.set_status(Status(StatusCode.ERROR))
            raise
        finally:
            span.end()

    def close(self) -> None:
        """Sends what is left, for a few seconds at most."""
        self._traces.force_flush(_FLUSH_MILLISECONDS)
        self._traces.shutdown()
        self._metrics.shutdown(timeout_millis=_FLUSH_MILLISECONDS)


def _headers(span: Span) -> dict[str, str]:
    """Returns the headers by which requests to others continue the trace of a span."""
    headers: dict[str, str] = {}
    _W3C.inject(headers, set_span_in_context(span))
    return headers


def _parts(spent: SpentTime) -> dict[str, float]:
    return {
        "thread": spent.threads,
        "keyvalue": spent.keyvalue,
        "blocks": spent.blocks,
        "hooks": spent.hooks,
        "sending": spent.sending,
        "client": spent.client,
    }
