"""Group commit over SQLite: few transactions for many works, each with its own outcome."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import apsw
import pytest
from support.eventually import eventually

from anabranch.batching.group_commit import GroupCommit
from anabranch.errors import Busy, Invalid
from anabranch.keyvalue.caching.read_cache import ReadCache
from anabranch.keyvalue.caching.shared_version import SeqlockCounter
from anabranch.keyvalue.contract import Expect, Write
from anabranch.keyvalue.sqlite.store import SQLiteStore
from anabranch.keyvalue.sqlite.writer import SQLiteWriter, Work


def cache_of(path: str, store: SQLiteStore) -> ReadCache:
    return ReadCache(SeqlockCounter(path), store.get, store._page)


@pytest.fixture
def writer(database, sqlite):
    return SQLiteWriter(str(database), 5.0, cache_of(str(database), sqlite))


def commits_of(writer: SQLiteWriter, timeout_seconds: float = 60.0) -> GroupCommit:
    """Returns the group commit of a writer, as a store makes it."""
    return GroupCommit(
        writer.commit,
        name="writer",
        lock=writer.lock,
        checkpoints=writer,
        timeout_seconds=timeout_seconds,
    )


@pytest.fixture
def commits(writer):
    commits = commits_of(writer)
    yield commits
    assert commits.close()
    writer.close()


def insert(key: bytes) -> Work:
    """Returns work that writes a key and answers 7."""

    def run(cursor: apsw.Cursor) -> int:
        cursor.execute("INSERT INTO kv VALUES ('p', ?, x'')", (key,))
        return 7

    return Work(run, [Write("p", key, b"")])


class Held:
    """Work that keeps its transaction open until released, so that other requests gather."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.go = threading.Event()

    def __call__(self, _cursor: apsw.Cursor) -> int:
        self.begun.set()
        assert self.go.wait(60)
        return 0


def gather(commits: GroupCommit, works: list) -> list:
    """Submits all works while a transaction runs, so that they make the next one together;
    returns their answers or errors.
    """
    held = Held()

    def submit(work):
        try:
            return commits.submit(work)
        except Exception as error:  # noqa: BLE001  of the whole group
            return error

    with ThreadPoolExecutor(len(works) + 1) as pool:
        pool.submit(submit, Work(held))
        assert held.begun.wait(60)
        answers = [pool.submit(submit, work) for work in works]
        eventually(lambda: len(commits._waiting) == len(works))
        held.go.set()
        return [answer.result() for answer in answers]


def test_works_submitted_together_share_transaction(commits, writer, sqlite):
    assert commits.submit_all([insert(b"%d" % number) for number in range(20)]) == [7] * 20
    assert writer.transactions == 1
    assert len(list(sqlite.scan("p"))) == 20


def test_works_submitted_together_have_separate_errors(commits, sqlite):
    outcomes = commits.submit_all([insert(b"taken"), insert(b"taken"), insert(b"free")])
    assert [outcomes[0], outcomes[2]] == [7, 7]
    assert isinstance(outcomes[1], Invalid)
    assert len(list(sqlite.scan("p"))) == 2


def test_works_submitted_together_join_waiting_group(commits, writer):
    held = Held()
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(commits.submit, Work(held))
        assert held.begun.wait(60)
        second = pool.submit(commits.submit, insert(b"alone"))
        third = pool.submit(commits.submit_all, [insert(b"a"), insert(b"b")])
        eventually(lambda: len(commits._waiting) == 2)
        held.go.set()
        assert (first.result(), second.result()) == (0, 7)
        assert third.result() == [7, 7]
    assert writer.transactions == 2


def test_requests_waiting_together_share_transaction(commits, writer, sqlite):
    assert gather(commits, [insert(b"%d" % number) for number in range(20)]) == [7] * 20
    assert writer.transactions == 2, "the one that was held, and one for all that gathered"
    assert len(list(sqlite.scan("p"))) == 20


def test_single_request_is_committed_at_once(commits, writer):
    for number in range(3):
        commits.submit(insert(b"%d" % number))
    assert writer.transactions == 3
    assert commits._writer is None, "one at a time needs no other thread"


def slow_disk() -> bool:
    """Waits as a commit does for a disk, and admits the commit."""
    time.sleep(0.005)
    return False


def test_concurrent_requests_share_transactions(database):
    store = SQLiteStore(database)
    assert store.apply([Write("q", b"opens the connection", b"")])
    before = store._writer.transactions
    store._writer._connection.set_commit_hook(slow_disk)

    def write(number: int) -> None:
        for round_ in range(20):
            assert store.apply([Write("p", b"%d-%d" % (number, round_), b"")])

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(write, range(16)))
    assert store._writer.transactions - before < 160
    assert len(list(store.scan("p"))) == 320
    store.close()


