"""Traces over OTLP: to a collector by HTTP, or as JSON lines that a collector's receiver reads.

The OpenTelemetry SDK encodes and sends; it is the extra `tracing`, and imported only here.
"""

import base64
import json
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from taskdata.errors import Misuse, NightshiftError
from taskdata.installing import extra_command
from taskdata.traces.spans import Span, Trace
from taskdata.version import code_version

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

_SEND_SECONDS = 30.0
_CAUSE_CHARS = 300
_IDS = ("traceId", "spanId", "parentSpanId")


def json_line(trace: Trace) -> bytes:
    """Return the trace as one line of OTLP JSON.

    Raises:
        Misuse: if the extra `tracing` is not installed.
    """
    _require_sdk()
    from google.protobuf.json_format import MessageToDict
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

    request = MessageToDict(encode_spans(_readable(trace)), use_integers_for_enums=True)
    for resource in request["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                _ids_in_hex(span)
    return json.dumps(request, ensure_ascii=False).encode() + b"\n"


def send(traces: Iterable[Trace], endpoint: str) -> int:
    """Send traces to a collector, one request each, and return how many there were.

    Args:
        traces: What to send.
        endpoint: URL of the collector; without a path, `/v1/traces` is meant.

    Raises:
        Misuse: if the URL is none, or the extra `tracing` is not installed.
        NightshiftError: if the collector did not take a trace.
    """
    _require_sdk()
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import SpanExportResult

    url = _traces_url(endpoint)
    exporter = OTLPSpanExporter(endpoint=url, timeout=_SEND_SECONDS)
    count = 0
    try:
        with _said_by_the_exporter() as said:
            for trace in traces:
                if exporter.export(_readable(trace)) is not SpanExportResult.SUCCESS:
                    cause = _cause(said, url)
                    raise NightshiftError(
                        f"{without_secrets(url)}: took {count} traces, not the next: {cause}; is "
                        "an OTLP/HTTP receiver there (port 4318 as a rule)?"
                    )
                count += 1
    finally:
        exporter.shutdown()  # type: ignore[no-untyped-call]
    return count


def _cause(said: list[str], url: str) -> str:
    cause = said[-1].rstrip(".") if said else "no cause was given"
    for secret in (urlsplit(url).password, urlsplit(url).query):
        cause = cause.replace(secret, "...") if secret else cause
    return cause


@contextmanager
def _said_by_the_exporter() -> Iterator[list[str]]:
    """Yield what the exporter logs within the block, which nobody else gets to see.

    It returns no cause, and its own lines would stand beside the one line of our error.
    """
    said: list[str] = []

    class Hear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(" ".join(record.getMessage().split())[:_CAUSE_CHARS])

    logger, hear = logging.getLogger("opentelemetry"), Hear(logging.WARNING)
    propagated = logger.propagate
    logger.addHandler(hear)
    logger.propagate = False
    try:
        yield said
    finally:
        logger.removeHandler(hear)
        logger.propagate = propagated


def _traces_url(endpoint: str) -> str:
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Misuse(f"endpoint {endpoint!r}: expected a URL such as http://localhost:4318")
    return endpoint if parts.path.strip("/") else f"{endpoint.rstrip('/')}/v1/traces"


def without_secrets(url: str) -> str:
    """Return the URL without the password or query that may be in it."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _require_sdk() -> None:
    try:
        import opentelemetry.exporter.otlp.proto.http  # noqa: F401
    except ImportError as exc:
        raise Misuse(
            f"format 'otel': {exc.name} is not installed; run {extra_command('tracing')}"
        ) from exc


def _readable(trace: Trace) -> "list[ReadableSpan]":
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import Event, ReadableSpan
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

    # Not Resource.create, which adds what it finds in the environment.
    resource = Resource({"service.name": "nightshift", "service.version": code_version()})
    scope = InstrumentationScope("nightshift", code_version())
    sampled = TraceFlags(TraceFlags.SAMPLED)

    def context(index: int) -> SpanContext:
        return SpanContext(trace.trace_id, trace.span_id(index), False, sampled)

    def status(span: Span) -> Status:
        return Status(StatusCode.UNSET if span.error is None else StatusCode.ERROR, span.error)

    return [
        ReadableSpan(
            name=span.name,
            context=context(index),
            parent=context(0) if index else None,
            resource=resource,
            attributes=dict(span.attributes),
            events=[
                Event("nightshift.notice", {"nightshift.notice.text": notice.text}, notice.at)
                for notice in span.notices
            ],
            kind=SpanKind.CLIENT if span.kind == "client" else SpanKind.INTERNAL,
            status=status(span),
            start_time=span.start,
            end_time=span.end,
            instrumentation_scope=scope,
        )
        for index, span in enumerate(trace.spans)
    ]


def _ids_in_hex(span: dict[str, Any]) -> None:
    # OTLP's JSON writes ids in hex (OTLP 1.x, JSON Protobuf encoding), protobuf's own in base64.
    for name in _IDS:
        if name in span:
            span[name] = base64.b64decode(span[name]).hex()
