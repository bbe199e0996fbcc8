"""Hooks after changes: none is lost, whatever happens to the server that runs them."""

from __future__ import annotations

import threading

import msgspec
import pytest
from support.changes import ExtraWritesFrom
from support.eventually import eventually

from anabranch.actions.hooks.contract import HookSettings
from anabranch.actions.queue.queue import Queued
from anabranch.actions.runs.running import LEASE_SECONDS, Running
from anabranch.actions.runs.settings import ActionSettings
from anabranch.catalog.actions.hook_lake import LibraryAuthority
from anabranch.errors import Busy
from anabranch.keyvalue.contract import Write
from anabranch.model.caller import Caller, acting_as

SETTINGS = ActionSettings(hooks=HookSettings(webhook_allow=("127.0.0.1",)))
LEASES, QUEUE = "anabranch-running-actions", "anabranch-post-hooks"


def put(lake, path, branch="main"):
    lake.objects.upload("sea", branch, path, [b"x"])


def commit(lake, branch="main"):
    return lake.commits.commit("sea", branch, message="a commit", committer="ann")


def settled(lake):
    return not list(lake.core.keyvalue.scan(QUEUE))


def runs(lake, **filters):
    return lake.engine.records.list("sea", amount=1000, **filters).items


def expire(lake):
    """Makes all leases end, as if their servers had died a minute ago."""
    for key, raw in list(lake.core.keyvalue.scan(LEASES)):
        running = msgspec.json.decode(raw, type=Running)
        dead = msgspec.structs.replace(running, until=lake.engine.clock() - 1)
        lake.core.keyvalue.apply([Write(LEASES, key, msgspec.json.encode(dead))])


def test_events_queued_without_workers_are_performed_by_the_next_server(
    open_lake, lake, webhook, add_action
):
    add_action("post-commit")
    lake.engine.stop()
    commits = []
    for number in range(5):
        put(lake, f"{number}.txt")
        commits.append(commit(lake).id)
    assert webhook.events == []
    assert len(list(lake.core.keyvalue.scan(QUEUE))) == 5
    open_lake()
    eventually(lambda: settled(lake))
    assert sorted(event["commit_id"] for event in webhook.events) == sorted(commits)
    assert {run.commit_id for run in runs(lake)} >= set(commits)


def test_run_of_a_dead_server_is_marked_and_its_event_is_performed_again(
    open_lake, lake, webhook, add_action
):
    add_action("post-commit")
    hanging = threading.Event()
    webhook.decide = lambda _: hanging.wait(50)
    put(lake, "a.txt")
    made = commit(lake).id
    eventually(lambda: webhook.events)
    first = webhook.events[0]["run_id"]
    lake.engine._workers._stopped = True  # it is as dead as a process can be in a test
    expire(lake)
    webhook.decide = lambda _: True
    open_lake()
    eventually(lambda: len(webhook.events) == 2 and settled(lake))
    hanging.set()
    second = webhook.events[1]["run_id"]
    by_id = {run.id: run for run in runs(lake, commit_id=made)}
    assert (by_id[first].passed, by_id[second].passed) == (False, True)
    assert lake.engine.records.hook("sea", first, "0000_0000").passed is False
    # the late end of the first run changes nothing
    eventually(lambda: not lake.engine._workers._busy)
    output = lake.engine.logs.read("local://sea", first, "0000_0000")
    assert b"the server that ran this hook has stopped" in output
    assert {run.id: run for run in runs(lake, commit_id=made)} == by_id


def test_event_is_performed_although_the_answer_to_its_claim_was_lost(
    lake, keyvalue, webhook, add_action
):
    add_action("post-commit")
    keyvalue.loses_answer = lambda write: write.partition == LEASES and write.value is not None
    put(lake, "a.txt")
    made = commit(lake).id
    eventually(lambda: list(keyvalue.scan(LEASES)) and not lake.engine._workers._busy)
    keyvalue.loses_answer = lambda _: False
    lake.engine.running.renew()  # it keeps only runs alive whose hooks it runs
    expire(lake)
    eventually(lambda: settled(lake))
    assert [event["commit_id"] for event in webhook.events] == [made]
    assert sorted(run.passed for run in runs(lake, commit_id=made)) == [False, True]


