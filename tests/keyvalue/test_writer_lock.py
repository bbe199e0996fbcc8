"""The writer lock: who has it, and who comes next."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.eventually import eventually

from anabranch.keyvalue.sqlite.writer_lock import WriterLock

Locks = tuple[WriterLock, WriterLock]


@pytest.fixture
def locks(tmp_path: Path) -> Iterator[Locks]:
    """Two openings of one lock, as two processes have them."""
    both = WriterLock(str(tmp_path / "data")), WriterLock(str(tmp_path / "data"))
    yield both
    for lock in both:
        lock.close()


def test_one_at_a_time_has_the_lock(locks: Locks) -> None:
    first, second = locks
    assert first.try_acquire()
    assert not second.try_acquire()
    assert not second.try_acquire(), "an attempt in vain leaves nothing taken"
    first.release()
    assert second.try_acquire()
    assert not first.try_acquire()


def test_who_has_just_written_queues_behind_one_that_waits(locks: Locks, tmp_path: Path) -> None:
    first, second = locks
    first.acquire()
    with (tmp_path / "data-queue").open() as queue, ThreadPoolExecutor(1) as pool:

        def is_waited_for() -> bool:
            try:
                fcntl.flock(queue, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            fcntl.flock(queue, fcntl.LOCK_UN)
            return False

        waiting = pool.submit(second.acquire)
        eventually(is_waited_for)
        first.release()
        assert not first.try_acquire()
        waiting.result()
        assert not first.try_acquire()
        second.release()
        assert first.try_acquire()


def test_the_lock_of_one_that_ends_is_free(locks: Locks, tmp_path: Path) -> None:
    ending = WriterLock(str(tmp_path / "data"))
    assert ending.try_acquire()
    assert not locks[0].try_acquire()
    ending.close()
    assert locks[0].try_acquire()
