"""Traces and metrics, as a collector of OpenTelemetry receives them."""

from __future__ import annotations

import gzip
from contextlib import contextmanager
from threading import Event

import httpx2
import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from opentelemetry.sdk.trace import TracerProvider
from support.eventually import eventually
from support.hooks.leases import end_leases
from support.http_servers import answer, serving

import anabranch
from anabranch.errors import Invalid
from anabranch.server.config.loader import load_settings
from anabranch.testing.server import ACCESS_KEY_ID, SECRET_ACCESS_KEY, running_server

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"
TRACED = {"traceparent": f"00-{TRACE}-{PARENT}-01", "tracestate": "vendor=opaque"}
ALLOW = "ANABRANCH_ACTIONS_WEBHOOK_ALLOW"
REPOSITORY = {"name": "sea", "storage_namespace": "local://sea"}
OBJECTS = "/repositories/sea/branches/main/objects"
ACTION = """\
name: check
on:
  pre-commit:
hooks:
  - id: told
    type: webhook
    properties:
      url: {url}
"""


class Collector:
    """What a collector was sent."""

    def __init__(self):
        self.spans = []
        self.metrics = {}
        self.resources = set()
        self.webhooks = []

    def take(self, handler):
        body = handler.request_body
        if handler.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        if handler.path == "/v1/traces":
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                self.resources.add(attributes(resource.resource)["service.name"])
                self.spans += [each for scope in resource.scope_spans for each in scope.spans]
        elif handler.path == "/v1/metrics":
            for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                for scope in resource.scope_metrics:
                    self.metrics |= {each.name: each for each in scope.metrics}
        else:
            self.webhooks.append(dict(handler.headers))
        answer(200)(handler)

    def named(self, name, **wanted):
        found = [each for each in self.spans if each.name == name]
        return [each for each in found if wanted.items() <= attributes(each).items()]

    def below(self, span):
        return [each for each in self.spans if each.parent_span_id == span.span_id]


def attributes(carrier):
    """The attributes of a span or a resource."""
    fields = {each.key: each.value for each in carrier.attributes}
    return {name: getattr(value, value.WhichOneof("value")) for name, value in fields.items()}


@contextmanager
def traced_server(folder, **settings):
    """Yields a collector, a client of a server that sends to it, and the collector's address."""
    collector = Collector()
    with serving(collector.take) as (port, _):
        address = f"http://127.0.0.1:{port}"
        environment = {
            "ANABRANCH_TELEMETRY_ENDPOINT": address,
            ALLOW: "127.0.0.1",
            "OTEL_BSP_SCHEDULE_DELAY": "50",
            "OTEL_METRIC_EXPORT_INTERVAL": "100",
            **settings,
        }
        with (
            running_server(folder, env=environment) as server,
            httpx2.Client(base_url=server.api, auth=server.auth, timeout=100) as client,
        ):
            client.post("/repositories", json=REPOSITORY).raise_for_status()
            yield collector, client, address


def one(collector, name, **wanted):
    eventually(lambda: collector.named(name, **wanted))
    (span,) = collector.named(name, **wanted)
    return span


def test_a_request_is_a_span_of_the_trace_of_its_client(tmp_path):
    with traced_server(tmp_path) as (collector, client, _):
        response = client.post(
            OBJECTS, params={"path": "a b/secret?"}, content=b"1", headers=TRACED
        )
        span = one(collector, "uploadObject")
        assert (span.trace_id.hex(), span.parent_span_id.hex()) == (TRACE, PARENT)
        assert span.kind == Span.SPAN_KIND_SERVER
        shown = attributes(span)
        assert shown["http.request.method"] == "POST"
        assert shown["http.response.status_code"] == response.status_code == 201
        assert shown["anabranch.request_id"] == response.headers["x-request-id"]
        assert shown["user.id"]
        calls = collector.below(span)
        assert {"keyvalue apply", "blocks put"} <= {each.name for each in calls}
        for call in calls:
            assert call.trace_id == span.trace_id
            begins, ends = span.start_time_unix_nano, span.end_time_unix_nano
            assert begins <= call.start_time_unix_nano <= call.end_time_unix_nano <= ends
        assert collector.resources == {"anabranch"}
        assert "secret" not in str(collector.spans)


