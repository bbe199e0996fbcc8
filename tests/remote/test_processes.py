"""A connected lake in forked processes, in copies, and in other processes."""

from __future__ import annotations

import asyncio
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from anabranch import aio


def in_child(work):
    """Runs a function in a forked process, and returns what it returns, as text."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if not child:
        try:
            result = str(work())
        except BaseException as error:  # noqa: BLE001  shown by the parent
            result = repr(error)
        os.write(write_end, result.encode())
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as reader:
        text = reader.read().decode()
    os.waitpid(child, 0)
    return text


def copied(value):
    return pickle.loads(pickle.dumps(value))  # noqa: S301  made here


def sockets(lake):
    return {connection.sock.getsockname() for connection in lake._client._transport._idle}


def test_a_forked_process_opens_connections_of_its_own(lake, sea):
    lake.branches.get(sea, "main")
    ours = sockets(lake)
    assert len(ours) == 1

    def work():
        assert not lake._client._transport._idle
        for _ in range(3):
            lake.branches.get(sea, "main")
        assert len(sockets(lake)) == 1
        return sockets(lake).isdisjoint(ours)

    assert in_child(work) == "True"
    lake.branches.get(sea, "main")
    assert sockets(lake) == ours, "the parent's connection is still usable"


@pytest.mark.slow
def test_a_fork_while_threads_send_requests_leaves_no_lock_behind(lake, sea):
    lake.objects.upload(sea, "main", "a", [b"1" * 100])

    def read(_):
        return lake.objects.open(sea, "main", "a").read_bytes() == b"1" * 100

    with ThreadPoolExecutor(4) as pool:
        running = [pool.submit(read, number) for number in range(200)]
        texts = [in_child(lambda: read(0)) for _ in range(8)]
        assert all(each.result() for each in running)
    assert texts == ["True"] * 8


def test_a_forked_process_has_threads_for_its_event_loop(server, sea):
    lake = aio.connect(server.url, *server.auth)

    def commit():
        async def get():
            return (await lake.branches.get(sea, "main")).id

        return asyncio.run(get())

    assert commit() == "main"
    assert in_child(commit) == "main"
    assert commit() == "main"
    asyncio.run(lake.close())


def test_a_lake_is_sent_to_other_processes(lake, sea):
    lake.objects.upload(sea, "main", "a", [b"1" * 1000])
    program = (
        "import pickle, sys; lake, repository = pickle.load(sys.stdin.buffer); "
        "sys.stdout.buffer.write(lake.objects.open(repository, 'main', 'a').read())"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program],
        input=pickle.dumps((lake, sea)),
        capture_output=True,
        check=True,
        timeout=200,
    )
    assert ran.stdout == b"1" * 1000


def test_copies_read_the_same(lake, server, sea):
    lake.objects.upload(sea, "main", "a", [b"12" * 100_000])
    opened = lake.objects.open(sea, "main", "a")
    opened.read(150_000)
    lake.objects.upload(sea, "main", "a", [b"other"])
    copy = copied(opened)
    assert copy.read() == b"12" * 100_000
    again = copied(lake)
    assert repr(again) == repr(lake)
    assert again.objects.open(sea, "main", "a").read() == b"other"
    branch = copied(lake.repository(sea).branch("main"))
    assert branch.read("a") == b"other"
    waiting = copied(aio.connect(server.url, *server.auth, max_requests=3))
    assert waiting._threads._most == 3
