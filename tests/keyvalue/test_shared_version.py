"""The change counter: shared by all processes, correct after crashes and removal of its file."""

from __future__ import annotations

import multiprocessing
import os
import signal
from pathlib import Path

import apsw
import pytest
from support.faults.durability_check import Acknowledged, die_between, read, write
from support.session.sizes import sized

from anabranch.errors import Busy
from anabranch.keyvalue.caching.shared_version import SeqlockCounter
from anabranch.keyvalue.contract import Write
from anabranch.keyvalue.sqlite.store import SQLiteStore

spawn = multiprocessing.get_context("spawn")


def number(counter):
    return counter.shared.number[0]


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "db")


def test_counter_is_shared_by_all_that_open_it(path):
    one, two = SeqlockCounter(path), SeqlockCounter(path)
    one.begin()
    assert number(one) == number(two) == 1
    one.end()
    two.begin()
    two.end()
    assert number(one) == number(two) == 4
    assert number(SeqlockCounter(path)) == 4


def test_opening_counter_again_preserves_number(path):
    counter = SeqlockCounter(path)
    os.truncate(path + "-changes", 8)  # as one finds it who opens it while another makes it
    counter.shared.number[0] = 2**63
    SeqlockCounter(path)
    assert number(counter) == 2**63
    assert Path(path + "-changes").stat().st_size == 16
    assert Path(path + "-changes").stat().st_blocks, "it has its place on the disk"


def test_failed_commit_leaves_counter_odd_until_next_commit(path):
    SeqlockCounter(path).begin()
    counter = SeqlockCounter(path)
    assert number(counter) % 2 == 1
    before = number(counter)
    counter.begin()
    assert number(counter) % 2 == 1
    counter.end()
    assert number(counter) % 2 == 0
    assert number(counter) > before


@pytest.mark.parametrize("replaced", [False, True])
def test_commit_is_counted_in_replacement_of_removed_file(path, replaced):
    writer = SeqlockCounter(path)
    writer.begin()
    if replaced:
        Path(path + "-new").write_bytes(bytes(16))
        Path(path + "-new").rename(path + "-changes")
    else:
        Path(path + "-changes").unlink()
    later = SeqlockCounter(path)
    assert number(later) == 0
    writer.end()
    assert number(later) == 2
    writer.begin()
    assert number(later) == 3


def test_rejected_commit_keeps_counter_odd(database, sqlite):
    counter = SeqlockCounter(str(database))
    sqlite.apply([Write("p", b"k", b"one")])
    assert number(counter) % 2 == 0
    connection: apsw.Connection = sqlite._writer._open()
    connection.set_commit_hook(lambda: True)
    with pytest.raises(Exception, match="constraint"):
        sqlite.apply([Write("p", b"k", b"two")])
    assert number(counter) % 2 == 1
    assert sqlite.get("p", b"k") == b"one"
    connection.set_commit_hook(None)
    sqlite.apply([Write("p", b"k", b"three")])
    assert number(counter) % 2 == 0
    assert sqlite.get("p", b"k") == b"three"


def test_counter_that_cannot_be_opened_raises_busy(database):
    Path(f"{database}-changes").mkdir()
    with pytest.raises(Busy, match="cannot open the change counter"):
        SQLiteStore(database)


def test_commit_of_writer_killed_before_counting_it_is_visible(database, sqlite):
    sqlite.apply([Write("p", b"k", b"one")])
    assert sqlite.get("p", b"k") == b"one"
    process = spawn.Process(target=die_between, args=(database,))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert sqlite.get("p", b"k") == b"two"
    sqlite.apply([Write("p", b"k", b"three")])
    assert [sqlite.get("p", b"k") for _ in range(2)] == [b"three"] * 2


@pytest.mark.slow
def test_reads_are_never_older_than_acknowledged_writes(database, tmp_path, sqlite):
    shared = tmp_path / "acknowledged"
    shared.write_bytes(bytes(16))
    acknowledged = Acknowledged(shared)
    stop = spawn.Event()
    readers = [spawn.Process(target=read, args=(database, shared, stop)) for _ in range(2)]
    for reader in readers:
        reader.start()
    for life in range(2):
        writers = [spawn.Process(target=write, args=(database, shared, each)) for each in (0, 1)]
        for writer in writers:
            writer.start()
        more = sized(15, weekly=40)
        goal = [acknowledged[0] + more, acknowledged[1] + more]
        while acknowledged[0] < goal[0] or acknowledged[1] < goal[1]:
            for index in (0, 1):
                least = acknowledged[index]
                assert int(sqlite.get("p", b"%d" % index) or 0) >= least
            assert all(process.is_alive() for process in (*readers, *writers))
            if life % 2 and acknowledged[0] % 7 == 0:
                Path(f"{database}-changes").unlink(missing_ok=True)
        for writer in writers:
            writer.kill()
            writer.join()
    stop.set()
    for reader in readers:
        reader.join()
        assert reader.exitcode == 0
