"""Undo runs the hooks of the changes that it makes, which can refuse it."""

from __future__ import annotations

import pytest
from support.eventually import eventually

from anabranch.errors import PreconditionFailed, ProtectedBranch


def settled(lake):
    """Returns whether no event waits for its hooks."""
    return not list(lake.core.keyvalue.scan("anabranch-post-hooks"))


def change(lake, kind):
    """Creates or deletes a branch or a tag at the head of `main`, and returns the operation."""
    if "branch" in kind:
        lake.branches.create("sea", "dev", "main")
        if "delete" in kind:
            lake.branches.delete("sea", "dev")
    else:
        lake.tags.create("sea", "v1", "main")
        if "delete" in kind:
            lake.tags.delete("sea", "v1")
    return lake.operations.list("sea", amount=1).items[0]


def state(lake):
    branches = lake.branches.list("sea", amount=10).items
    return [
        (each.id, each.commit_id) for each in (*branches, *lake.tags.list("sea", amount=9).items)
    ]


@pytest.mark.parametrize(
    ("kind", "hook"),
    [
        ("delete-branch", "create-branch"),
        ("create-branch", "delete-branch"),
        ("delete-tag", "create-tag"),
        ("create-tag", "delete-tag"),
    ],
)
def test_hooks_of_what_undo_does_decide(lake, webhook, add_action, kind, hook):
    add_action(f"pre-{hook}", f"post-{hook}")
    operation = change(lake, kind)
    eventually(lambda: settled(lake))
    webhook.events.clear()
    webhook.decide = lambda _: False
    before = state(lake)
    with pytest.raises(PreconditionFailed, match=f"pre-{hook} hook aborted"):
        lake.operations.undo("sea", operation.id)
    assert state(lake) == before
    assert not lake.operations.get("sea", operation.id).undone_at
    webhook.decide = lambda _: True
    lake.operations.undo("sea", operation.id)
    eventually(lambda: settled(lake) and len(webhook.events) == 3)
    assert [each["event_type"] for each in webhook.events] == [
        f"pre-{hook}",
        f"pre-{hook}",
        f"post-{hook}",
    ]
    (changed,) = operation.changes
    event = webhook.events[1]
    assert (event.get("branch_id") or event["tag_id"]) == changed.name


def test_hooks_do_not_learn_of_a_deletion_that_is_protected(lake, webhook, add_action):
    add_action("pre-delete-branch")
    operation = change(lake, "create-branch")
    lake.protection.replace("sea", ["dev"], approvals={"dev": 1})
    with pytest.raises(ProtectedBranch):
        lake.operations.undo("sea", operation.id)
    assert webhook.events == []


def test_restore_runs_the_hooks_of_each_change(lake, webhook, add_action):
    add_action("pre-create-branch", "pre-create-tag", "pre-delete-branch")
    lake.branches.create("sea", "old", "main")
    lake.tags.create("sea", "v1", "main")
    then = lake.operations.list("sea", amount=1).items[0]
    lake.branches.delete("sea", "old")
    lake.tags.delete("sea", "v1")
    lake.branches.create("sea", "new", "main")
    before = state(lake)
    webhook.events.clear()
    webhook.decide = lambda event: event["event_type"] != "pre-create-tag"
    with pytest.raises(PreconditionFailed):
        lake.operations.restore("sea", then.id)
    assert state(lake) == before  # none of the changes was made
    webhook.events.clear()
    webhook.decide = lambda _: True
    lake.operations.restore("sea", then.id)
    assert sorted(each["event_type"] for each in webhook.events) == [
        "pre-create-branch",
        "pre-create-tag",
        "pre-delete-branch",
    ]
