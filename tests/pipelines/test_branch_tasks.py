"""States of asynchronous commits: their lifetime, deleted repositories, and the task limit."""

from __future__ import annotations

import threading

import pytest
from support.changes import Background

from anabranch.errors import Busy, NotFound
from anabranch.pipelines.branch_tasks.branch_tasks import CLEANUP_INTERVAL
from anabranch.testing.lake import Clock, lake_in

DAY = 24 * 3600


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def lake(tmp_path, clock):
    with lake_in(tmp_path, clock) as lake:
        lake.repositories.create("sea", "local://sea")
        yield lake


def start(lake, message, ended=None):
    """Starts a commit without changes and returns the task's id; sets `ended` when it has ended."""

    def commit(completion):
        try:
            lake.commits.commit(
                *("sea", "main"),
                message=message,
                committer="c",
                allow_empty=True,
                extra_writes=completion,
            )
        finally:
            if ended is not None:
                ended.set()

    return lake.branch_tasks.commits.start("sea", "main", Background(commit))


def run(lake, message):
    ended = threading.Event()
    task_id = start(lake, message, ended)
    assert ended.wait(30)
    assert lake.branch_tasks.commits.status("sea", "main", task_id).completed
    return task_id


def stored(lake):
    repository = lake.repositories.get("sea")
    return {record.status.id for record in lake.core.commit_tasks.all(repository)}


def test_state_is_kept_for_a_day_and_removed_later(lake, clock):
    first = run(lake, "first")
    clock.advance(DAY - 1)
    assert lake.branch_tasks.commits.status("sea", "main", first).completed
    clock.advance(2)
    with pytest.raises(NotFound):
        lake.branch_tasks.commits.status("sea", "main", first)
    second = run(lake, "second")
    assert stored(lake) == {second}


def test_expired_states_are_removed_once_per_interval(lake, clock):
    first = run(lake, "first")
    clock.advance(DAY - CLEANUP_INTERVAL / 2)
    second = run(lake, "second")
    clock.advance(CLEANUP_INTERVAL - 1)
    third = run(lake, "third")
    assert stored(lake) == {first, second, third}
    clock.advance(1)
    fourth = run(lake, "fourth")
    assert stored(lake) == {second, third, fourth}


def test_task_of_a_deleted_repository_does_not_commit(lake):
    deleted = threading.Event()
    steps = []

    def commit(completion):
        assert deleted.wait(30)
        steps.append(completion)
        lake.commits.commit(
            "sea", "main", message="m", committer="c", allow_empty=True, extra_writes=completion
        )
        steps.append("committed")

    task_id = lake.branch_tasks.commits.start("sea", "main", Background(commit))
    lake.repositories.delete("sea")
    lake.repositories.create("sea", "local://sea-again")
    deleted.set()
    lake.branch_tasks.close()
    assert "committed" not in steps
    with pytest.raises(NotFound):
        lake.branch_tasks.commits.status("sea", "main", task_id)
    assert len(lake.commits.log("sea", "main", amount=10).items) == 1


def test_too_many_tasks_raise_busy(lake):
    release = threading.Event()
    tasks = [
        lake.branch_tasks.commits.start("sea", "main", Background(lambda _: release.wait(30)))
        for _ in range(64)
    ]
    with pytest.raises(Busy) as caught:
        start(lake, "one too many")
    assert caught.value.kind == "too_many_commits"
    release.set()
    assert len(set(tasks)) == 64
