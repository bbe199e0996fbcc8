"""A SQLite file with damaged bytes or on an unreadable disk raises the matching error."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from contextlib import suppress

import pytest

from anabranch.errors import Busy, Corrupt, NotSupported
from anabranch.keyvalue.contract import Write
from anabranch.keyvalue.sqlite.store import SQLiteStore

HEADER = 8192


@pytest.fixture
def whole(database):
    """The bytes of a database with 200 records, which is closed."""
    store = SQLiteStore(database)
    for number in range(200):
        store.apply([Write(f"part{number % 3}", b"key%05d" % number, os.urandom(200))])
    store.close()
    return database.read_bytes()


def use(database):
    """Reads and writes all kinds of things."""
    store = SQLiteStore(database)
    try:
        store.get("part1", b"key00001")
        store.get_many("part2", [b"key00002", b"key00005"])
        store.apply([Write("x", b"y", b"z")])
        for number in range(3):
            for key, value in store.scan(f"part{number}"):
                assert type(key) is type(value) is bytes
    finally:
        store.close()


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.sample(6)
def test_damaged_bytes_raise_corrupt_or_are_harmless(database, whole, seed):
    chance = random.Random(seed)
    bytes_ = bytearray(whole)
    for _ in range(chance.randrange(1, 30)):
        at = chance.randrange(HEADER if seed % 3 else len(bytes_))
        bytes_[at] = chance.choice([0xFF, 0x80, 0, chance.randrange(256)])
    database.write_bytes(bytes_)
    with suppress(Corrupt, NotSupported):  # nothing else; a version may be what was damaged
        use(database)


def test_undecodable_schema_raises_corrupt(database, whole):
    database.write_bytes(whole.replace(b"CREATE TABLE kv", b"CREATE TABLE \xff\xfe"))
    with pytest.raises(Corrupt, match="is damaged"):
        use(database)


def test_schema_mismatch_raises_corrupt(database, whole):
    database.write_bytes(whole.replace(b"value BLOB NOT NULL", b"vague BLOB NOT NULL"))
    with pytest.raises(Corrupt, match="no such column: value"):
        use(database)


# the system's calls to read a file fail from some moment on, beneath SQLite's own code
UNREADABLE = """
import ctypes, errno, sys
import apsw
from anabranch.errors import Busy
from anabranch.keyvalue.contract import Write
from anabranch.keyvalue.sqlite.store import SQLiteStore

store = SQLiteStore(sys.argv[1])
for number in range(200):
    store.apply([Write("p", b"%05d" % number, bytes(3000))])
store.close()
store = SQLiteStore(sys.argv[1])
assert store.get("p", b"00001") == bytes(3000)

@ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t,
                  ctypes.c_longlong, use_errno=True)
def fail(*_):
    ctypes.set_errno(errno.EIO)
    return -1

vfs = apsw.VFS("unreadable", base="unix")
for name in ("read", "pread", "pread64"):
    vfs.xSetSystemCall(name, ctypes.cast(fail, ctypes.c_void_p).value)
uses = {
    "get": lambda: store.get("p", b"00150"),
    "get_many": lambda: store.get_many("p", [b"00100"]),
    "scan": lambda: list(store.scan("p", b"00120")),
    "apply": lambda: store.apply([Write("p", b"00180", b"")]),
    "open": lambda: SQLiteStore(sys.argv[1]),
}
for name, use in uses.items():
    try:
        use()
    except Busy as error:
        assert error.kind == "storage_failed", (name, error)
        print(name, error)
    else:
        raise AssertionError(name)
"""


def test_unreadable_disk_is_not_reported_as_damage(database):
    ran = subprocess.run(
        [sys.executable, "-c", UNREADABLE, database],
        check=False,
        timeout=60,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    assert "malformed" not in ran.stdout
    assert ran.stdout.count("Input/output error") >= 3


# the system's calls that wait for the disk fail from some moment on, when all of a transaction is
# in the log; SQLite's table of system calls does not have them
FAILING_SYNC = """
#include <errno.h>
#include <unistd.h>
int fails = 0;
static int answer(void) { errno = EIO; return fails ? -1 : 0; }
int fsync(int file) { (void)file; return answer(); }
int fdatasync(int file) { (void)file; return answer(); }
"""
UNCONFIRMED = """
import ctypes, os, sys
from concurrent.futures import ThreadPoolExecutor
from anabranch.errors import OutcomeUnknown
from anabranch.keyvalue.contract import Write
from anabranch.keyvalue.sqlite.store import SQLiteStore

fails = ctypes.c_int.in_dll(ctypes.CDLL(sys.argv[1]), "fails")
store = SQLiteStore(sys.argv[2])
store.apply([Write("p", b"0", b"before")])
fails.value = 1

def is_unknown(number):
    try:
        store.apply([Write("p", b"%d" % number, b"unconfirmed")])
    except OutcomeUnknown:
        return True
    return False

with ThreadPoolExecutor(8) as threads:
    assert all(threads.map(is_unknown, range(1, 9))), "reported as known"
fails.value = 0
if sys.argv[3] == "go on":
    store.apply([Write("p", b"0", b"after")])
os._exit(0)
"""


@pytest.fixture(scope="module")
def failing_sync(tmp_path_factory):
    """A library that a process is started with, so that its disk can fail."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    library = tmp_path_factory.mktemp("sync") / "failing_sync.so"
    command = [compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", library]
    subprocess.run(command, check=True, input=FAILING_SYNC, text=True)
    return library


@pytest.mark.parametrize("then", ["go on", "end"])
def test_write_that_the_disk_does_not_confirm_has_an_unknown_outcome(database, failing_sync, then):
    ran = subprocess.run(
        [sys.executable, "-c", UNCONFIRMED, failing_sync, database, then],
        check=False,
        timeout=200,
        capture_output=True,
        text=True,
        env={**os.environ, "LD_PRELOAD": str(failing_sync)},
    )
    assert ran.returncode == 0, ran.stderr
    store = SQLiteStore(database)
    try:
        if then == "go on":  # what another write has followed does not come back
            assert [*store.scan("p")] == [(b"0", b"after")]
        else:
            assert [*store.scan("p")][1:], "it was in the log, so it may count after a restart"
    finally:
        store.close()


def test_full_disk_is_reported_as_full(database):
    import resource
    import signal

    store = SQLiteStore(database)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))
    try:
        with pytest.raises(Busy) as full:
            store.apply([Write("p", b"k", bytes(200_000))])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
        store.close()
    assert full.value.kind == "disk_full"
