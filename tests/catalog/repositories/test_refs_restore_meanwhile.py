"""Restores of references during sweeps, other requests, failures and stops of servers."""

from __future__ import annotations

import itertools
import threading

import msgspec
import pytest
from support.recorded.recorded_installation import DUMP, MANIFEST, stored_refs, unpack

from anabranch.errors import AnabranchError, Busy, Conflict, Gone, Invalid, NotFound
from anabranch.keyvalue.memory import MemoryStore
from anabranch.testing.lake import lake_in
from anabranch.testing.stores import FaultyStore
from anabranch.versioning.records.task_formats import RESTORE_TASKS
from anabranch.versioning.records.tasks import INTERRUPTED_SECONDS


def nothing(_operation, _partition):
    """What happens ahead of most steps."""


class Steps:
    """Actions of a test before operations of the key-value store."""

    def __init__(self):
        self.before = nothing

    def __call__(self, operation, partition):
        self.before(operation, partition)


@pytest.fixture
def steps():
    return Steps()


@pytest.fixture
def lake(tmp_path, clock, steps):
    """A lake with a bare repository over the recorded installation's storage namespace."""
    unpack(tmp_path / "blocks", objects=False)
    with lake_in(tmp_path, clock, FaultyStore(MemoryStore(), steps)) as lake:
        lake.repositories.create("sea", "local://sea", bare=True)
        yield lake


def test_restore_during_a_sweep_is_refused(lake, steps):
    lake.core.sweeps.begin("sweep")
    with pytest.raises(Conflict) as caught:
        lake.refs_dumps.restore("sea", DUMP)
    assert caught.value.kind == "sweep_under_way"
    lake.core.sweeps.end("sweep")
    assert stored_refs(lake, "sea") == []

    def sweep(operation, partition):
        """A whole sweep, just before the references are added."""
        if operation == "apply" and partition.startswith("sea"):
            steps.before = nothing
            lake.core.sweeps.begin("another")
            lake.core.sweeps.end("another")

    steps.before = sweep
    with pytest.raises(Conflict) as caught:
        lake.refs_dumps.restore("sea", DUMP)
    assert caught.value.kind == "swept_meanwhile"
    assert stored_refs(lake, "sea") == []
    lake.refs_dumps.restore("sea", DUMP)


class At:
    """Acts ahead of a step, counted from 0, and lets every other step be."""

    def __init__(self, number, act):
        self.left = number
        self.act = act
        self.acting = False

    def __call__(self, _operation, _partition):
        if self.acting:
            return
        self.left -= 1
        if self.left == -1:
            self.acting = True
            try:
                self.act()
            finally:
                self.acting = False


def ahead_of_each_step(lake, steps, act):
    """Restores, and acts ahead of one step, for each step; yields the error, or None."""
    for number in itertools.count():
        steps.before = at = At(number, act)
        error = None
        try:
            lake.refs_dumps.restore("sea", DUMP)
        except AnabranchError as failure:
            error = failure
        steps.before = nothing
        if at.left >= 0:
            assert number > 5
            return
        yield error
        lake.repositories.delete("sea")
        lake.repositories.create("sea", "local://sea", bare=True)


def test_of_two_restores_one_succeeds_and_nothing_is_mixed(lake, steps):
    other = msgspec.structs.replace(DUMP, tags="")
    for error in ahead_of_each_step(lake, steps, lambda: lake.refs_dumps.restore("sea", other)):
        assert isinstance(error, Invalid)
        assert error.kind == "repository_not_bare"
        assert lake.tags.list("sea", amount=100).items == []


def test_a_failure_at_any_step_changes_nothing(lake, steps):
    def fail():
        raise Busy("the store is busy")

    for error in ahead_of_each_step(lake, steps, fail):
        assert isinstance(error, Busy)
        assert stored_refs(lake, "sea") == []
        lake.refs_dumps.restore("sea", DUMP)
        check = lake.branches.list("sea", amount=100, show_hidden=True).items
        assert len(check) == 6


