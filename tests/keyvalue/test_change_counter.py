"""The counter of changes: one for all processes, whatever happens to them or to its file."""

from __future__ import annotations

import multiprocessing
import os
import signal
from pathlib import Path

import apsw
import pytest

from anabranch.errors import Busy
from anabranch.keyvalue.change_counter import ChangeCounter
from anabranch.keyvalue.contract import Write
from anabranch.keyvalue.sqlite import SQLiteStore
from anabranch.testing.acknowledging import Acknowledged, die_between, read, write

spawn = multiprocessing.get_context("spawn")


def number(counter):
    return counter.shared.number[0]


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "db")


def test_all_who_open_it_see_one_number(path):
    one, two = ChangeCounter(path), ChangeCounter(path)
    one.begin()
    assert number(one) == number(two) == 1
    one.end()
    two.begin()
    two.end()
    assert number(one) == number(two) == 4
    assert number(ChangeCounter(path)) == 4


def test_opening_it_again_changes_nothing(path):
    counter = ChangeCounter(path)
    os.truncate(path + "-changes", 8)  # as one finds it who opens it while another makes it
    counter.shared.number[0] = 2**63
    ChangeCounter(path)
    assert number(counter) == 2**63
    assert Path(path + "-changes").stat().st_size == 16
    assert Path(path + "-changes").stat().st_blocks, "it has its place on the disk"


def test_who_failed_or_died_leaves_it_odd_until_the_next_is_done(path):
    ChangeCounter(path).begin()
    counter = ChangeCounter(path)
    assert number(counter) % 2 == 1
    before = number(counter)
    counter.begin()
    assert number(counter) % 2 == 1
    counter.end()
    assert number(counter) % 2 == 0
    assert number(counter) > before


@pytest.mark.parametrize("replaced", [False, True])
def test_a_commit_is_counted_in_the_file_that_is_there_now(path, replaced):
    writer = ChangeCounter(path)
    writer.begin()
    if replaced:
        Path(path + "-new").write_bytes(bytes(16))
        Path(path + "-new").rename(path + "-changes")
    else:
        Path(path + "-changes").unlink()
    later = ChangeCounter(path)
    assert number(later) == 0
    writer.end()
    assert number(later) == 2
    writer.begin()
    assert number(later) == 3


def test_a_commit_that_fails_keeps_it_odd(database, sqlite):
    counter = ChangeCounter(str(database))
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


def test_a_file_that_cannot_be_made_is_told_of(database):
    Path(f"{database}-changes").mkdir()
    with pytest.raises(Busy, match="cannot open the counter"):
        SQLiteStore(database)


def test_a_writer_killed_after_its_commit_and_before_it_counted_it(database, sqlite):
    sqlite.apply([Write("p", b"k", b"one")])
    assert sqlite.get("p", b"k") == b"one"
    process = spawn.Process(target=die_between, args=(database,))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert sqlite.get("p", b"k") == b"two"
    sqlite.apply([Write("p", b"k", b"three")])
    assert [sqlite.get("p", b"k") for _ in range(2)] == [b"three"] * 2


def test_nobody_is_given_what_is_older_than_what_was_acknowledged_to_anybody(
    database, tmp_path, sqlite
):
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
        goal = [acknowledged[0] + 40, acknowledged[1] + 40]
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
