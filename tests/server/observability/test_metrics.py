"""`/metrics`, parsed with Prometheus's own parser, compared with the requests that were sent."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from pathlib import Path

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families
from support.clients.s3_client import s3_client
from support.eventually import eventually

from anabranch.files.work_folders import remove_abandoned
from anabranch.testing.server import running_server

REPOSITORY = {"name": "sea", "storage_namespace": "local://sea"}


def sample(name, /, **labels):
    """Returns the key of a sample."""
    return name, frozenset(labels.items())


REST, S3 = (f"{each}_request_duration_seconds_count" for each in ("api", "gateway"))
SERVED = {
    sample(REST, operation="statObject", code="200"): 20,
    sample(REST, operation="statObject", code="404"): 20,
    sample(REST, operation="uploadObject", code="201"): 20,
    sample(S3, operation="GetObject", code="200"): 20,
    sample("api_requests_total", method="GET", code="404"): 20,
    sample("api_requests_total", method="POST", code="201"): 21,
}
"""The requests of `test_every_request_is_counted_once`."""


def scrape(server):
    """Returns every sample, by its name and labels."""
    answer = httpx2.get(f"{server.url}/metrics", timeout=30)
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        sample(each.name, **each.labels): each.value
        for family in text_string_to_metric_families(answer.text)
        for each in family.samples
    }


def value(samples, name, **labels):
    return samples.get(sample(name, **labels))


def client(server):
    return httpx2.Client(base_url=server.api, auth=server.auth, timeout=30)


def s3_of(server):
    return s3_client(server, retries={"max_attempts": 0})


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.sample(1)
def test_every_request_is_counted_once(tmp_path, workers):
    with running_server(tmp_path, workers=workers) as server:
        with client(server) as api:
            assert api.post("/repositories", json=REPOSITORY).status_code == 201
        for number in range(20):  # a connection each, so that every process has some
            with client(server) as api:
                url = "/repositories/sea/branches/main/objects"
                assert api.post(url, params={"path": f"{number}"}, content=b"x").is_success
                url = "/repositories/sea/refs/main/objects/stat"
                assert api.get(url, params={"path": f"{number}"}).is_success
                assert api.get(url, params={"path": "none"}).status_code == 404
                assert api.get("/nonsense").status_code == 404
            s3 = s3_of(server)
            assert s3.get_object(Bucket="sea", Key=f"main/{number}")["Body"].read() == b"x"
        eventually(lambda: SERVED.items() <= scrape(server).items())  # counted after the answer
        samples = scrape(server)
    took = value(samples, "api_request_duration_seconds_sum", operation="statObject", code="200")
    assert 0 < took < 60


def test_running_requests_are_counted(tmp_path):
    with running_server(tmp_path) as server, client(server) as api:
        assert api.post("/repositories", json=REPOSITORY).status_code == 201
        go_on = threading.Event()

        def slowly():
            yield b"a" * 100_000
            assert go_on.wait(60)
            yield b"b"

        def upload():
            url = "/repositories/sea/branches/main/objects"
            with client(server) as other:
                other.post(url, params={"path": "slow"}, content=slowly())

        def running():
            labels = {"service": "api", "operation": "uploadObject"}
            return value(scrape(server), "lakefs_concurrent_requests", **labels)

        uploading = threading.Thread(target=upload)
        uploading.start()
        deadline = time.monotonic() + 60
        while running() != 1:
            assert time.monotonic() < deadline
        go_on.set()
        uploading.join()
        while running() != 0:
            assert time.monotonic() < deadline


@pytest.mark.slow
def test_counts_of_exited_processes_are_kept(tmp_path):
    with running_server(tmp_path, workers=2) as server:
        for _ in range(20):
            with client(server) as api:
                assert api.get("/config").is_success
        os.kill(server.workers()[0], signal.SIGKILL)
        deadline = time.monotonic() + 60
        name = "api_request_duration_seconds_count"
        counted = 0
        while counted != 20:
            assert time.monotonic() < deadline
            with contextlib.suppress(httpx2.TransportError):  # it was the killed one's connection
                samples = scrape(server)
                counted = value(samples, name, operation="getConfig", code="200")


@pytest.mark.slow
def test_the_folder_of_a_killed_server_is_removed_when_its_workers_have_ended(tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()

    def folders():
        return {path.name for path in temporary.glob("anabranch-metrics-*")}

    started = {"workers": 2, "env": {"TMPDIR": str(temporary)}}
    with running_server(tmp_path / "killed", **started) as server:
        (left,) = folders()
        workers = server.workers()
        server.process.kill()
        server.process.wait()
        remove_abandoned(str(temporary))
        # the workers end a moment later; until then the numbers are theirs
        assert left in folders() or not any(Path(f"/proc/{pid}").exists() for pid in workers)
        deadline = time.monotonic() + 60
        while any(Path(f"/proc/{pid}").exists() for pid in workers):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert folders() <= {left}
    with running_server(tmp_path / "next", **started):
        assert len(folders()) == 1
        assert left not in folders()
    assert not folders()


SLOW_HOOK = """
name: slow
on: {post-commit: {}}
hooks:
  - id: wait
    type: lua
    properties: {script: "local t = os.time() while os.time() < t + 3 do end"}
"""


def test_events_that_wait_for_their_hooks_are_counted(tmp_path):
    env = {"ANABRANCH_ACTIONS_CONCURRENCY": "1"}
    with running_server(tmp_path, env=env) as server, client(server) as api:
        assert api.post("/repositories", json=REPOSITORY).status_code == 201
        branch = "/repositories/sea/branches/main"
        path = {"path": "_lakefs_actions/slow.yaml"}
        assert api.post(f"{branch}/objects", params=path, content=SLOW_HOOK).status_code == 201
        for number in range(3):
            path = {"path": f"{number}"}
            assert api.post(f"{branch}/objects", params=path, content=b"1").status_code == 201
            body = {"message": f"{number}"}
            assert api.post(f"{branch}/commits", json=body).status_code == 201
        deadline = time.monotonic() + 60
        while value(scrape(server), "anabranch_hook_events_waiting") < 1:
            assert time.monotonic() < deadline