@pytest.mark.slow
def test_refusals_and_unknown_paths_are_spans(tmp_path):
    with traced_server(tmp_path) as (collector, client, _):
        client.get("/repositories/none")
        span = one(collector, "getRepository")
        assert attributes(span)["http.response.status_code"] == 404
        assert span.status.code == Status.STATUS_CODE_UNSET
        client.get("/repositories", headers={"Authorization": "Bearer wrong"}, auth=("", ""))
        denied = {"http.response.status_code": 401}
        assert "user.id" not in attributes(one(collector, "listRepositories", **denied))


@pytest.mark.slow
def test_webhooks_continue_the_trace(tmp_path):
    with traced_server(tmp_path) as (collector, client, address):
        action = {"path": "_lakefs_actions/check.yaml"}
        content = ACTION.format(url=f"{address}/hook").encode()
        client.post(OBJECTS, params=action, content=content).raise_for_status()
        commit = "/repositories/sea/branches/main/commits"
        client.post(commit, json={"message": "m"}, headers=TRACED).raise_for_status()
        span = one(collector, "commit")
        (received,) = collector.webhooks
        _, trace, parent, flags = received["traceparent"].split("-")
        assert (trace, parent, flags) == (TRACE, span.span_id.hex(), "01")
        assert received["tracestate"] == TRACED["tracestate"]
        assert "hooks run" in {each.name for each in collector.below(span)}


@pytest.mark.slow
def test_what_the_client_does_not_trace_is_not_traced(tmp_path):
    with traced_server(tmp_path) as (collector, client, _):
        unwanted = {"traceparent": f"00-{TRACE}-{PARENT}-00"}
        client.get("/repositories/sea", headers=unwanted).raise_for_status()
        client.get("/repositories").raise_for_status()
        one(collector, "listRepositories")
        assert not collector.named("getRepository")


@pytest.mark.parametrize("malformed", ["", "00", f"00-{'0' * 32}-{PARENT}-01", "x" * 4096])
@pytest.mark.slow
def test_malformed_contexts_begin_a_trace(tmp_path, malformed):
    with traced_server(tmp_path) as (collector, client, _):
        client.get("/repositories/sea", headers={"traceparent": malformed}).raise_for_status()
        assert not one(collector, "getRepository").parent_span_id


def test_a_part_of_the_requests_can_be_traced(tmp_path):
    with traced_server(tmp_path, ANABRANCH_TELEMETRY_TRACED_PERCENT="0") as traced:
        collector, client, _ = traced
        client.get("/repositories/sea").raise_for_status()
        client.get("/repositories/sea", headers=TRACED).raise_for_status()
        assert one(collector, "getRepository").trace_id.hex() == TRACE


def test_requests_are_measured(tmp_path):
    def counts(collector):
        metric = collector.metrics.get("http.server.request.duration")
        points = metric.histogram.data_points if metric else ()
        return {attributes(each)["anabranch.operation"]: each.count for each in points}

    with traced_server(tmp_path) as (collector, client, _):
        for _ in range(3):
            client.get("/repositories/sea").raise_for_status()
        eventually(lambda: counts(collector).get("getRepository") == 3)
        eventually(lambda: "anabranch.request.waited" in collector.metrics)


@pytest.mark.slow
def test_a_collector_that_is_gone_stops_nothing(tmp_path):
    environment = {"ANABRANCH_TELEMETRY_ENDPOINT": "http://127.0.0.1:9"}
    with (
        running_server(tmp_path, env=environment) as server,
        httpx2.Client(base_url=server.api, auth=server.auth, timeout=100) as client,
    ):
        client.post("/repositories", json=REPOSITORY).raise_for_status()


def test_the_span_of_a_program_is_the_parent_of_its_requests(tmp_path):
    with traced_server(tmp_path) as (collector, client, _):
        url = str(client.base_url).partition("/api")[0]
        with (
            anabranch.connect(url, ACCESS_KEY_ID, SECRET_ACCESS_KEY) as lake,
            TracerProvider().get_tracer("t").start_as_current_span("program") as span,
        ):
            lake.branches.get("sea", "main")
        context = span.get_span_context()
        found = one(collector, "getBranch")
        assert found.parent_span_id == context.span_id.to_bytes(8)
        assert found.trace_id == context.trace_id.to_bytes(16)


def test_more_than_all_requests_cannot_be_traced():
    with pytest.raises(Invalid, match="ANABRANCH_TELEMETRY_TRACED_PERCENT is more than 100"):
        load_settings({}, {"ANABRANCH_TELEMETRY_TRACED_PERCENT": "101"})


