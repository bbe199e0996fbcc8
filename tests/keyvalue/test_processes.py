"""Several processes on one database, some of them killed, some short of disk."""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import apsw
import psycopg
import pytest
from support.session.sizes import sized
from support.stalls import repeated_after_stalls

from anabranch.errors import Busy
from anabranch.keyvalue.contract import Write
from anabranch.keyvalue.sqlite.store import SQLiteStore


def open_store(place):
    if place.startswith("postgres:"):
        from anabranch.keyvalue.postgres.store import PostgresStore

        return PostgresStore(place)
    from anabranch.keyvalue.sqlite.store import SQLiteStore

    return SQLiteStore(place)


OPEN = inspect.getsource(open_store)


def await_the_end_of_others(place):
    """Waits until PostgreSQL has noticed that its clients were killed."""
    with psycopg.connect(place, autocommit=True) as raw:
        query = (
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() "
            "AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        while raw.execute(query).fetchone():
            time.sleep(0.01)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """Where a store is, for `open_store`."""
    if request.param == "sqlite":
        return str(tmp_path / "metadata.db")
    return request.getfixturevalue("empty")


COUNT = (
    OPEN
    + """
import sys, threading, time
from anabranch.keyvalue.contract import Expect, Write
store = open_store(sys.argv[1])
name, threads, rounds = sys.argv[2].encode(), int(sys.argv[3]), int(sys.argv[4])
print("ready", flush=True)
sys.stdin.readline()
slowest = 0.0
def count(number):
    global slowest
    for round_ in range(rounds):
        while True:
            held = store.get("p", b"counter")
            start = time.monotonic()
            won = store.apply(
                [
                    Write("p", b"counter", b"%d" % (int(held or 0) + 1)),
                    Write("p", b"%s-%d-%d" % (name, number, round_), b""),
                ],
                [Expect("p", b"counter", held)],
            )
            slowest = max(slowest, time.monotonic() - start)
            if won:
                break
workers = [threading.Thread(target=count, args=(number,)) for number in range(threads)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
store.close()
print(slowest)
"""
)


@pytest.mark.sample(1)
@pytest.mark.parametrize(("processes", "threads", "rounds"), [(2, 1, 150), (4, 4, 15)])
def test_concurrent_processes_lose_no_update_and_fail_no_commit(place, processes, threads, rounds):
    open_store(place).close()
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", COUNT, place, str(racer), str(threads), str(rounds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for racer in range(processes)
    ]
    for racer in racers:
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        racer.stdin.write("\n")
        racer.stdin.flush()
    slowest = [float(racer.communicate()[0]) for racer in racers]
    assert [racer.returncode for racer in racers] == [0] * processes
    store = open_store(place)
    total = processes * threads * rounds
    assert store.get("p", b"counter") == b"%d" % total
    assert sum(1 for _ in store.scan("p")) == total + 1
    assert max(slowest) < 15, "no process starves"
    store.close()


PRESS = """
import sys, time
from anabranch.keyvalue.contract import Write
from anabranch.keyvalue.sqlite.store import SQLiteStore
store = SQLiteStore(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
end = time.monotonic() + 1
done = 0
while time.monotonic() < end:
    store.apply([Write("p", sys.argv[2].encode(), b"%d" % done)])
    done += 1
print(done)
"""


