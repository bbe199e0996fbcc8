"""Hooks before and after each kind of change."""

from __future__ import annotations

import json
import re

import pytest
from support.eventually import eventually

from anabranch.errors import Conflict, NoChanges, NotFound, PreconditionFailed
from anabranch.model.caller import Caller, acting_as

LOGS = "local://sea/_lakefs/actions/log"


def put(lake, branch, path, content="x"):
    lake.objects.upload("sea", branch, path, [content.encode()])


def commit(lake, branch="main", **metadata):
    return lake.commits.commit(
        "sea", branch, message="a commit", committer="ann", metadata=metadata
    )


def read(lake, reference, path):
    return lake.objects.open("sea", reference, path).read_bytes().decode()


def runs(lake, **filters):
    return lake.engine.records.list("sea", amount=100, **filters).items


def paths(lake, reference):
    listing = lake.objects.listing("sea", reference, amount=100)
    return [item.path for item in listing.items]


def settled(lake):
    """Returns whether no event waits for its hooks."""
    return not list(lake.core.keyvalue.scan("anabranch-post-hooks"))


def no_proposals(lake):
    keyvalue = lake.core.keyvalue
    return not list(keyvalue.scan("anabranch-proposals")) and not list(
        keyvalue.scan("anabranch-running-actions")
    )


def test_commit_runs_hooks_before_and_after_it_and_names_it_in_their_runs(
    lake, webhook, add_action
):
    add_action("prepare-commit", "pre-commit", "post-commit")
    put(lake, "main", "a.txt")
    made = commit(lake, ticket="7")
    eventually(lambda: len(webhook.events) == 3)
    prepare, pre, post = webhook.events
    assert [event["event_type"] for event in webhook.events] == [
        "prepare-commit",
        "pre-commit",
        "post-commit",
    ]
    assert pre["source_ref"] == pre["branch_id"] == prepare["source_ref"] == "main"
    assert pre["commit_message"] == "a commit"
    assert pre["committer"] == "ann"
    assert pre["commit_metadata"] == {"ticket": "7"}
    assert "commit_id" not in pre
    assert pre["merged_ref"] == post["commit_id"] == post["source_ref"] == made.id
    eventually(lambda: settled(lake))
    found = {
        run.event: run
        for run in runs(lake)
        if run.id in {prepare["run_id"], pre["run_id"], post["run_id"]}
    }
    assert found["pre-commit"].commit_id == found["post-commit"].commit_id == made.id
    assert found["prepare-commit"].commit_id == ""
    assert all(run.passed for run in found.values())
    assert {run.event for run in runs(lake, commit_id=made.id)} == {"pre-commit", "post-commit"}
    manifest = json.loads(lake.blocks.read(f"{LOGS}/{pre['run_id']}/run.manifest"))
    assert manifest["run"]["commit_id"] == made.id
    assert [hook["hook_run_id"] for hook in manifest["hooks"]] == ["0000_0000"]
    log = lake.engine.logs.read("local://sea", pre["run_id"], "0000_0000")
    assert b"200" in log
    assert no_proposals(lake)


def test_failed_hook_refuses_the_commit_in_lakefs_words_and_keeps_the_changes(
    lake, webhook, add_action
):
    add_action("pre-commit", "post-commit")
    head = lake.branches.get("sea", "main").commit_id
    webhook.decide = lambda _: False
    put(lake, "main", "a.txt")
    with pytest.raises(PreconditionFailed) as caught:
        commit(lake)
    run = runs(lake)[0]
    assert re.fullmatch(
        rf"pre-commit hook aborted, run id '{run.id}': 1 error occurred:\n\t\* hook run id "
        r"'0000_0000' failed on action 'gate' hook 'ask': .*400.*\n\n",
        caught.value.message,
    )
    assert caught.value.kind == "hook_failed"
    assert caught.value.hint.endswith(f": anabranch actions show lakefs://sea {run.id}")
    assert (run.passed, run.commit_id, run.event) == (False, "", "pre-commit")
    assert lake.branches.get("sea", "main").commit_id == head
    assert read(lake, "main", "a.txt") == "x"
    assert no_proposals(lake)
    webhook.decide = lambda _: True
    assert commit(lake).parents == (head,)