def test_run_before_a_change_ends_although_the_answer_to_its_begin_was_lost(
    lake, keyvalue, webhook, add_action
):
    add_action("pre-commit")
    keyvalue.loses_answer = lambda write: write.partition == LEASES
    put(lake, "a.txt")
    with pytest.raises(Busy):
        commit(lake)
    keyvalue.loses_answer = lambda _: False
    assert webhook.events == []
    [(run_id, _)] = keyvalue.scan(LEASES)
    lake.engine.running.renew()
    expire(lake)
    lake.engine.running.interrupt_dead()
    assert lake.engine.records.get("sea", run_id.decode()).passed is False


def test_run_before_a_change_of_a_dead_server_is_marked(open_lake, lake, webhook, add_action):
    add_action("pre-commit")
    hanging = threading.Event()
    webhook.decide = lambda _: hanging.wait(50)
    put(lake, "a.txt")
    committing = threading.Thread(target=commit, args=(lake,))
    committing.start()
    eventually(lambda: webhook.events)
    run_id = webhook.events[0]["run_id"]
    expire(lake)
    open_lake().engine.running.interrupt_dead()
    assert lake.engine.records.get("sea", run_id).passed is False
    hanging.set()
    committing.join()
    # the server was only slow: what its hooks have decided counts
    assert lake.engine.records.get("sea", run_id).passed is True


def test_living_server_keeps_its_leases(open_lake, lake, webhook, add_action):
    add_action("pre-commit")
    seen = []

    def decide(event):
        other = open_lake(start=False)
        expire(lake)
        lake.engine.running.renew()
        other.engine.running.interrupt_dead()
        seen.append(other.engine.running.find(event["run_id"]))
        return True

    webhook.decide = decide
    put(lake, "a.txt")
    commit(lake)
    assert seen[0].until > lake.engine.clock() + LEASE_SECONDS / 2
    assert runs(lake)[0].passed


@pytest.mark.slow
def test_hundred_commits_in_a_row_lose_no_event(open_lake, lake, webhook, add_action):
    add_action("post-commit", branches="[b-*]")
    open_lake()  # two servers share the queue
    for number in range(4):
        lake.branches.create("sea", f"b-{number}", "main")
    commits = []

    def work(number):
        for step in range(25):
            put(lake, f"{step}.txt", f"b-{number}")
            commits.append(commit(lake, f"b-{number}").id)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    eventually(lambda: settled(lake))
    assert len(commits) == 100
    assert sorted(event["commit_id"] for event in webhook.events) == sorted(commits)
    found = runs(lake)
    assert sorted(run.commit_id for run in found if run.branch.startswith("b-")) == sorted(commits)
    assert all(run.passed for run in found)


def test_server_runs_what_waits_behind_events_of_another(open_lake, lake, webhook, add_action):
    add_action("post-commit")
    lake.engine.stop()
    hanging = threading.Event()
    slow, quick = [], []
    webhook.decide = lambda event: event["commit_id"] in quick or hanging.wait(50)
    for number in range(4):
        put(lake, f"{number}.txt")
        (slow if number < 3 else quick).append(commit(lake).id)
    try:
        open_lake(msgspec.structs.replace(SETTINGS, concurrency=3))
        eventually(lambda: len(webhook.events) == 3)
        open_lake(msgspec.structs.replace(SETTINGS, concurrency=1))
        eventually(lambda: len(webhook.events) == 4)
        assert len(list(lake.core.keyvalue.scan(QUEUE))) >= 3, "the others have ended"
    finally:
        hanging.set()
    eventually(lambda: settled(lake))
    assert [event["commit_id"] for event in webhook.events[3:]] == quick
    assert {event["commit_id"] for event in webhook.events[:3]} == set(slow)


