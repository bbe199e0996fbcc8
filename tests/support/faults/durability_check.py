"""Processes that write and read one SQLite database, and what was acknowledged to the writers."""

from __future__ import annotations

import mmap
import os
import signal
import struct
import time
from multiprocessing.synchronize import Event
from pathlib import Path

from anabranch.keyvalue.contract import Write
from anabranch.keyvalue.sqlite.store import SQLiteStore

__all__ = ["PARTITION", "Acknowledged", "die_between", "read", "write"]

PARTITION = "p"
_WRITERS = 2
_READS = 2_000


class Acknowledged:
    """For each writer, the number that was acknowledged to it last: a file of 16 bytes, which
    processes share.
    """

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), _WRITERS * 8)

    def __getitem__(self, index: int) -> int:
        number: int = struct.unpack_from("Q", self._map, index * 8)[0]
        return number

    def __setitem__(self, index: int, value: int) -> None:
        struct.pack_into("Q", self._map, index * 8, value)


def write(database: Path, path: Path, index: int) -> None:
    """Counts upwards, under a key of its own, until killed."""
    acknowledged = Acknowledged(path)
    store = SQLiteStore(database)
    for value in range(acknowledged[index] + 1, 1 << 60):
        store.apply([Write(PARTITION, b"%d" % index, b"%d" % value)])
        acknowledged[index] = value
        if value % 10 == 0:
            time.sleep(0.002)  # readers keep what they read meanwhile


def read(database: Path, path: Path, stop: Event) -> None:
    """Raises AssertionError for what is older than what was acknowledged before it was read."""
    acknowledged = Acknowledged(path)
    while not stop.is_set():
        store = SQLiteStore(database)
        for _ in range(_READS):
            for index in range(_WRITERS):
                least = acknowledged[index]
                value = int(store.get(PARTITION, b"%d" % index) or 0)
                assert value >= least, f"{value} after {least} was acknowledged"
        store.close()


def die_between(database: Path) -> None:
    """Writes, and kills its process after the commit, before that is counted."""
    store = SQLiteStore(database)
    changes = store._cache._changes
    changes.end = lambda: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[method-assign]
    store.apply([Write(PARTITION, b"k", b"two")])