def test_failed_request_does_not_affect_its_group(commits, sqlite):
    def broken(cursor: apsw.Cursor) -> int:
        cursor.execute("INSERT INTO kv VALUES ('p', x'ff', x'')")
        raise ArithmeticError("of its own")

    twice = insert(b"a")
    answers = gather(commits, [insert(b"b"), Work(broken), twice, insert(b"c"), twice])
    assert [answer for answer in answers if not isinstance(answer, Exception)] == [7, 7, 7]
    assert {type(answer) for answer in answers if isinstance(answer, Exception)} == {
        ArithmeticError,
        Invalid,
    }
    assert isinstance(answers[1], ArithmeticError)
    assert [key for key, _ in sqlite.scan("p")] == [b"a", b"b", b"c"]


def test_expectations_see_earlier_requests_of_group(database):
    """Of many that want to be first, one is, though all are in one transaction."""
    store = SQLiteStore(database)
    held = Held()
    with ThreadPoolExecutor(11) as pool:
        pool.submit(store._writes.submit, Work(held))
        assert held.begun.wait(60)
        first = [
            pool.submit(store.apply, [Write("p", b"k", b"%d" % number)], [Expect("p", b"k", None)])
            for number in range(10)
        ]
        eventually(lambda: len(store._writes._waiting) == 10)
        held.go.set()
    assert sorted(answer.result() for answer in first) == [False] * 9 + [True]
    winner = [number for number, answer in enumerate(first) if answer.result()]
    assert store.get("p", b"k") == b"%d" % winner[0]
    store.close()


class FailingCommit(SQLiteWriter):
    """Transactions whose commit fails as it does on a full disk."""

    failing = True

    def _open(self) -> apsw.Connection:
        connection = super()._open()
        connection.set_commit_hook(self._refuse if self.failing else None)
        return connection

    def _refuse(self) -> bool:
        raise apsw.FullError("database or disk is full")


def test_failed_commit_raises_busy_for_whole_group(database, sqlite):
    writer = FailingCommit(str(database), 5.0, cache_of(str(database), sqlite))
    commits = commits_of(writer)
    answers = gather(commits, [insert(b"%d" % number) for number in range(5)])
    assert {type(answer) for answer in answers} == {Busy}
    assert {answer.kind for answer in answers} == {"disk_full"}
    assert len(set(map(id, answers))) == 5, "an error belongs to one thread"
    assert list(sqlite.scan("p")) == []
    writer.failing = False
    assert commits.submit(insert(b"a")) == 7
    assert [key for key, _ in sqlite.scan("p")] == [b"a"]
    commits.close()
    writer.close()


def test_interrupt_rolls_back_and_releases_write_lock(commits, sqlite):
    def interrupted(cursor: apsw.Cursor) -> int:
        insert(b"a").run(cursor)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        commits.submit(Work(interrupted))
    assert commits.submit(insert(b"b")) == 7
    assert [key for key, _ in sqlite.scan("p")] == [b"b"]


def test_close_finishes_requests_in_flight(commits, sqlite):
    held = Held()
    with ThreadPoolExecutor(8) as pool:
        pool.submit(commits.submit, Work(held))
        assert held.begun.wait(60)
        answers = [pool.submit(commits.submit, insert(b"%d" % number)) for number in range(5)]
        eventually(lambda: len(commits._waiting) == 5)
        closing = pool.submit(commits.close)
        eventually(lambda: commits._closed)
        assert not closing.done()
        held.go.set()
        closing.result()
        assert [answer.result() for answer in answers] == [7] * 5
    with pytest.raises(Busy):
        commits.submit(insert(b"late"))
    assert len(list(sqlite.scan("p"))) == 5
    commits.close()


def test_timed_out_request_raises_busy_and_writes_nothing(writer, sqlite):
    other = SQLiteWriter(writer._path, 5.0, cache_of(writer._path, sqlite))
    impatient = commits_of(writer, 0.2)
    other.lock.acquire()
    with ThreadPoolExecutor(3) as pool:
        answers = [pool.submit(impatient.submit, insert(b"%d" % number)) for number in range(3)]
        errors = [answer.exception(60) for answer in answers]
    assert [type(error) for error in errors] == [Busy] * 3
    assert {error.kind for error in errors} == {"locked"}
    other.lock.release()
    assert impatient.submit(insert(b"again")) == 7
    assert [key for key, _ in sqlite.scan("p")] == [b"again"]
    assert impatient.close()
    writer.close()
    other.close()
