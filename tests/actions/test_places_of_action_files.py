"""Which action files a change runs, for which changes none run, and what their events name."""

from __future__ import annotations

import pytest
from support.eventually import eventually

from anabranch.brevity import TakesLong, brief
from anabranch.errors import Conflict, Invalid, PreconditionFailed, ProtectedBranch


def put(lake, branch, path, content="x"):
    lake.objects.upload("sea", branch, path, [content.encode()])


def commit(lake, branch="main"):
    return lake.commits.commit("sea", branch, message="a commit", committer="ann")


def read(lake, reference, path):
    return lake.objects.open("sea", reference, path).read_bytes().decode()


def runs(lake):
    return lake.engine.records.list("sea", amount=100).items


def settled(lake):
    """Returns whether no event waits for its hooks."""
    return not list(lake.core.keyvalue.scan("anabranch-post-hooks"))


def test_renamed_action_file_can_be_merged_and_the_files_of_the_result_run(
    lake, webhook, add_action
):
    add_action("pre-merge", "post-merge")
    lake.branches.create("sea", "dev", "main")
    content = read(lake, "main", "_lakefs_actions/gate.yaml")
    put(lake, "dev", "_lakefs_actions/renamed.yaml", content)
    lake.objects.delete("sea", "dev", "_lakefs_actions/gate.yaml")
    commit(lake, "dev")
    lake.refs.merge("sea", "dev", "main", committer="ann")
    eventually(lambda: settled(lake))
    assert [event["event_type"] for event in webhook.events] == ["pre-merge", "post-merge"]


def test_merge_whose_result_has_two_actions_of_one_name_is_refused(lake, add_action):
    lake.branches.create("sea", "dev", "main")
    add_action("pre-merge")
    content = read(lake, "main", "_lakefs_actions/gate.yaml")
    put(lake, "dev", "_lakefs_actions/other.yaml", content)
    commit(lake, "dev")
    with pytest.raises(PreconditionFailed, match="duplicate action name 'gate'"):
        lake.refs.merge("sea", "dev", "main", committer="ann")


def test_a_folder_of_too_many_files_is_not_listed_where_that_must_be_brief(lake, monkeypatch):
    hooks = "on: {pre-merge: }, hooks: [{id: look, type: lua, properties: {script: x = 1}}]"
    for name in ("one", "two"):
        put(lake, "main", f"_lakefs_actions/{name}.yaml", f"{{name: {name}, {hooks}}}")
    commit(lake)
    monkeypatch.setattr("anabranch.actions.files.stored_files._MAX_FILES", 1)
    with brief(), pytest.raises(TakesLong):
        lake.tags.create("sea", "v1", "main")
    with pytest.raises(Invalid, match="more than 1 files"):
        lake.tags.create("sea", "v1", "main")


def test_uncommitted_action_file_of_the_source_guards_new_branches(lake, webhook, add_action):
    add_action("pre-create-branch", "post-create-branch", commit=False)
    webhook.decide = lambda _: False
    with pytest.raises(PreconditionFailed, match="pre-create-branch hook aborted"):
        lake.branches.create("sea", "dev", "main")
    lake.branches.create("sea", "dev", "main@")
    webhook.decide = lambda _: True
    lake.branches.create("sea", "dev2", "main")
    eventually(lambda: settled(lake))
    assert [event["event_type"] for event in webhook.events] == ["pre-create-branch"] * 2


def test_hooks_do_not_run_for_names_that_are_in_use(lake, webhook, add_action):
    add_action("pre-create-branch", "pre-create-tag")
    head = lake.branches.get("sea", "main").commit_id
    lake.branches.create("sea", "dev", "main")
    lake.tags.create("sea", "v1", "main")
    webhook.events.clear()
    for name in ("dev", "main", "v1", head):
        for create in (lake.branches.create, lake.tags.create):
            with pytest.raises(Conflict):
                create("sea", name, "main")
    assert webhook.events == []


def test_hooks_do_not_run_for_the_deletion_of_a_branch_that_is_protected_from_it(
    lake, webhook, add_action
):
    add_action("pre-delete-branch")
    lake.branches.create("sea", "dev", "main")
    lake.protection.replace("sea", ["dev"], approvals={"dev": 1})
    with pytest.raises(ProtectedBranch):
        lake.branches.delete("sea", "dev")
    assert webhook.events == []


def test_event_before_the_deletion_of_a_branch_has_no_commit_id(lake, webhook, add_action):
    add_action("pre-delete-branch")
    lake.branches.create("sea", "dev", "main")
    lake.branches.delete("sea", "dev")
    (event,) = webhook.events
    assert ("commit_id" in event, event["branch_id"]) == (False, "dev")


def test_run_of_a_refused_merge_names_the_commit_that_it_refused(lake, webhook, add_action):
    add_action("pre-merge")
    lake.branches.create("sea", "dev", "main")
    put(lake, "dev", "a.txt")
    commit(lake, "dev")
    webhook.decide = lambda _: False
    with pytest.raises(PreconditionFailed):
        lake.refs.merge("sea", "dev", "main", committer="ann")
    assert runs(lake)[0].commit_id == webhook.events[0]["commit_id"] != ""


def test_failed_hook_is_named_with_its_action_and_its_address(lake, webhook, add_action):
    add_action("pre-commit")
    webhook.decide = lambda _: False
    put(lake, "main", "a.txt")
    with pytest.raises(PreconditionFailed) as caught:
        commit(lake)
    assert "action 'gate' hook 'ask': action failed: webhook request failed" in caught.value.message
