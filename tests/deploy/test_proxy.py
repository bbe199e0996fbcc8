"""The proxy of `deploy/` before two servers that are killed and restarted."""

from __future__ import annotations

import http.client
import os
import random
import signal
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

import pytest
from support.clients.no_retry_client import Caller
from support.clients.s3_client import s3_client
from support.eventually import eventually
from support.services.nginx import nginx_program, running_nginx
from support.session.free_port import free_port
from support.session.service_fixtures import new_database

from anabranch.testing.server import running_server

SITE = (Path(__file__).parents[2] / "deploy" / "nginx.conf").read_text("utf-8")
READERS = 3
OBJECTS = 20
PROGRESS = 40

pytestmark = pytest.mark.skipif(
    nginx_program() is None, reason="nginx is not installed: `make components` does that"
)


class Replica:
    """One of the servers: always on the same port, started again after it was ended."""

    def __init__(self, folder, options):
        self.port = free_port()
        self._folder = folder
        self._options = options
        self._entered = ExitStack()
        self.server = None

    def start(self):
        self._entered = ExitStack()
        listen = f"127.0.0.1:{self.port}"
        self.server = self._entered.enter_context(
            running_server(self._folder, listen=listen, **self._options)
        )

    def kill(self):
        # the first process alone would leave its workers a second to see it
        for pid in [self.server.pid, *self.server.workers()]:
            with suppress(ProcessLookupError):  # a worker may have seen it already
                os.kill(pid, signal.SIGKILL)
        self.close()

    def stop(self):
        status = self.server.stop()
        self.close()
        return status

    def close(self):
        self._entered.close()


class Broken(NamedTuple):
    """Stands for the answer to a request that got none."""

    error: Exception
    status: int = 0
    body: bytes = b""


def answer(call, *request):
    try:
        return call(*request)
    except (OSError, http.client.HTTPException) as error:
        return Broken(error)


class Load:
    """Requests through the proxy, and those of them that failed."""

    def __init__(self, server):
        self.server = server
        self.answered = 0
        self.failed = []
        self.writes = 0
        self.failed_writes = []
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._read, args=(n,)) for n in range(READERS)]
        self._threads.append(threading.Thread(target=self._write))

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def await_more(self):
        """Waits until so many more requests of each kind have been answered."""
        answered, writes = self.answered + PROGRESS, self.writes + PROGRESS
        eventually(lambda: self.answered >= answered and self.writes >= writes)

    def _read(self, seed):
        chance = random.Random(seed)
        call = Caller(self.server, timeout=60)
        refs, side = "/repositories/sea/refs/main", "/repositories/sea/branches/side"
        while not self._stopping.is_set():
            number = chance.randrange(OBJECTS)
            path = f"path=o{number:02}"
            method, where, wanted = chance.choice(
                [
                    ("GET", f"{refs}/objects?{path}", b"%d" % number),
                    ("HEAD", f"{refs}/objects?{path}", b""),
                    ("GET", f"{refs}/objects/stat?{path}", None),
                    ("GET", f"{refs}/objects/ls", None),
                    ("GET", "/repositories/sea/branches/main", None),
                    ("DELETE", f"{side}/objects?{path}", b""),
                ]
            )
            reply = answer(call, method, where)
            with self._lock:
                self.answered += 1
                if reply.status not in (200, 204) or wanted not in (None, reply.body):
                    self.failed.append((method, where, reply))

    def _write(self):
        call = Caller(self.server, timeout=60)
        while not self._stopping.is_set():
            where = f"/repositories/sea/branches/side/objects?path=new-{self.writes}"
            reply = answer(call, "POST", where, b"new")
            self.writes += 1
            if reply.status != 201:
                self.failed_writes.append(reply)


def run(tmp_path, kills, seconds, **options):
    """Kills one of two servers every so many seconds, then restarts both in order; returns the
    loads meanwhile and what nginx has logged.
    """
    replicas = [Replica(tmp_path / "lake", options) for _ in range(2)]
    site = SITE
    for name, replica in zip(("one", "two"), replicas, strict=True):
        assert f"server {name}:8000 " in site
        site = site.replace(f"server {name}:8000 ", f"server 127.0.0.1:{replica.port} ")
    folder = tmp_path / "nginx"
    folder.mkdir()
    port = free_port()
    with ExitStack() as entered:
        for replica in replicas:
            replica.start()
            entered.callback(replica.close)
        log = entered.enter_context(running_nginx(site, "listen 8000;", port, folder))
        server = replicas[0].server._replace(url=f"http://127.0.0.1:{port}")
        call = Caller(server)
        call.make_repository("sea")
        for number in range(OBJECTS):
            assert call.put("sea", "main", f"o{number:02}", b"%d" % number).status == 201
        assert call.commit("sea", "main", "All").status == 201
        side = {"name": "side", "source": "main"}
        assert call("POST", "/repositories/sea/branches", side).status == 201
        with Load(server) as killed:
            for number in range(kills):
                time.sleep(seconds * 2 / 3)
                killed.await_more()
                replicas[number % 2].kill()
                time.sleep(seconds / 3)
                eventually(lambda: "connect() failed" in log.read_text())
                killed.await_more()
                replicas[number % 2].start()
        with Load(server) as restarted:
            for replica in replicas:
                time.sleep(0.5)
                restarted.await_more()
                assert replica.stop() == 0
                replica.start()
            time.sleep(0.5)
            restarted.await_more()
        body = s3_client(server).get_object(Bucket="sea", Key="main/o07")["Body"].read()
        assert body == b"7", "the proxy must leave alone what signatures cover"
        return killed, restarted, log.read_text()


def check(kills, killed, restarted, log):
    assert (killed.failed, restarted.failed) == ([], [])
    assert min(killed.answered, restarted.answered) >= 3 * PROGRESS
    # what a killed server was doing is not repeated, as it may have been done; the next write may
    # take a connection that the dying process has not closed yet
    assert len(killed.failed_writes) <= 2 * kills < killed.writes / 10
    # at each stop, one may meet a connection that is closed at that moment
    assert len(restarted.failed_writes) <= 2
    assert "no live upstreams" not in log
    assert "connect() failed" in log, "no server was met while it was down"


@pytest.mark.slow
def test_requests_that_may_be_repeated_never_fail(tmp_path):
    check(2, *run(tmp_path, 2, 1.5))


@pytest.mark.slow
def test_requests_never_fail_for_long(tmp_path, postgres_cluster):
    database = new_database(postgres_cluster)
    check(6, *run(tmp_path, 6, 15, workers=2, database=database))
