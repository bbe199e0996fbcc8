"""Group commit: items that arrive during a commit share the next one, each with its outcome."""

from __future__ import annotations

import itertools
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from anabranch.batching.group_commit import GroupCommit
from anabranch.batching.request import Request
from anabranch.batching.scheduler import BatchScheduler
from anabranch.errors import Busy, OutcomeUnknown
from anabranch.keyvalue.sqlite.writer_lock import WriterLock

TIMEOUT = 60


class Log:
    """What is committed: groups of items; outcomes are the items' tenfold. A commit waits while the
    log is blocked.
    """

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.failing: BaseException | None = None
        self.begun = threading.Event()
        self.go = threading.Event()
        self.go.set()
        self.committing = threading.Lock()

    def commit(self, items):
        assert self.committing.acquire(blocking=False), "two commits at once"
        self.begun.set()
        assert self.go.wait(TIMEOUT)
        self.groups.append(list(items))
        self.committing.release()
        if self.failing is not None:
            raise self.failing
        return [item * 10 for item in items]


class Checkpointing:
    """Asks for a checkpoint after every commit; notes whether a commit ran during one."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.checkpoints_at = [0]
        self.threads: set[str] = set()

    def needs_checkpoint(self):
        return len(self.log.groups) > self.checkpoints_at[-1]

    def checkpoint(self):
        assert self.log.committing.acquire(blocking=False), "a commit runs"
        self.threads.add(threading.current_thread().name)
        self.checkpoints_at.append(len(self.log.groups))
        self.log.committing.release()


@pytest.fixture
def log():
    return Log()


@pytest.fixture
def commits(log):
    commits = GroupCommit(log.commit, name="writer")
    yield commits
    log.go.set()
    assert commits.close()


@pytest.fixture
def threads():
    with ThreadPoolExecutor(32) as pool:
        yield pool


@pytest.fixture
def lock(tmp_path):
    """The lock of a database, and another process's."""
    locks = WriterLock(str(tmp_path / "log")), WriterLock(str(tmp_path / "log"))
    yield locks
    for each in locks:
        each.close()


@pytest.fixture
def block(log, commits, threads, eventually):
    """Returns a function that blocks the log with item 0 and submits groups, which then wait;
    returns what becomes of each.
    """

    def block(*groups):
        log.begun.clear()
        log.go.clear()
        submitted = [threads.submit(commits.submit_all, [0])]
        assert log.begun.wait(TIMEOUT)
        for number, group in enumerate(groups, 1):
            submitted.append(threads.submit(commits.submit_all, group))
            eventually(lambda number=number: len(commits._waiting) == number)
        return submitted

    return block


def test_item_of_single_thread_is_committed_by_it(log, commits):
    assert [commits.submit(number) for number in range(3)] == [0, 10, 20]
    assert log.groups == [[0], [1], [2]]
    assert commits._writer is None


def test_items_of_one_thread_share_a_commit(log, commits):
    assert commits.submit_all([1, 2, 3]) == [10, 20, 30]
    assert log.groups == [[1, 2, 3]]


def test_items_that_arrive_during_a_commit_share_the_next(log, commits, block):
    submitted = block([1], [2, 3], [4])
    log.go.set()
    assert [each.result(TIMEOUT) for each in submitted] == [[0], [10], [20, 30], [40]]
    assert log.groups == [[0], [1, 2, 3, 4]]
    assert commits._writer is None, "waiting threads lead, so no other is woken"


def test_calls_of_a_scheduler_share_a_commit(log, commits):
    scheduler, outcomes = BatchScheduler(), []
    for number in range(5):
        scheduler.start(commits.submit, (number,), lambda outcome, _: outcomes.append(outcome))
    assert log.groups == []
    list(scheduler.steps())
    scheduler.close()
    assert outcomes == [0, 10, 20, 30, 40]
    assert log.groups == [[0, 1, 2, 3, 4]]


def test_every_item_gets_its_own_outcome_under_load(log, commits, threads):
    def submit(thread):
        return [commits.submit(thread * 1_000 + number) for number in range(200)]

    outcomes = list(threads.map(submit, range(16)))
    assert outcomes == [[(t * 1_000 + n) * 10 for n in range(200)] for t in range(16)]
    assert sorted(item for group in log.groups for item in group) == sorted(
        t * 1_000 + n for t in range(16) for n in range(200)
    )