def test_uncommitted_action_file_counts_at_once(lake, webhook, add_action):
    put(lake, "main", "first")
    commit(lake)
    add_action("pre-commit", commit=False)
    webhook.decide = lambda _: False
    with pytest.raises(PreconditionFailed):
        commit(lake)
    lake.branches.reset("sea", "main", "object", "_lakefs_actions/gate.yaml")
    put(lake, "main", "second")
    commit(lake)


def test_hook_reads_what_the_commit_would_make_and_later_changes_stay_uncommitted(
    lake, webhook, add_action
):
    add_action("pre-commit")
    put(lake, "main", "a.txt", "before")
    seen = []

    def decide(event):
        put(lake, "main", "a.txt", "after")
        put(lake, "main", "late.txt")
        seen.append(read(lake, event["merged_ref"], "a.txt"))
        seen.append("late.txt" in paths(lake, event["merged_ref"]))
        return True

    webhook.decide = decide
    made = commit(lake)
    assert seen == ["before", False]
    assert read(lake, made.id, "a.txt") == "before"
    assert read(lake, "main", "a.txt") == "after"
    assert [change.path for change in lake.branches.changes("sea", "main", amount=9).items] == [
        "a.txt",
        "late.txt",
    ]


def test_prepare_commit_hook_may_write_to_the_branch(lake, webhook, add_action):
    add_action("prepare-commit")
    put(lake, "main", "a.txt")

    def decide(_):
        put(lake, "main", "prepared.txt")
        return True

    webhook.decide = decide
    assert "prepared.txt" in paths(lake, commit(lake).id)


def test_merge_hook_reads_the_merged_result_which_disappears_when_it_is_refused(
    lake, webhook, add_action
):
    add_action("pre-merge", "post-merge")
    lake.branches.create("sea", "dev", "main")
    put(lake, "dev", "from_dev.txt")
    source = commit(lake, "dev")
    put(lake, "main", "from_main.txt")
    commit(lake)
    merged, attempts = [], []

    def decide(event):
        merged[:] = [event["merged_ref"], *paths(lake, event["merged_ref"])]
        for create in (lake.tags.create, lake.branches.create):
            with pytest.raises(NotFound) as caught:
                create("sea", "kept", event["merged_ref"])
            attempts.append(caught.value.kind)
        return False

    webhook.decide = decide
    with pytest.raises(PreconditionFailed) as caught:
        lake.refs.merge("sea", "dev", "main", committer="ann")
    assert caught.value.message.startswith("update branch main: pre-merge hook aborted, run id '")
    assert attempts == ["commit_not_found"] * 2
    event = webhook.of("pre-merge")[0]
    assert event["merge_source"] == "dev"
    assert event["source_ref"] == source.id
    assert event["commit_id"] == merged[0]
    assert {"from_dev.txt", "from_main.txt"} <= set(merged[1:])
    with pytest.raises(NotFound):
        paths(lake, merged[0])
    assert no_proposals(lake)
    assert "from_dev.txt" not in paths(lake, "main")

    webhook.decide = lambda _: True
    made = lake.refs.merge("sea", "dev", "main", committer="ann")
    eventually(lambda: webhook.of("post-merge"))
    assert webhook.of("post-merge")[0]["commit_id"] == made
    assert webhook.of("pre-merge")[-1]["commit_id"] == made
    # the refused commit is the same one if both were made within one second
    events = {"pre-merge", "post-merge"}
    eventually(lambda: {each.event for each in runs(lake, commit_id=made) if each.passed} == events)


def test_gate_of_the_destination_cannot_be_avoided_by_a_source_without_it(
    lake, webhook, add_action
):
    lake.branches.create("sea", "old", "main")
    put(lake, "old", "a.txt")
    commit(lake, "old")
    add_action("pre-merge")
    webhook.decide = lambda _: False
    with pytest.raises(PreconditionFailed):
        lake.refs.merge("sea", "old", "main", committer="ann")


def test_actions_of_the_source_run_when_it_is_merged(lake, webhook, add_action):
    lake.branches.create("sea", "dev", "main")
    add_action("pre-merge", branch="dev", branches="[main]")
    lake.refs.merge("sea", "dev", "main", committer="ann")
    assert len(webhook.of("pre-merge")) == 1


