"""Limits of the runs of hooks, stores that fail, and hooks that write where they must not."""

from __future__ import annotations

import threading
import time

import msgspec
import pytest
from actions.conftest import SETTINGS
from support.eventually import eventually

from anabranch.actions.runs import runner
from anabranch.errors import Busy, PreconditionFailed

COMMIT = {"message": "a commit", "committer": "ann"}


def put(lake, path, content="x", branch="main"):
    lake.objects.upload("sea", branch, path, [content.encode()])


def commit(lake, branch="main"):
    return lake.commits.commit("sea", branch, **COMMIT)


def runs(lake):
    return lake.engine.records.list("sea", amount=100).items


def limited(open_lake, **limits):
    return open_lake(msgspec.structs.replace(SETTINGS, **limits))


def test_hooks_of_an_event_have_a_time_limit(open_lake, lake, webhook, add_action):
    add_action("pre-commit")
    hanging = threading.Event()
    webhook.decide = lambda _: hanging.wait(60)
    put(lake, "a.txt")
    short = limited(open_lake, timeout=0.3)
    begin = time.monotonic()
    with pytest.raises(PreconditionFailed, match="hook 'ask'"):
        commit(short)
    assert time.monotonic() - begin < 30
    hanging.set()
    eventually(lambda: webhook.events)  # it may read its request later than that
    assert not lake.engine.records.get("sea", webhook.events[-1]["run_id"]).passed


class _Stubborn:
    """A hook that looks at no deadline."""

    def __init__(self):
        self.released = threading.Event()

    def run(self, context):
        self.released.wait(60)
        context.output.write("too late")


def test_hook_that_ignores_its_deadline_is_left_behind(lake, add_action, open_lake, monkeypatch):
    add_action("pre-commit")
    put(lake, "a.txt")
    stubborn = _Stubborn()
    monkeypatch.setattr(runner, "make_hook", lambda *_: stubborn)
    monkeypatch.setattr(runner, "_GRACE_SECONDS", 0.1)
    with pytest.raises(PreconditionFailed, match=r"it did not end within 0\.1 seconds"):
        commit(limited(open_lake, timeout=0.1))
    stubborn.released.set()
    failed = next(run for run in runs(lake) if not run.passed)
    output = lake.engine.logs.read("local://sea", failed.id, "0000_0000")
    assert output == b"Error: it did not end within 0.1 seconds\n"


def test_output_of_a_hook_is_limited(open_lake, lake, webhook, add_action):
    add_action("pre-commit")
    put(lake, "a.txt")
    commit(limited(open_lake, output_bytes=10))
    run_id = webhook.events[-1]["run_id"]
    output = lake.engine.logs.read("local://sea", run_id, "0000_0000")
    assert b"the output is longer than 10 bytes" in output


def test_too_many_changes_that_wait_for_hooks_are_refused_and_others_go_on(
    open_lake, lake, webhook, add_action
):
    add_action("pre-commit", branches="[main]")
    lake.branches.create("sea", "free", "main")
    hanging = threading.Event()
    webhook.decide = lambda _: hanging.wait(60)
    one = limited(open_lake, concurrency=1)
    put(one, "a.txt")
    waiting = threading.Thread(target=commit, args=(one,))
    waiting.start()
    eventually(lambda: webhook.events)
    put(one, "b.txt")
    with pytest.raises(Busy) as caught:
        commit(one)
    assert caught.value.kind == "too_many_hooks"
    put(one, "c.txt", branch="free")
    commit(one, "free")  # another branch, without hooks, waits for nothing
    hanging.set()
    waiting.join()


def test_slow_hook_holds_up_its_own_change_alone(lake, webhook, add_action):
    add_action("pre-commit")
    hanging = threading.Event()
    webhook.decide = lambda event: event["commit_message"] != "slow" or hanging.wait(60)
    put(lake, "a.txt")
    failures = []

    def slow():
        try:
            lake.commits.commit("sea", "main", message="slow", committer="ann")
        except Exception as error:  # noqa: BLE001  it is looked at below
            failures.append(error)

    waiting = threading.Thread(target=slow)
    waiting.start()
    eventually(lambda: webhook.events)
    put(lake, "b.txt")
    made = commit(lake)  # on the same branch
    hanging.set()
    waiting.join()
    # what the slow commit would have made is in the other one
    assert [error.kind for error in failures] == ["no_changes"]
    assert lake.branches.get("sea", "main").commit_id == made.id


def test_store_that_fails_while_logs_are_written_decides_nothing(lake, add_action, monkeypatch):
    add_action("pre-commit", "post-commit")
    put(lake, "a.txt")
    store = lake.blocks.put

    def fail_for_logs(address, *arguments, **options):
        if "/_lakefs/actions/" in address:
            raise Busy("the store is full")
        return store(address, *arguments, **options)

    monkeypatch.setattr(lake.blocks, "put", fail_for_logs)
    made = commit(lake)
    eventually(lambda: len([run for run in runs(lake) if run.commit_id == made.id]) == 2)
    run = runs(lake)[0]
    assert run.passed
    from anabranch.errors import NotFound

    with pytest.raises(NotFound, match="not in the object store"):
        lake.actions.output("sea", run.id, "0000_0000")


def test_actions_run_in_parallel_and_hooks_of_one_in_turn(lake, webhook, add_action):
    add_action("pre-commit", name="first")
    add_action("pre-commit", name="second")
    both = threading.Barrier(2, timeout=60)
    webhook.decide = lambda _: both.wait() >= 0
    put(lake, "a.txt")
    commit(lake)
    hooks = lake.engine.records.hooks("sea", runs(lake)[0].id, amount=9).items
    assert [(hook.hook_run_id, hook.action) for hook in hooks] == [
        ("0000_0000", "first"),
        ("0001_0000", "second"),
    ]


def test_disabled_actions_run_no_hook(open_lake, lake, webhook, add_action):
    add_action("pre-commit", "post-commit")
    put(lake, "a.txt")
    commit(limited(open_lake, enabled=False))
    assert webhook.events == []


def test_proposal_that_a_killed_server_left_expires(lake):
    stored = lake.core.repositories.get("sea")
    head = lake.commits.get("sea", "main")
    left = lake.core.commits.make(
        committer="ann",
        message="left",
        metarange_id=head.metarange_id,
        metadata={},
        parents=[head],
    )
    lake.core.proposals.store(stored, left)
    assert lake.commits.get("sea", left.id) == left
    lake.core.proposals.clean()
    assert lake.commits.get("sea", left.id) == left
    lake.core.proposals._clock = lambda: time.time() + 3600
    lake.core.proposals.clean()
    assert lake.core.commits.find(stored, left.id) is None