def test_items_of_one_thread_keep_their_order(log, commits, threads):
    list(threads.map(lambda t: [commits.submit_all([t, t + 100]) for _ in range(50)], range(8)))
    items = [item for group in log.groups for item in group]
    assert [(first, second - 100) for first, second in zip(items[::2], items[1::2], strict=True)]
    assert all(second == first + 100 for first, second in zip(items[::2], items[1::2], strict=True))


def test_note_is_committed_before_the_next_item_without_a_commit_of_its_own(log, commits, block):
    commits.note(1)
    assert log.groups == []
    assert commits.submit_all([2, 3]) == [20, 30]
    assert log.groups == [[1, 2, 3]]
    submitted = block([4], [5])
    commits.note(6)
    log.go.set()
    assert [each.result(TIMEOUT) for each in submitted] == [[0], [40], [50]]
    assert log.groups[1:] == [[0], [6, 4, 5]]


class Interrupted(BaseException):
    pass


@pytest.mark.parametrize("error", [ValueError("of the commit"), Interrupted()])
def test_exception_of_a_commit_reaches_all_of_its_group_and_no_other(log, commits, block, error):
    submitted = block([1], [2])
    log.failing = error
    log.go.set()
    raised = [each.exception(TIMEOUT) for each in submitted]
    assert raised[0] is error, "its own"
    assert raised[1] is error, "the leader of the second group"
    assert type(raised[2]) is OutcomeUnknown, "it may have been made before it was raised"
    assert raised[2].__cause__ is error
    log.failing = None
    assert commits.submit(3) == 30


def test_interrupted_waiting_thread_leaves_its_items_out(log, commits, threads, eventually):
    """A signal interrupts the main thread while it waits, first or behind another thread."""
    log.go.clear()
    blocking = threads.submit(commits.submit, 0)
    assert log.begun.wait(TIMEOUT)
    main = threading.get_ident()

    def raise_interrupt(*_):
        raise Interrupted

    def interrupt():
        eventually(lambda: commits._waiting)
        signal.pthread_kill(main, signal.SIGUSR1)

    previous = signal.signal(signal.SIGUSR1, raise_interrupt)
    try:
        threads.submit(interrupt)
        with pytest.raises(Interrupted):
            commits.submit(1)
    finally:
        signal.signal(signal.SIGUSR1, previous)
    behind = threads.submit(commits.submit, 2)
    log.go.set()
    assert (blocking.result(TIMEOUT), behind.result(TIMEOUT)) == (0, 20)
    assert log.groups == [[0], [2]]


def test_close_finishes_items_in_flight_and_refuses_others(
    log, commits, block, threads, eventually
):
    submitted = block([1], [2])
    closing = threads.submit(commits.close)
    eventually(lambda: commits._closed)
    with pytest.raises(Busy) as refused:
        commits.submit(3)
    assert refused.value.kind == "closed"
    assert not closing.done()
    log.go.set()
    assert closing.result(TIMEOUT)
    assert [each.result(TIMEOUT) for each in submitted] == [[0], [10], [20]]
    assert commits.close()


def test_items_wait_for_the_lock_of_another_process(log, lock, threads, eventually):
    own, other = lock
    commits = GroupCommit(log.commit, name="writer", lock=own, timeout_seconds=TIMEOUT)
    other.acquire()
    submitted = [threads.submit(commits.submit, number) for number in range(4)]
    eventually(lambda: len(commits._waiting) == 4)
    assert log.groups == []
    other.release()
    assert [each.result(TIMEOUT) for each in submitted] == [0, 10, 20, 30]
    assert len(log.groups) == 1
    assert other.try_acquire(), "it was released"
    other.release()
    assert commits.close()


def test_items_time_out_while_another_process_holds_the_lock(log, lock, threads):
    own, other = lock
    commits = GroupCommit(log.commit, name="writer", lock=own, timeout_seconds=0.1)
    other.acquire()
    submitted = [threads.submit(commits.submit_all, [n, n]) for n in range(3)]
    errors = [each.exception(TIMEOUT) for each in submitted]
    assert [(type(error), error.kind) for error in errors] == [(Busy, "locked")] * 3
    other.release()
    assert commits.close()
    assert log.groups == []