@pytest.mark.slow
@repeated_after_stalls(0.3)
def test_continuously_writing_processes_alternate(database):
    pressing = [
        subprocess.Popen(
            [sys.executable, "-c", PRESS, database, str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(3)
    ]
    for process in pressing:
        assert process.stdout.readline() == "ready\n"
    for process in pressing:
        process.stdin.write("\n")
        process.stdin.flush()
    done = [int(process.communicate()[0]) for process in pressing]
    # SQLite by itself lets one starve, a hundredth of another and less
    assert min(done) > max(done) / 10, f"each has its share: {done}"


WRITE = (
    OPEN
    + """
import os, sys, threading
from anabranch.keyvalue.contract import Write
store = open_store(sys.argv[1])
def write(number):
    for round_ in range(10**9):
        name = f"{sys.argv[2]}-{number}-{round_}"
        store.apply([
            Write("p", b"a/" + name.encode(), name.encode() * 50),
            Write("p", b"b/" + name.encode(), b""),
        ])
        os.write(1, f"{name}\\n".encode())
for number in range(4):
    threading.Thread(target=write, args=(number,)).start()
"""
)


def test_acknowledged_writes_survive_kill(place, tmp_path):
    acknowledged: list[str] = []
    postgres = place.startswith("postgres:")
    for life in range(3 if postgres else sized(3, weekly=6)):
        said = tmp_path / f"said-{life}"
        with said.open("wb") as output:
            writers = [
                subprocess.Popen(
                    [sys.executable, "-c", WRITE, place, f"{life}.{number}"], stdout=output
                )
                for number in range(2)
            ]
            deadline = time.monotonic() + 60
            while said.stat().st_size < 1_500 * (life + 1) and time.monotonic() < deadline:
                time.sleep(0.01)
            for writer in writers:
                writer.send_signal(signal.SIGKILL)
            for writer in writers:
                writer.wait()
        # a line cut short was not read by anybody
        acknowledged += said.read_text().rpartition("\n")[0].splitlines()
        if postgres:
            await_the_end_of_others(place)
        store = open_store(place)
        names = [key[2:].decode() for key, _ in store.scan("p", b"a/", b"a0")]
        assert set(acknowledged) <= set(names)
        assert names == [key[2:].decode() for key, _ in store.scan("p", b"b/", b"b0")], "whole"
        assert all(store.get("p", b"a/" + name.encode()) == name.encode() * 50 for name in names)
        assert store.apply([Write("q", b"still", b"writes")])
        store.close()
        if not postgres:
            check_sqlite(Path(place))
    assert len(acknowledged) > 150


def check_sqlite(path):
    check = apsw.Connection(str(path))
    assert check.execute("PRAGMA integrity_check").get == "ok"
    check.close()
    assert sorted(each.name for each in path.parent.glob("metadata.db*")) == [
        "metadata.db",
        "metadata.db-changes",
        "metadata.db-queue",
        "metadata.db-turn",
    ]


def test_stopped_writer_is_reported_after_timeout(database):
    """A process that holds the lock and hangs makes others Busy, and causes no errors."""
    program = """
import sys, time
from anabranch.keyvalue.sqlite.store import SQLiteStore
from anabranch.keyvalue.sqlite.writer import Work
store = SQLiteStore(sys.argv[1])
def hold(cursor):
    cursor.execute("INSERT INTO kv VALUES ('p', x'00', x'00')")
    print("held", flush=True)
    time.sleep(60)
store._writes.submit(Work(hold))
"""
    with subprocess.Popen(
        [sys.executable, "-c", program, database], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline() == "held\n"
        store = SQLiteStore(database, timeout_seconds=0.3)
        with pytest.raises(Busy, match="locked") as busy:
            store.apply([Write("p", b"k", b"v")])
        assert busy.value.kind == "locked"
        assert store.get("p", b"k") is None, "readers are not held up"
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        assert store.apply([Write("p", b"k", b"v")])
        assert store.get("p", b"\0") is None
        store.close()


FULL = """
import resource, sys
from anabranch.errors import Busy
from anabranch.keyvalue.contract import Write
from anabranch.keyvalue.sqlite.store import SQLiteStore
store = SQLiteStore(sys.argv[1])
assert store.apply([Write("p", b"before", b"v")])
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
try:
    store.apply([Write("p", b"%d" % number, b"v" * 5_000) for number in range(200)])
except Busy as error:
    print(error.kind)
print(store.get("p", b"before"), store.get("p", b"0"), len(list(store.scan("p"))))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(store.apply([Write("p", b"after", b"v")]), len(list(store.scan("p"))))
store.close()
"""


def test_file_size_limit_raises_busy_and_writes_nothing(database):
    done = subprocess.run(
        [sys.executable, "-c", FULL, database], check=True, capture_output=True, text=True
    )
    assert done.stdout.splitlines() == ["disk_full", "b'v' None 1", "True 2"]
    store = SQLiteStore(database)
    assert [key for key, _ in store.scan("p")] == [b"after", b"before"]
    store.close()


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 1 MiB; without the permission to mount one, the test is skipped."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.xfail("no right to mount a small disk")
    yield disk
    subprocess.run(["umount", disk], check=True)


def test_full_disk_raises_busy_until_space_is_freed(small_disk):
    ballast = Path(small_disk / "ballast")
    ballast.write_bytes(b"x" * 500_000)
    store = SQLiteStore(small_disk / "db")
    written = []

    def fill() -> None:
        for number in range(1_000):
            store.apply([Write("p", b"%03d" % number, os.urandom(3_000))])
            written.append(b"%03d" % number)

    with pytest.raises(Busy, match="disk is full") as full:
        fill()
    assert full.value.kind == "disk_full"
    assert len(written) > 10
    assert [key for key, _ in store.scan("p")] == written
    ballast.unlink()
    assert store.apply([Write("p", b"after", os.urandom(3_000))])
    assert [key for key, _ in store.scan("p")] == [*written, b"after"]
    store.close()