def test_a_branch_that_is_created_meanwhile_is_kept(lake, steps):
    commit = next(iter(MANIFEST["commits"].values()))

    def create():
        lake.core.branches.create(lake.core.repositories.get("sea"), "main", commit["id"])

    for error in ahead_of_each_step(lake, steps, create):
        assert isinstance(error, Invalid)
        assert error.kind == "repository_not_bare"
        assert lake.branches.get("sea", "main").commit_id == commit["id"]


def test_a_repository_that_is_deleted_meanwhile_stays_deleted(lake, steps):
    for error in ahead_of_each_step(lake, steps, lambda: lake.repositories.delete("sea")):
        assert isinstance(error, Gone | NotFound)
        assert list(lake.repositories.list(amount=10).items) == []
        lake.repositories.create("sea", "local://sea", bare=True)


def wait(status, task_id):
    """Returns the status of a task when it is done."""
    done = threading.Event()
    for _ in range(3000):
        state = status("sea", task_id)
        if state.done:
            return state
        done.wait(0.01)
    raise AssertionError(task_id)


def test_tasks_dump_and_restore(lake):
    task_id = lake.refs_dumps.start_restore("sea", DUMP)
    assert task_id.startswith("RR")
    state = wait(lake.refs_dumps.restore_status, task_id)
    assert (state.error, state.result) == ("", None)
    assert state.progress >= 31 + 6 + 3
    assert lake.branches.get("sea", "main")
    dump_id = lake.refs_dumps.start_dump("sea")
    assert dump_id.startswith("DR")
    dumped = wait(lake.refs_dumps.dump_status, dump_id)
    assert dumped.result == lake.refs_dumps.dump("sea")
    for status, other in [
        (lake.refs_dumps.dump_status, task_id),
        (lake.refs_dumps.restore_status, dump_id),
        (lake.refs_dumps.dump_status, "DR" + "x" * 20),
        (lake.refs_dumps.dump_status, "é"),
    ]:
        with pytest.raises(NotFound):
            status("sea", other)
    lake.repositories.create("other", "local://other")
    with pytest.raises(NotFound):
        lake.refs_dumps.dump_status("other", dump_id)


def test_failed_tasks_have_the_reason(lake):
    bad = msgspec.structs.replace(DUMP, tags="0" * 64)
    state = wait(lake.refs_dumps.restore_status, lake.refs_dumps.start_restore("sea", bad))
    assert "is not in the repository's storage namespace" in state.error
    assert stored_refs(lake, "sea") == []
    state = wait(lake.refs_dumps.restore_status, lake.refs_dumps.start_restore("sea", DUMP))
    assert state.error == ""


def test_the_step_that_restores_completes_the_task(lake, steps):
    """So that no status says that a restore has failed whose references are there: here the
    database is lost right after that step.
    """
    stored, store = lake.core.repositories.get("sea"), lake.keyvalue.store
    lost = threading.Event()

    def before(_operation, _partition):
        if store.get(stored.partition, b"branches/main") is not None:
            lost.set()
            raise Busy("the database is gone")

    steps.before = before
    task_id = lake.refs_dumps.start_restore("sea", DUMP)
    assert lost.wait(60)
    raw = store.get(stored.partition, f"tasks/{task_id}".encode())
    task = RESTORE_TASKS.decode(raw)
    assert (task.done, task.error) == (True, "")


def test_stopped_server_marks_its_tasks_as_interrupted(lake, steps, clock):
    reached, go_on = threading.Event(), threading.Event()

    def before(_operation, _partition):
        if threading.current_thread().name.startswith("anabranch-restore"):
            reached.set()
            assert go_on.wait(60)

    steps.before = before
    running = lake.refs_dumps.start_restore("sea", DUMP)
    assert reached.wait(60)
    clock.advance(INTERRUPTED_SECONDS + 1)
    assert lake.refs_dumps.restore_status("sea", running).done
    lake.refs_dumps.send_heartbeats()
    assert not lake.refs_dumps.restore_status("sea", running).done
    closing = threading.Thread(target=lake.refs_dumps.close)
    closing.start()
    go_on.set()
    closing.join(60)
    state = lake.refs_dumps.restore_status("sea", running)
    assert (state.done, state.status_code) == (True, 500)
    assert "the server stopped before the task was done" in state.error
    assert stored_refs(lake, "sea") == []
