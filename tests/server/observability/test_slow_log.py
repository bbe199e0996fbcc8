"""Slow requests are logged with what they waited for: stores that are really slow, hooks, threads,
the client.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from support.eventually import eventually
from support.faults.faulty_proxy import FaultyProxy
from support.http_servers import answer, serving

from anabranch.http.request_head import RequestHead
from anabranch.library import DATABASE_FILE
from anabranch.server.execution.thread_pool import ThreadPool
from anabranch.server.observability.slow_log import LINES, CompletedRequest, SlowLog
from anabranch.spent_time import SpentTime, performed
from anabranch.testing.server import running_server
from tests.server.observability.complete_lines import complete_lines

PAUSE = 0.5
PAUSE_OF_CLIENT = 2
"""In seconds, of which a busy server sees a part: it begins to wait later."""
REPOSITORY = {"name": "sea", "storage_namespace": "local://sea"}
OBJECTS = "/repositories/sea/branches/main/objects"
SLOW = {"ANABRANCH_LOGGING_FORMAT": "json", "ANABRANCH_LOGGING_SLOW_REQUESTS": "1ms"}
PARTS = ("thread", "keyvalue", "blocks", "hooks", "sending", "other")


def lines(server):
    """The lines about slow requests, by the id of the request."""
    found = [json.loads(line) for line in complete_lines(server.log) if line.endswith(b"}")]
    return {line["request_id"]: line for line in found if line["logger"] == "anabranch.slow"}


def line_of(server, request_id):
    eventually(lambda: request_id in lines(server))
    found = lines(server)[request_id]
    # nothing counts twice, and nothing is left out
    whole = sum(found[f"{part}_seconds"] for part in PARTS)
    assert whole == pytest.approx(found["took_seconds"], abs=0.01)
    return found


@contextmanager
def api_of(server, **options):
    with httpx2.Client(base_url=server.api, auth=server.auth, timeout=100, **options) as client:
        yield client


@contextmanager
def another_writer(folder):
    """Holds the lock by which processes write a database in turn, until one has waited a while."""
    (path,) = folder.rglob(f"{DATABASE_FILE}-turn")

    def let_go():
        try:
            eventually(lambda: f":{path.stat().st_ino} " in waiting_for_locks())
            time.sleep(PAUSE)
        finally:
            fcntl.flock(turn, fcntl.LOCK_UN)

    with path.open("w") as turn, ThreadPoolExecutor(1) as thread:
        fcntl.flock(turn, fcntl.LOCK_EX)
        letting_go = thread.submit(let_go)
        yield
        letting_go.result()


def waiting_for_locks():
    """What Linux lists of those who wait for a lock: the lines with an arrow."""
    lines = Path("/proc/locks").read_text().splitlines()
    return "\n".join(line for line in lines if "->" in line)


def test_a_request_that_waits_for_a_slow_database_says_so(tmp_path):
    with running_server(tmp_path, env=SLOW) as server, api_of(server) as api:
        assert api.post("/repositories", json=REPOSITORY).status_code == 201
        with another_writer(tmp_path):
            sent = {"params": {"path": "secret-path"}, "content": b"x"}
            assert api.post(OBJECTS, **sent, headers={"X-Request-ID": "slow-1"}).is_success
        found = line_of(server, "slow-1")
        log = server.log.read_text()
    assert found["keyvalue_seconds"] > PAUSE * 0.8
    assert found["keyvalue_calls"] >= 1
    assert found["operation_id"] == "uploadObject"
    assert found["user"] == "tester"
    assert found["status_code"] == 201
    assert "path" not in found, "the log of requests is off"
    assert "secret-path" not in log
    assert server.secret_access_key not in log


@pytest.mark.slow
def test_the_path_is_said_if_the_log_of_requests_has_it(tmp_path):
    settings = {**SLOW, "ANABRANCH_LOGGING_AUDIT_LOG_LEVEL": "INFO"}
    with running_server(tmp_path, env=settings) as server, api_of(server) as api:
        assert api.post("/repositories", json=REPOSITORY).status_code == 201
        with another_writer(tmp_path):
            sent = {"params": {"path": "secret-path"}, "content": b"x"}
            assert api.post(OBJECTS, **sent, headers={"X-Request-ID": "slow-1"}).is_success
        found = line_of(server, "slow-1")
        assert found["path"] == f"/api/v1{OBJECTS}"
        assert "secret-path" not in server.log.read_text()


@pytest.mark.slow
def test_the_time_of_a_client_that_sends_slowly_is_its_own(tmp_path):
    def slowly():
        yield b"a" * 200_000
        time.sleep(PAUSE_OF_CLIENT)
        yield b"b" * 200_000

    with running_server(tmp_path, env=SLOW) as server, api_of(server) as api:
        assert api.post("/repositories", json=REPOSITORY).status_code == 201
        sent = {"params": {"path": "a"}, "content": slowly()}
        assert api.post(OBJECTS, **sent, headers={"X-Request-ID": "slow-1"}).is_success
        found = line_of(server, "slow-1")
    assert found["client_seconds"] > PAUSE


@pytest.mark.slow
def test_the_time_of_a_client_that_takes_slowly_is_its_own(tmp_path):
    content = b"x" * (32 << 20)
    with running_server(tmp_path, env=SLOW) as server, api_of(server) as api:
        assert api.post("/repositories", json=REPOSITORY).status_code == 201
        assert api.post(OBJECTS, params={"path": "a"}, content=content).is_success
        url = "/repositories/sea/refs/main/objects"
        headers = {"X-Request-ID": "slow-1"}
        with api.stream("GET", url, params={"path": "a"}, headers=headers) as response:
            time.sleep(PAUSE_OF_CLIENT)
            assert response.read() == content
        found = line_of(server, "slow-1")
    assert found["client_seconds"] > PAUSE
    assert found["blocks_calls"] >= 1


def test_a_commit_that_waits_for_a_hook_says_so(tmp_path):
    def respond(handler):
        time.sleep(PAUSE)
        answer()(handler)

    allow = {"ANABRANCH_ACTIONS_WEBHOOK_ALLOW": "127.0.0.0/8"}
    with (
        serving(respond) as (port, seen),
        running_server(tmp_path, env={**SLOW, **allow}) as server,
        api_of(server) as api,
    ):
        action = f"""