@pytest.mark.slow
def test_clients_cannot_make_up_values_of_attributes(tmp_path):
    def methods():
        metric = collector.metrics.get("http.server.request.duration")
        points = metric.histogram.data_points if metric else ()
        counts = {}
        for point in points:
            method = attributes(point)["http.request.method"]
            counts[method] = counts.get(method, 0) + point.count
        return counts

    with traced_server(tmp_path) as (collector, client, _):
        for number in range(5):
            unsigned = {"Authorization": "AWS4-HMAC-SHA256 Credential=x"}
            address = client.base_url.join("/sea/main/a")
            httpx2.request(f"MADEUP{number}", address, headers=unsigned | TRACED)
        eventually(lambda: methods().get("_OTHER", 0) == 5)
        assert set(methods()) == {"_OTHER", "POST"}
        eventually(lambda: len(collector.named("unknown")) == 5)
        assert "MADEUP" not in str(collector.spans)


def commit_with_hook(client, url):
    """Commits, by a traced request, to a branch that has a hook after commits."""
    action = ACTION.replace("pre-commit", "post-commit").format(url=url)
    path = {"path": "_lakefs_actions/check.yaml"}
    client.post(OBJECTS, params=path, content=action.encode()).raise_for_status()
    commits = "/repositories/sea/branches/main/commits"
    client.post(commits, json={"message": "m"}, headers=TRACED).raise_for_status()


def test_hooks_after_a_change_are_in_the_trace_of_its_request(tmp_path):
    with traced_server(tmp_path) as (collector, client, address):
        commit_with_hook(client, f"{address}/hook")
        request = one(collector, "commit")
        span = one(collector, "hooks post-commit")
        assert (span.trace_id.hex(), span.parent_span_id) == (TRACE, request.span_id)
        assert span.kind == Span.SPAN_KIND_CONSUMER
        assert span.status.code == Status.STATUS_CODE_UNSET
        shown = attributes(span)
        assert shown["anabranch.attempt"] == 1
        runs = "/repositories/sea/actions/runs"
        eventually(lambda: client.get(runs).json()["results"])
        (run,) = client.get(runs).json()["results"]
        assert shown["anabranch.run_id"] == run["run_id"]
        (webhook,) = collector.webhooks
        assert webhook["traceparent"] == f"00-{TRACE}-{span.span_id.hex()}-01"
        assert webhook["tracestate"] == TRACED["tracestate"]


@pytest.mark.slow
def test_a_delivery_whose_hooks_fail_is_a_span_with_an_error(tmp_path):
    with traced_server(tmp_path) as (collector, client, _):
        commit_with_hook(client, "http://127.0.0.1:9/")
        span = one(collector, "hooks post-commit")
        assert span.status.code == Status.STATUS_CODE_ERROR


@pytest.mark.slow
def test_a_delivery_by_another_server_is_in_the_same_trace(tmp_path):
    collector, hangs = Collector(), Event()

    def take(handler):
        if handler.path == "/hook" and not collector.webhooks:
            collector.webhooks.append(dict(handler.headers))
            hangs.wait(60)  # the server is killed meanwhile
        else:
            collector.take(handler)

    with serving(take) as (port, _):
        address = f"http://127.0.0.1:{port}"
        environment = {
            "ANABRANCH_TELEMETRY_ENDPOINT": address,
            ALLOW: "127.0.0.1",
            "OTEL_BSP_SCHEDULE_DELAY": "50",
        }
        with (
            running_server(tmp_path, env=environment) as server,
            httpx2.Client(base_url=server.api, auth=server.auth, timeout=100) as client,
        ):
            client.post("/repositories", json=REPOSITORY).raise_for_status()
            commit_with_hook(client, f"{address}/hook")
            request = one(collector, "commit")
            eventually(lambda: collector.webhooks)
            server.process.kill()
            server.process.wait()
        hangs.set()
        end_leases(tmp_path)
        with running_server(tmp_path, env=environment):
            span = one(collector, "hooks post-commit", **{"anabranch.attempt": 2})
        assert (span.trace_id.hex(), span.parent_span_id) == (TRACE, request.span_id)
        assert len(collector.webhooks) == 2
        assert collector.webhooks[1]["traceparent"] == f"00-{TRACE}-{span.span_id.hex()}-01"
