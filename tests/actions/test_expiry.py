"""Hooks before ended branches are deleted: what they see, keep, and do not keep from others."""

from __future__ import annotations

import threading

import pytest
from support.eventually import eventually

from anabranch.actions.hooks.contract import HookSettings
from anabranch.actions.runs.settings import ActionSettings
from anabranch.blocks.local.store import LocalBlocks
from anabranch.catalog.references.expiry import (
    LEASE_SECONDS,
    MAX_RETRY_SECONDS,
    RETRY_SECONDS,
)
from anabranch.catalog.references.hooked_deletions import MAX_OF_REPOSITORY
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake
from anabranch.testing.lake import Clock
from anabranch.versioning.records.expiring_branches import due_branches

DAY = 86_400
EVENT = "pre-expire-branch"
SETTINGS = ActionSettings(hooks=HookSettings(webhook_allow=("127.0.0.1",)))


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def open_lake(tmp_path, clock):
    """Opens lakes over the same stores, which run no tasks by themselves."""
    store, opened = MemoryStore(), []

    def open_one():
        lake = Lake(
            store,
            LocalBlocks(tmp_path / "blocks", clock=clock),
            cache_folder=tmp_path / f"cache{len(opened)}",
            signing_secret=b"a secret of tests",
            clock=clock,
            action_settings=SETTINGS,
        )
        opened.append(lake)
        return lake

    yield open_one
    for lake in opened:
        lake.close()


@pytest.fixture
def lake(open_lake, webhook):
    """A lake with a repository whose hook asks the webhook before branches expire."""
    lake = open_lake()
    make_repository(lake, "sea", webhook, EVENT)
    return lake


@pytest.fixture
def held(webhook):
    """The webhook does not answer about branches that begin with `held` until this is set."""
    go = threading.Event()
    webhook.decide = lambda event: not event["branch_id"].startswith("held") or go.wait(100)
    yield go
    go.set()


def make_repository(lake, name, webhook, *events):
    lake.repositories.create(name, f"local://{name}")
    if events:
        on = "".join(f"  {each}:\n" for each in events)
        action = (
            f"name: gate\non:\n{on}hooks:\n- id: ask\n  type: webhook\n"
            f"  properties: {{url: '{webhook.url}', timeout: 100s}}\n"
        )
        lake.objects.upload(name, "main", "_lakefs_actions/gate.yaml", [action.encode()])
        lake.commits.commit(name, "main", message="gate", committer="ann")


def ended(lake, clock, *names, repository="sea"):
    for name in names:
        lake.branches.create(repository, name, "main", expires_at=int(clock()) + DAY)
    clock.advance(DAY)


def names(lake, repository="sea"):
    return [each.id for each in lake.branches.list(repository, amount=99).items]


def settle(lake):
    lake.expiry.delete_due()
    assert lake.expiry.wait()


def test_a_hook_that_passes_lets_the_branch_be_deleted(lake, clock, webhook):
    ended(lake, clock, "dev")
    settle(lake)
    assert names(lake) == ["main"]
    head = lake.branches.get("sea", "main").commit_id
    (event,) = webhook.events
    told = {key: event[key] for key in ("event_type", "repository_id", "branch_id", "source_ref")}
    assert told == {
        "event_type": EVENT,
        "repository_id": "sea",
        "branch_id": "dev",
        "source_ref": head,
    }
    assert event["commit_id"] == head
    deletion = lake.operations.list("sea", amount=1).items[0]
    assert (deletion.action, deletion.changes[0].name) == ("expireBranch", "dev")
    lake.operations.undo("sea", deletion.id)
    assert names(lake) == ["dev", "main"]


def test_a_branch_that_is_deleted_by_hand_does_not_expire(lake, webhook):
    lake.branches.create("sea", "dev", "main")
    lake.branches.delete("sea", "dev")
    assert webhook.events == []


