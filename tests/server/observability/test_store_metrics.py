"""Requests to stores, and why they are repeated, are counted in metrics."""

from __future__ import annotations

import httpx2
import pytest
from support.faults.faulty_proxy import FaultyProxy
from support.http_servers import answer, serving

from anabranch.blocks.cloud.addresses import Location
from anabranch.blocks.cloud.retry_policy import RetryPolicy
from anabranch.blocks.cloud.signed_requests import SignedRequest, SigningClient
from anabranch.errors import Busy
from anabranch.keyvalue.postgres.store import PostgresStore
from anabranch.server.observability.metrics import Metrics
from anabranch.testing.server import running_server


def counted(text, name):
    """Returns the lines of a metric that count something."""
    lines = [line for line in text.decode().splitlines() if line.startswith(f"{name}_total{{")]
    return dict(line.removeprefix(f"{name}_total").rsplit(" ", 1) for line in lines)


def refusal(status, code):
    return answer(status, f"<Error><Code>{code}</Code></Error>".encode(), Content_Type="text/xml")


def hang_up(handler):
    handler.close_connection = True
    handler.connection.close()


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("respond", "reason"),
    [
        (refusal(503, "SlowDown"), "throttled"),
        (refusal(503, "ServerBusy"), "throttled"),
        (answer(429), "throttled"),
        (refusal(500, "InternalError"), "failed"),
        (hang_up, "unreachable"),
    ],
)
def test_each_retry_of_an_object_store_is_counted_with_its_reason(respond, reason):
    metrics = Metrics({})

    def sometimes(handler):
        (respond if len(seen) < 3 else answer())(handler)

    with serving(sometimes) as (port, seen):
        url = f"http://127.0.0.1:{port}/lake/a"
        policy = RetryPolicy(observer=metrics.stores.of("s3"))
        client = SigningClient(lambda *_: SignedRequest(url, {}), policy)
        assert client.send("GET", Location("s3://lake", "lake", "a")).status == 200
        client.close()
    text = metrics.text()
    assert counted(text, "anabranch_store_requests") == {'{store="s3"}': "1.0"}
    labels = f'{{reason="{reason}",store="s3"}}'
    assert counted(text, "anabranch_store_retries") == {labels: "2.0"}


def test_what_is_given_up_is_no_retry():
    metrics = Metrics({})
    with serving(answer(500)) as (port, seen):
        policy = RetryPolicy(retries=1, observer=metrics.stores.of("azure"))
        url = f"http://127.0.0.1:{port}/lake/a"
        client = SigningClient(lambda *_: SignedRequest(url, {}), policy)
        with pytest.raises(Busy):
            client.send("GET", Location("azure://lake", "lake", "a"))
        client.close()
        assert len(seen) == 2
    labels = '{reason="failed",store="azure"}'
    assert counted(metrics.text(), "anabranch_store_retries") == {labels: "1.0"}


def test_a_read_that_postgresql_does_not_answer_is_counted(postgres_cluster, postgres_database):
    metrics = Metrics({})
    name = postgres_database.rsplit("/", 1)[1]
    with FaultyProxy(("127.0.0.1", postgres_cluster.port)) as proxy:
        url = postgres_cluster.url(name, port=proxy.port)
        store = PostgresStore(url, observer=metrics.stores.of("postgres"))
        assert store.get("part", b"key") is None
        assert counted(metrics.text(), "anabranch_store_retries") == {}
        proxy.lose_answer(0)
        assert store.get("part", b"key") is None
        store.close()
    text = metrics.text()
    assert counted(text, "anabranch_store_requests") == {'{store="postgres"}': "2.0"}
    labels = '{reason="connection_lost",store="postgres"}'
    assert counted(text, "anabranch_store_retries") == {labels: "1.0"}


def test_a_server_shows_its_requests_to_postgresql(postgres_database, tmp_path):
    with running_server(tmp_path, database=postgres_database) as server:
        text = httpx2.get(f"{server.url}/metrics", timeout=60).content
    ((labels, count),) = counted(text, "anabranch_store_requests").items()
    assert labels == '{store="postgres"}'
    assert float(count) > 0
