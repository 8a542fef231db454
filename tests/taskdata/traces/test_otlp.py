"""OTLP: what a collector gets, over HTTP and from a file."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

pytest.importorskip("opentelemetry.exporter.otlp.proto.http")

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from taskdata.errors import Misuse, NightshiftError
from taskdata.traces import otlp
from taskdata.traces.spans import trace


class Collector(HTTPServer):
    """Takes traces until it is told to answer otherwise."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.taken = []
        self.status = 200

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.taken.append((self.path, ExportTraceServiceRequest.FromString(body)))
        self.send_response(self.server.status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *args):
        """Say nothing."""


@pytest.fixture
def collector():
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def spans_of(request):
    (resource,) = request.resource_spans
    (scope,) = resource.scope_spans
    return scope.spans


def test_a_collector_gets_one_request_per_trial(collector, conversation, played):
    sent = otlp.send(map(trace, (conversation, played)), collector.url)
    assert sent == 2
    assert [path for path, _ in collector.taken] == ["/v1/traces", "/v1/traces"]
    root, chat, *_ = spans_of(collector.taken[0][1])
    assert root.name == "invoke_agent function_calling:openai/gpt-5.2"
    assert chat.parent_span_id == root.span_id
    assert chat.trace_id == root.trace_id
    assert chat.start_time_unix_nano == 1_772_402_400_250_000_000
    given = {a.key: a.value for a in chat.attributes}
    assert given["gen_ai.usage.input_tokens"].int_value == 100
    assert given["gen_ai.response.finish_reasons"].array_value.values[0].string_value == "tool_call"


def test_a_failed_tool_call_has_the_status_of_an_error(collector, conversation):
    otlp.send([trace(conversation)], collector.url)
    statuses = [span.status.code for span in spans_of(collector.taken[0][1])]
    assert statuses == [0, 0, 0, 2, 0]


def test_a_path_of_ones_own_is_kept(collector, conversation):
    otlp.send([trace(conversation)], f"{collector.url}/otlp/v1/traces")
    assert collector.taken[0][0] == "/otlp/v1/traces"


def test_a_collector_that_refuses_is_named_without_its_password(collector, conversation):
    collector.status = 400
    url = collector.url.replace("//", "//me:secret@")
    with pytest.raises(NightshiftError, match=r"took 0 traces, not the next: .*400") as caught:
        otlp.send([trace(conversation)], f"{url}/v1/traces?token=secret")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("endpoint", ["localhost:4318", "ftp://localhost", "http://"])
def test_an_endpoint_that_is_no_url_is_misuse(conversation, endpoint):
    with pytest.raises(Misuse, match="expected a URL"):
        otlp.send([trace(conversation)], endpoint)


def test_a_line_is_otlp_json(conversation):
    line = otlp.json_line(trace(conversation))
    assert line.count(b"\n") == 1
    (resource,) = json.loads(line)["resourceSpans"]
    names = {a["key"]: a["value"] for a in resource["resource"]["attributes"]}
    assert names["service.name"] == {"stringValue": "nightshift"}
    root, chat, *_ = resource["scopeSpans"][0]["spans"]
    assert len(root["traceId"]) == 32
    assert (len(root["spanId"]), "parentSpanId" in root) == (16, False)
    assert chat["parentSpanId"] == root["spanId"]
    assert int(root["traceId"], 16) == trace(conversation).trace_id
    assert chat["kind"] == 3
    assert chat["startTimeUnixNano"] == "1772402400250000000"


def test_what_a_model_wrote_cannot_break_the_line(recorded, conversation):
    deep = {"expression": 2**200}
    for _ in range(200):
        deep = {"a": deep}
    tool = conversation.transcript.events[3]
    wild = tool.call.model_copy(update={"arguments": deep, "tool": "a\nb\u2028c"})
    line = otlp.json_line(trace(recorded(tool.model_copy(update={"call": wild}))))
    _root, span = json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert span["name"] == "execute_tool a\nb\u2028c"
    texts = {a["key"]: a["value"].get("stringValue") for a in span["attributes"]}
    assert json.loads(texts["gen_ai.tool.call.arguments"]) == deep