def test_a_hook_that_fails_keeps_the_branch_and_is_asked_less_and_less_often(lake, clock, webhook):
    ended(lake, clock, "dev")
    webhook.decide = lambda _: False
    waits = []
    for asked in range(1, 14):
        settle(lake)
        assert names(lake) == ["dev", "main"]
        assert len(webhook.events) == asked
        (due,) = due_branches(lake.core.keyvalue, 1e11)
        waits.append(due.expires_at - int(clock()))
        clock.advance(waits[-1] - 1)
        settle(lake)
        assert len(webhook.events) == asked
        clock.advance(1)
    assert waits[:5] == [RETRY_SECONDS * each for each in (1, 1, 2, 4, 8)]
    assert waits[-2:] == [MAX_RETRY_SECONDS] * 2
    webhook.decide = lambda _: True
    settle(lake)
    assert names(lake) == ["main"]


def test_hooks_before_the_deletion_are_asked_too(open_lake, clock, webhook):
    lake = open_lake()
    make_repository(lake, "sea", webhook, EVENT, "pre-delete-branch")
    ended(lake, clock, "dev")
    webhook.decide = lambda event: event["event_type"] == EVENT
    settle(lake)
    assert names(lake) == ["dev", "main"]
    assert [each["event_type"] for each in webhook.events] == [EVENT, "pre-delete-branch"]


def test_hooks_do_not_learn_of_a_branch_that_is_protected_or_proposed(lake, clock, webhook):
    lake.protection.replace("sea", ["kept"], approvals={"kept": 1})
    lake.branches.create("sea", "proposed", "main", expires_at=int(clock()) + DAY)
    lake.objects.upload("sea", "proposed", "b", [b"b"])
    lake.commits.commit("sea", "proposed", message="b", committer="ann")
    lake.pulls.create("sea", title="b", source="proposed", destination="main", author="ann")
    ended(lake, clock, "kept")
    settle(lake)
    assert names(lake) == ["kept", "main", "proposed"]
    assert webhook.events == []


def test_a_hook_that_hangs_keeps_no_other_branch(lake, clock, webhook, held):
    make_repository(lake, "lake", webhook)
    lake.branches.create("lake", "plain", "main", expires_at=int(clock()) + DAY)
    ended(lake, clock, "held", "other")
    assert lake.expiry.delete_due() == 1
    assert names(lake, "lake") == ["main"]
    eventually(lambda: names(lake) == ["held", "main"])
    assert not lake.expiry.wait(0)
    held.set()
    assert lake.expiry.wait()
    assert names(lake) == ["main"]


def test_hanging_hooks_of_a_repository_leave_room_for_others(lake, clock, webhook, held):
    make_repository(lake, "lake", webhook, EVENT)
    lake.branches.create("lake", "asked", "main", expires_at=int(clock()) + DAY)
    many = [f"held{number}" for number in range(MAX_OF_REPOSITORY + 2)]
    ended(lake, clock, *many)
    lake.expiry.delete_due()
    eventually(lambda: names(lake, "lake") == ["main"])
    eventually(lambda: len(webhook.events) == MAX_OF_REPOSITORY + 1)
    lake.expiry.delete_due()
    assert names(lake) == [*many, "main"]
    assert len(webhook.events) == MAX_OF_REPOSITORY + 1
    held.set()
    assert lake.expiry.wait()
    settle(lake)
    assert names(lake) == ["main"]


def test_another_server_asks_again_only_if_the_first_one_was_killed(
    lake, clock, open_lake, webhook, held
):
    ended(lake, clock, "held")
    lake.expiry.delete_due()
    eventually(lambda: len(webhook.events) == 1)
    other = open_lake()
    settle(other)
    assert len(webhook.events) == 1
    clock.advance(LEASE_SECONDS)
    other.expiry.delete_due()
    eventually(lambda: len(webhook.events) == 2)
    held.set()
    assert lake.expiry.wait()
    assert other.expiry.wait()
    assert names(lake) == ["main"]
    deletions = [each.action for each in lake.operations.list("sea", amount=99).items]
    assert deletions.count("expireBranch") == 1
    assert not list(due_branches(lake.core.keyvalue, 1e11))


def test_a_branch_that_gets_more_time_while_its_hook_runs_stays(lake, clock, webhook, held):
    ended(lake, clock, "held")
    lake.expiry.delete_due()
    eventually(lambda: len(webhook.events) == 1)
    lake.branches.set_expiry("sea", "held", int(clock()) + DAY)
    held.set()
    assert lake.expiry.wait()
    assert names(lake) == ["held", "main"]
    clock.advance(DAY)
    settle(lake)
    assert names(lake) == ["main"]