def test_a_thread_that_is_interrupted_as_it_is_woken_waits_no_more(
    log, commits, threads, eventually, monkeypatch
):
    wait, interrupted = Request.wait, []

    def interrupted_wait(request, seconds=-1):
        woken = wait(request, seconds)
        if list(request.items) == [1] and not interrupted:
            interrupted.append(request)
            raise Interrupted
        return woken

    monkeypatch.setattr(Request, "wait", interrupted_wait)
    log.go.clear()
    first = threads.submit(commits.submit, 0)
    eventually(lambda: commits._has_leader)
    leader = threads.submit(commits.submit, 2)
    eventually(lambda: len(commits._waiting) == 1)
    waiting = threads.submit(commits.submit, 1)
    eventually(lambda: len(commits._waiting) == 2)
    log.go.set()
    assert isinstance(waiting.exception(TIMEOUT), Interrupted)
    assert (first.result(TIMEOUT), leader.result(TIMEOUT)) == (0, 20)
    assert commits.submit(3) == 30


def test_lock_is_free_while_nothing_is_committed(log, lock):
    own, other = lock
    commits = GroupCommit(log.commit, name="writer", lock=own, timeout_seconds=TIMEOUT)
    for number in range(3):
        assert commits.submit(number) == number * 10
        assert other.try_acquire()
        other.release()
    log.failing = Interrupted()
    with pytest.raises(Interrupted):
        commits.submit(1)
    assert other.try_acquire()
    assert commits.close()


class BrokenLock:
    """A lock that cannot be taken while it is broken."""

    broken = True

    def try_acquire(self):
        return self.acquire() is None

    def acquire(self):
        if self.broken:
            raise OSError("no locks available")

    def release(self):
        pass


def test_error_of_the_lock_is_raised_and_blocks_no_other_item(log, threads):
    lock = BrokenLock()
    commits = GroupCommit(log.commit, name="writer", lock=lock, timeout_seconds=TIMEOUT)
    submitted = [threads.submit(commits.submit, number) for number in range(16)]
    assert {type(each.exception(TIMEOUT)) for each in submitted} == {OSError}
    lock.broken = False
    assert commits.submit(1) == 10
    assert commits.close()


def test_two_processes_take_turns(lock, threads):
    """Two group commits with locks of their own never commit at once, and both progress."""
    log = Log()
    both = [
        GroupCommit(log.commit, name=f"writer-{n}", lock=each, timeout_seconds=TIMEOUT)
        for n, each in enumerate(lock)
    ]

    def submit(thread):
        return [both[thread % 2].submit(thread * 1_000 + number) for number in range(100)]

    outcomes = list(threads.map(submit, range(8)))
    assert outcomes == [[(t * 1_000 + n) * 10 for n in range(100)] for t in range(8)]
    assert all(commits.close() for commits in both)


def test_checkpoint_runs_after_commits_on_the_writer_thread(log, threads, eventually):
    checkpointing = Checkpointing(log)
    commits = GroupCommit(log.commit, name="writer", checkpoints=checkpointing)
    list(threads.map(commits.submit, range(200)))
    eventually(lambda: checkpointing.checkpoints_at[-1] == len(log.groups))
    assert checkpointing.threads == {"writer"}
    assert commits.close()


def test_checkpoints_are_made_while_another_process_never_stops_committing(log, lock, threads):
    """The writer thread leads all the time then, and still comes to its checkpoints."""
    own, other = lock
    checkpointing = Checkpointing(log)
    commits = GroupCommit(
        log.commit, name="writer", lock=own, checkpoints=checkpointing, timeout_seconds=TIMEOUT
    )
    stop = threading.Event()

    def press():
        while not stop.is_set():
            other.acquire()
            other.release()

    def submit(thread):
        while len(checkpointing.checkpoints_at) < 20:
            assert commits.submit(thread) == thread * 10

    pressing = threads.submit(press)
    list(threads.map(submit, range(4)))
    stop.set()
    pressing.result(TIMEOUT)
    gaps = [b - a for a, b in itertools.pairwise(checkpointing.checkpoints_at)]
    assert max(gaps) <= 2, "one is due after every commit"
    assert commits.close()


def test_idle_writer_thread_ends_and_is_started_again(log, eventually):
    checkpointing = Checkpointing(log)
    commits = GroupCommit(log.commit, name="writer", checkpoints=checkpointing, idle_seconds=0.02)
    for number in range(1, 4):
        assert commits.submit(number) == number * 10
        eventually(lambda number=number: checkpointing.checkpoints_at[-1] == number)
        eventually(lambda: commits._writer is None)
    assert commits.close()
