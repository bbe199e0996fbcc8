"""Worker processes: stopped under load, and killed during an outage of the database."""

from __future__ import annotations

import http.client
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from support.clients.no_retry_client import Caller
from support.eventually import eventually
from support.services.postgres import running_cluster
from support.session.service_fixtures import new_database

from anabranch.server.process.supervisor import MAX_FAILED_STARTS
from anabranch.testing.server import running_server

CLIENTS = 4


def health_status(server, timeout=30):
    """Returns the status of a request on a new connection."""
    url = urlsplit(server.url)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=timeout)
    try:
        connection.request("GET", "/_health")
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_accepted_connections_get_responses_while_a_server_stops(tmp_path, workers):
    with running_server(tmp_path, workers=workers, fresh=True) as server:
        outcomes: list[object] = []
        started = threading.Barrier(CLIENTS + 1)

        def call():
            started.wait()
            while True:
                try:
                    outcomes.append(health_status(server))
                except ConnectionRefusedError:
                    return
                except (OSError, http.client.HTTPException) as error:
                    outcomes.append(error)

        threads = [threading.Thread(target=call) for _ in range(CLIENTS)]
        for thread in threads:
            thread.start()
        started.wait()
        eventually(lambda: len(outcomes) > 50)
        before = len(outcomes)
        assert server.stop() == 0
        for thread in threads:
            thread.join()
        assert set(outcomes) == {200}
        assert len(outcomes) > before


WAITING = """
import time
from anabranch.server.process.supervisor import StopSignal
stop = StopSignal()
print("ready", flush=True)
while True:
    time.sleep(0.0002)
    if stop.has_come:
        stop.has_come = False
        print("stop", flush=True)
"""


def test_a_signal_that_interrupts_the_handler_of_another_waits_for_nothing():
    with subprocess.Popen([sys.executable, "-c", WAITING], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        for _ in range(3000):  # with a lock in the handler, about each 500th pair hangs
            process.send_signal(signal.SIGTERM)
            process.send_signal(signal.SIGTERM)
            assert select.select([process.stdout], [], [], 60)[0]
            os.read(process.stdout.fileno(), 1 << 16)
        process.kill()


@pytest.mark.slow  # signals at once, above, and a stop under load
def test_two_stop_signals_result_in_a_normal_exit(tmp_path):
    with running_server(tmp_path, workers=2) as server:
        server.process.send_signal(signal.SIGTERM)
        assert server.stop() == 0


@pytest.mark.slow
def test_a_worker_killed_during_a_database_outage_is_replaced_after_it(tmp_path):
    with (
        running_cluster() as cluster,
        running_server(tmp_path, workers=2, database=new_database(cluster)) as server,
    ):
        Caller(server).make_repository("sea")
        killed, other = server.workers()
        cluster.stop()
        os.kill(killed, signal.SIGKILL)
        eventually(lambda: server.log.read_text().count("ended with status 3") >= 2)
        # no connection waits for a process that does not start
        assert [health_status(server) for _ in range(20)] == [200] * 20
        assert server.process.poll() is None
        assert other in server.workers()
        cluster.start()
        eventually(lambda: len(server.workers()) == 2)
        eventually(lambda: Caller(server)("GET", "/repositories/sea").status == 200)
        assert other in server.workers()
        # stop the other one, so that only the replacement can respond
        replacement = next(worker for worker in server.workers() if worker != other)
        eventually(lambda: _listens(replacement, server))
        os.kill(other, signal.SIGSTOP)
        try:
            eventually(lambda: _responds(server))
        finally:
            os.kill(other, signal.SIGCONT)
        assert server.stop() == 0


@pytest.mark.slow
def test_a_server_without_workers_exits_with_an_error(tmp_path):
    with (
        running_cluster() as cluster,
        running_server(tmp_path, workers=2, database=new_database(cluster)) as server,
    ):
        cluster.stop()
        for worker in server.workers():
            os.kill(worker, signal.SIGKILL)
        assert server.process.wait(100) == 1
        log = server.log.read_text()
        assert "workers cannot be started" in log
        assert log.count("ended with status 3") == 2 * MAX_FAILED_STARTS
        url = urlsplit(server.url)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((url.hostname, url.port), timeout=5)


def _responds(server):
    try:
        return health_status(server, timeout=2) == 200
    except OSError:
        return False


def _listens(pid, server):
    """Returns whether a process has a socket that listens on the server's port."""
    port = f":{urlsplit(server.url).port:04X}"
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()]
    inodes = {row[9] for row in rows if row[1].endswith(port) and row[3] == "0A"}
    held = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            held.add(str(link.readlink()))
    return any(f"socket:[{inode}]" in held for inode in inodes)