def test_event_of_a_deleted_repository_is_dropped(open_lake, lake, webhook, add_action):
    add_action("post-commit")
    lake.engine.stop()
    put(lake, "a.txt")
    commit(lake)
    lake.repositories.delete("sea")
    lake.repositories.create("sea", "local://sea-again")
    open_lake()
    eventually(lambda: settled(lake))
    assert webhook.events == []
    assert runs(lake) == []


def test_action_file_whose_bytes_are_lost_makes_a_failed_run(open_lake, lake, webhook, add_action):
    add_action("post-commit")
    lake.engine.stop()
    put(lake, "a.txt")
    made = commit(lake).id
    stat = lake.objects.stat("sea", made, "_lakefs_actions/gate.yaml")
    lake.blocks.delete([lake.blocks.unqualify(stat.physical_address)])
    open_lake()
    eventually(lambda: settled(lake))
    assert webhook.events == []
    [run] = runs(lake, commit_id=made)
    assert not run.passed
    output = lake.engine.logs.read("local://sea", run.id, "0000_0000")
    assert b"the action file _lakefs_actions/gate.yaml cannot be read" in output


def test_failing_hook_after_a_change_changes_nothing_and_is_not_repeated(lake, webhook, add_action):
    add_action("post-commit")
    webhook.decide = lambda _: False
    put(lake, "a.txt")
    made = commit(lake).id
    eventually(lambda: settled(lake))
    assert [event["event_type"] for event in webhook.events] == ["post-commit"]
    assert lake.branches.get("sea", "main").commit_id == made
    assert [run.passed for run in runs(lake, commit_id=made)] == [False]


@pytest.mark.parametrize("kind", ["queue", "change"])
def test_refused_change_queues_nothing(lake, webhook, add_action, kind):
    add_action("pre-commit", "post-commit")
    webhook.decide = lambda _: kind == "change"
    put(lake, "a.txt")
    try:
        if kind == "change":
            lake.commits.commit(
                "sea",
                "main",
                message="a commit",
                committer="ann",
                extra_writes=[ExtraWritesFrom(lambda _: pytest.fail("the write fails"))],
            )
        else:
            commit(lake)
    except BaseException:  # noqa: BLE001, S110  either refuses it
        pass
    assert settled(lake)
    assert webhook.of("post-commit") == []


def test_process_without_users_leaves_their_events_to_servers(open_lake, lake, webhook, add_action):
    add_action("post-commit")
    put(lake, "a.txt")
    with acting_as(Caller("ann")):
        theirs = commit(lake).id
    put(lake, "b.txt")
    own = commit(lake).id
    eventually(lambda: [event["commit_id"] for event in webhook.events] == [own])
    eventually(lambda: len(list(lake.core.keyvalue.scan(QUEUE))) == 1)

    class Server(LibraryAuthority):
        def serves(self, username):
            return username == "ann"

    server = open_lake(start=False)
    server.hook_lakes.authority = Server()
    server.start()
    eventually(lambda: settled(lake))
    assert {event["commit_id"] for event in webhook.events} == {own, theirs}


def test_event_whose_hooks_kill_servers_is_given_up(open_lake, lake, webhook, add_action):
    add_action("post-commit")
    lake.engine.stop()
    put(lake, "a.txt")
    commit(lake)
    [(key, raw)] = lake.core.keyvalue.scan(QUEUE)
    tried = msgspec.structs.replace(msgspec.json.decode(raw, type=Queued), attempts=5)
    lake.core.keyvalue.apply([Write(QUEUE, key, msgspec.json.encode(tried))])
    open_lake()
    eventually(lambda: settled(lake))
    assert webhook.events == []