name: slow
on: {{pre-commit: {{}}}}
hooks: [{{id: slow, type: webhook, properties: {{url: "http://127.0.0.1:{port}/"}}}}]
"""
        assert api.post("/repositories", json=REPOSITORY).status_code == 201
        path = {"path": "_lakefs_actions/slow.yaml"}
        assert api.post(OBJECTS, params=path, content=action.encode()).is_success
        headers = {"X-Request-ID": "slow-1"}
        commits = "/repositories/sea/branches/main/commits"
        assert api.post(commits, json={"message": "a"}, headers=headers).status_code == 201
        assert seen
        found = line_of(server, "slow-1")
    assert found["hooks_seconds"] > PAUSE * 0.8


@contextmanager
def slowed(url, fixed):
    """Yields a proxy before the service at a URL, and the URL through it."""
    parts = urlsplit(url)
    proxy = FaultyProxy((parts.hostname, parts.port or fixed))
    user, at, _ = parts.netloc.rpartition("@")
    try:
        yield proxy, parts._replace(netloc=f"{user}{at}127.0.0.1:{proxy.port}").geturl()
    finally:
        proxy.close()


def delay_next(proxy):
    """Lets the proxy delay what comes next, which it does after a pause."""
    proxy.delay(PAUSE)
    passed = None
    while passed != proxy.passed:  # a busy server has not ended yet what follows its answer
        passed = proxy.passed
        time.sleep(PAUSE * 1.2)


def test_a_request_that_waits_for_slow_postgresql_says_so(postgres_database, tmp_path):
    with (
        slowed(postgres_database, 5432) as (proxy, url),
        running_server(tmp_path, database=url, env=SLOW) as server,
        api_of(server) as api,
    ):
        assert api.post("/repositories", json=REPOSITORY).status_code == 201
        delay_next(proxy)
        headers = {"X-Request-ID": "slow-1"}
        stat = "/repositories/sea/refs/main/objects/stat"
        assert api.get(stat, params={"path": "none"}, headers=headers).status_code == 404
        found = line_of(server, "slow-1")
        proxy.reset()  # the server ends by many round trips
    assert found["keyvalue_seconds"] > PAUSE * 0.8
    assert found["keyvalue_seconds"] > found["took_seconds"] * 0.8


def test_a_request_that_waits_for_slow_s3_says_so(s3, tmp_path):
    s3.make_bucket(tmp_path.name.replace("_", "-"))
    setting = "ANABRANCH_BLOCKSTORE_S3_ENDPOINT"
    with (
        slowed(s3.settings[setting], 80) as (proxy, url),
        running_server(tmp_path, env={**s3.settings, **SLOW, setting: url}) as server,
        api_of(server) as api,
    ):
        namespace = f"s3://{tmp_path.name.replace('_', '-')}/sea"
        body = {"name": "sea", "storage_namespace": namespace}
        assert api.post("/repositories", json=body).status_code == 201
        assert api.post(OBJECTS, params={"path": "a"}, content=b"x" * 100).is_success
        delay_next(proxy)
        headers = {"X-Request-ID": "slow-1"}
        got = api.get("/repositories/sea/refs/main/objects", params={"path": "a"}, headers=headers)
        assert got.content == b"x" * 100
        found = line_of(server, "slow-1")
    assert found["blocks_seconds"] > PAUSE * 0.8
    assert found["blocks_seconds"] > found["took_seconds"] * 0.8
    assert found["blocks_calls"] == 1


def test_waiting_for_a_thread_is_a_part_of_its_own():
    async def both():
        pool = ThreadPool("test", threads=1, waiting=10)
        go_on = threading.Event()
        first, second = SpentTime(), SpentTime()
        calls = [
            asyncio.ensure_future(pool.run(performed(each, function)))
            for each, function in ((first, go_on.wait), (second, int))
        ]
        await asyncio.sleep(PAUSE)
        go_on.set()
        await asyncio.gather(*calls)
        pool.close()
        return first.threads, second.threads

    first, second = asyncio.run(both())
    assert second > PAUSE * 0.8
    assert second > first


def request(number=1):
    head = RequestHead.sent("GET", "/a", "secret=1", {}, scheme="http", client="")
    return CompletedRequest("api", "getObject", "ann", 200, head, f"id-{number}")


@pytest.mark.parametrize(
    ("limit", "took", "client", "count"),
    [
        (5, 5.0, 0.0, 1),
        (5, 4.9, 0.0, 0),
        (5, 60.0, 55.1, 0),
        (5, 60.0, 55.0, 1),
        (0, 999.0, 0.0, 0),
    ],
)
def test_time_of_the_client_does_not_count(caplog, limit, took, client, count):
    spent = SpentTime()
    spent.client = client
    with caplog.at_level(logging.DEBUG):
        SlowLog(limit).completed(request(), took, spent, with_path=False)
    assert len(caplog.records) == count


def test_a_line_is_for_people_too(caplog):
    spent = SpentTime()
    spent.client, spent.keyvalue, spent.keyvalue_calls = 2.0, 6.0, 3
    SlowLog(5.0).completed(request(), 9.0, spent, with_path=False)
    (record,) = caplog.records
    assert record.getMessage() == (
        "slow: getObject 200 in 7.00 s: thread 0.00, key-value store 6.00 (calls: 3), "
        "block store 0.00 (calls: 0), hooks 0.00, sending 0.00, other 1.00; "
        "the client took 2.00 s more (id-1)"
    )


def test_lines_are_bounded_and_what_is_left_out_is_counted(caplog):
    log = SlowLog(1.0)
    for number in range(LINES + 50):
        log.completed(request(number), 2.0, SpentTime(), with_path=False)
    log.others.log()
    messages = [record.getMessage() for record in caplog.records]
    assert sum(message.startswith("slow: ") for message in messages) == LINES
    counted = "slow requests without a line of their own, by operation: getObject: "
    assert [message for message in messages if message.startswith("slow requests")] == [
        f"{counted}1",
        f"{counted}49",
    ]