@pytest.mark.sample(6)
@pytest.mark.parametrize("decision", [True, False])
@pytest.mark.parametrize(
    ("kind", "change", "undone"),
    [
        ("create-branch", lambda lake: lake.branches.create("sea", "b1", "main"), "b1"),
        ("delete-branch", lambda lake: lake.branches.delete("sea", "old"), "old"),
        ("create-tag", lambda lake: lake.tags.create("sea", "t1", "main"), "t1"),
        ("delete-tag", lambda lake: lake.tags.delete("sea", "v0"), "v0"),
        (
            "revert",
            lambda lake: lake.branches.revert("sea", "main", "main", committer="ann"),
            "main",
        ),
        (
            "cherry-pick",
            lambda lake: lake.branches.cherry_pick("sea", "main", "old", committer="ann"),
            "main",
        ),
    ],
)
def test_other_changes_run_their_hooks(lake, webhook, add_action, kind, change, undone, decision):
    add_action(f"pre-{kind}", f"post-{kind}")
    put(lake, "main", "a.txt")
    commit(lake)
    lake.branches.create("sea", "old", "main")
    put(lake, "old", "b.txt")
    commit(lake, "old")
    lake.tags.create("sea", "v0", "main")
    eventually(lambda: settled(lake))
    webhook.events.clear()
    webhook.decide = lambda _: decision
    before = references(lake)
    if decision:
        change(lake)
        eventually(lambda: len(webhook.events) == 2)
        assert references(lake) != before
        pre, post = webhook.events
        assert post["commit_id"]
        eventually(lambda: runs(lake)[0].event == f"post-{kind}")
    else:
        with pytest.raises(PreconditionFailed, match=f"pre-{kind} hook aborted"):
            change(lake)
        assert references(lake) == before
        pre = webhook.events[0]
        assert len(webhook.events) == 1
    assert (pre.get("branch_id") or pre.get("tag_id")) == undone
    assert no_proposals(lake)


def references(lake):
    branches = {b.id: b.commit_id for b in lake.branches.list("sea", amount=99).items}
    return branches, {t.id: t.commit_id for t in lake.tags.list("sea", amount=99).items}


def test_branch_filter_and_condition_decide_and_nothing_is_stored_if_no_hook_ran(
    lake, webhook, add_action
):
    add_action("pre-commit", branches="[release-*]")
    add_action("pre-commit", name="other", condition="failure()")
    count = len(runs(lake))
    put(lake, "main", "a.txt")
    commit(lake)
    assert webhook.events == []
    assert len(runs(lake)) == count
    lake.branches.create("sea", "release-1", "main")
    put(lake, "release-1", "a.txt", "y")
    commit(lake, "release-1")
    assert [event["branch_id"] for event in webhook.events] == ["release-1"]


def test_wrong_action_file_refuses_the_commit_until_it_is_corrected(lake):
    put(lake, "main", "_lakefs_actions/bad.yaml", "on: {pre-commit: }\nhooks:\n- id: a1\n")
    with pytest.raises(PreconditionFailed) as caught:
        commit(lake)
    assert "load actions: _lakefs_actions/bad.yaml:3: hooks[0]: the field `type`" in (
        caught.value.message
    )
    lake.objects.delete("sea", "main", "_lakefs_actions/bad.yaml")
    put(lake, "main", "a.txt")
    commit(lake)


def test_commit_without_changes_runs_no_hook_but_prepare(lake, webhook, add_action):
    add_action("prepare-commit", "pre-commit")
    with pytest.raises(NoChanges):
        commit(lake)
    assert [event["event_type"] for event in webhook.events] == ["prepare-commit"]


def test_hook_that_commits_to_its_own_branch_is_refused(lake):
    put(lake, "main", "a.txt")
    with (
        acting_as(Caller("ann", ("sea/main",))),
        pytest.raises(Conflict, match="must not change it") as caught,
    ):
        commit(lake)
    assert caught.value.kind == "hook_loop"
    with acting_as(Caller("ann", ("sea/other",))):
        commit(lake)
    long = Caller("ann", tuple(f"sea/b{number}" for number in range(5)))
    with acting_as(long), pytest.raises(Conflict, match="5 changes in a row"):
        lake.tags.create("sea", "v1", "main")
