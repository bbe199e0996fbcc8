"""Undo does nothing that its user could not do by hand, and says what is in the way."""

from __future__ import annotations

import threading

import pytest
from support.histories.undone_operations import commit, last, put, without

from anabranch.access.actors.actor import Actor
from anabranch.access.policies.statements import ALLOW_ALL, Effect, Statement
from anabranch.errors import (
    Conflict,
    Denied,
    Invalid,
    NotFound,
    ProtectedBranch,
    ReadOnlyRepository,
)
from anabranch.model.caller import Caller, acting_as
from anabranch.model.references.workspace_request import WorkspaceRequest
from anabranch.testing.lake import Clock, lake_in

REPOSITORY = "arn:lakefs:fs:::repository/sea"


def state(lake):
    """Returns the commits of all references, and what is staged on branches."""
    branches = lake.branches.list("sea", amount=50).items
    staged = [len(lake.branches.changes("sea", each.id, amount=50).items) for each in branches]
    return [*branches, *lake.tags.list("sea", amount=50).items], staged


def deleted(lake):
    lake.branches.create("sea", "dev", "main")
    lake.branches.delete("sea", "dev")


def created(lake):
    lake.branches.create("sea", "dev", "main")


def moved(lake):
    lake.branches.create("sea", "dev", "main")
    commit(lake, "dev", "a")


def was_reset(lake):
    lake.branches.create("sea", "dev", "main")
    put(lake, "dev", "a")
    lake.branches.reset("sea", "dev", "reset")


def untagged(lake):
    lake.tags.create("sea", "v1", "main")
    lake.tags.delete("sea", "v1")


def tagged(lake):
    lake.tags.create("sea", "v1", "main")


@pytest.mark.parametrize(
    ("change", "action", "resource"),
    [
        (deleted, "fs:CreateBranch", "branch/dev"),
        (created, "fs:DeleteBranch", "branch/dev"),
        (moved, "fs:RevertBranch", "branch/dev"),
        (was_reset, "fs:RevertBranch", "branch/dev"),
        (untagged, "fs:CreateTag", "tag/v1"),
        (tagged, "fs:DeleteTag", "tag/v1"),
    ],
)
def test_undo_needs_the_permission_of_what_it_does(lake, change, action, resource):
    with acting_as(Caller("jane")):
        change(lake)
        before = state(lake)
        with pytest.raises(Denied, match="insufficient") as caught:
            lake.operations.undo("sea", actor=without((action, resource)))
        assert action in caught.value.hint
        assert state(lake) == before
        lake.operations.undo("sea", actor=without((action, f"{resource}x")))
    assert state(lake) != before


@pytest.mark.parametrize("action", ["fs:WriteObject", "fs:DeleteObject"])
@pytest.mark.parametrize("change", [deleted, was_reset])
def test_staged_changes_return_to_those_who_may_write_them(lake, change, action):
    with acting_as(Caller("ada")):
        lake.branches.create("sea", "dev", "main")
        put(lake, "dev", "secret/a")
        if change is deleted:
            lake.branches.delete("sea", "dev")
        else:
            lake.branches.reset("sea", "dev", "reset")
    operation = last(lake)
    with pytest.raises(Denied):
        lake.operations.undo("sea", operation.id, actor=without((action, "object/secret/*")))
    if change is deleted:
        jane = without((action, "object/secret/*"))
        with pytest.raises(Denied):
            lake.operations.restore_branch("sea", "dev", actor=jane)
    # whoever discarded them may take that back
    ada = without((action, "object/secret/*"), name="ada")
    lake.operations.undo("sea", operation.id, actor=ada)
    assert lake.objects.open("sea", "dev", "secret/a").read_bytes() == b"secret/a"


def test_what_a_user_has_discarded_is_not_a_later_user_s_of_the_name(lake):
    lake.branches.create("sea", "dev", "main")
    put(lake, "dev", "a")
    with acting_as(Caller("jane", record_id="first")):
        lake.branches.delete("sea", "dev")
    deny = [Statement(Effect.DENY, ("fs:WriteObject",), ("*",))]
    later, first = (
        Actor(username="jane", statements=[ALLOW_ALL, *deny], record_id=record)
        for record in ("second", "first")
    )
    with pytest.raises(Denied, match="insufficient"):
        lake.operations.restore_branch("sea", "dev", actor=later)
    lake.operations.restore_branch("sea", "dev", actor=first)
    assert lake.objects.open("sea", "dev", "a").read_bytes() == b"a"


def test_a_branch_without_staged_changes_returns_without_the_right_to_write(lake):
    with acting_as(Caller("ada")):
        deleted(lake)
    jane = without(("fs:WriteObject", "*"), ("fs:DeleteObject", "*"))
    lake.operations.restore_branch("sea", "dev", actor=jane)
    assert lake.branches.get("sea", "dev").commit_id == lake.branches.get("sea", "main").commit_id


def test_references_that_a_user_may_not_read_are_not_named(lake):
    deleted(lake)
    operation = last(lake)
    hidden = without(("fs:ReadBranch", "branch/dev"))
    for undo in (
        lambda: lake.operations.undo("sea", operation.id, actor=hidden),
        lambda: lake.operations.restore_branch("sea", "dev", actor=hidden),
    ):
        with pytest.raises(Denied) as caught:
            undo()
        assert "dev" not in f"{caught.value} {caught.value.hint}"


def test_permissions_are_asked_before_anything_is_said_of_the_present(lake):
    moved(lake)
    operation = last(lake)
    commit(lake, "dev", "b")
    with pytest.raises(Denied):
        lake.operations.undo("sea", operation.id, actor=without(("fs:RevertBranch", "branch/dev")))
    with pytest.raises(Conflict, match="has moved since"):
        lake.operations.undo("sea", operation.id, actor=without())


def test_undo_without_an_id_takes_back_what_the_user_did_last_step_by_step(lake):
    with acting_as(Caller("jane")):
        lake.branches.create("sea", "one", "main")
        lake.branches.create("sea", "two", "main")
    with acting_as(Caller("ada")):
        lake.branches.create("sea", "three", "main")
    with acting_as(Caller("jane")):
        undone = [lake.operations.undo("sea").changes[0].name for _ in range(2)]
        with pytest.raises(NotFound, match="no operation of yours"):
            lake.operations.undo("sea")
    assert undone == ["two", "one"]
    assert [each.id for each in lake.branches.list("sea", amount=9).items] == ["main", "three"]
    assert [each.action for each in lake.operations.list("sea", amount=2).items] == [
        "undoOperation"
    ] * 2


def test_an_undone_operation_is_not_undone_again_but_the_undo_is(lake):
    created(lake)
    operation = last(lake)
    lake.operations.undo("sea", operation.id)
    with pytest.raises(Conflict, match="undone already"):
        lake.operations.undo("sea", operation.id)
    lake.operations.undo("sea", last(lake).id)
    assert lake.branches.get("sea", "dev")


def test_protected_branches_are_moved_by_no_undo(lake):
    moved(lake)
    lake.refs.merge("sea", "dev", "main", committer="ada")
    merge = last(lake)
    lake.protection.replace("sea", ["main"])
    before = state(lake)
    with pytest.raises(ProtectedBranch):
        lake.operations.undo("sea", merge.id)
    lake.protection.replace("sea", ["main"], approvals={"main": 1})
    with pytest.raises(ProtectedBranch):
        lake.operations.undo("sea", merge.id)
    with pytest.raises(ProtectedBranch):
        lake.operations.restore("sea", lake.operations.list("sea", amount=9).items[-1].id)
    assert state(lake) == before


def test_a_branch_that_is_protected_since_returns_without_uncommitted_changes_alone(lake):
    for name, paths in (("dev", ["a"]), ("clean", [])):
        lake.branches.create("sea", name, "main")
        for path in paths:
            put(lake, name, path)
        lake.branches.delete("sea", name)
    deletion = next(
        each
        for each in lake.operations.list("sea", amount=9).items
        if each.changes[0].name == "dev"
    )
    lake.protection.replace("sea", ["dev", "clean"])
    before = state(lake)
    with pytest.raises(ProtectedBranch):
        lake.operations.restore_branch("sea", "dev")
    with pytest.raises(ProtectedBranch):
        lake.operations.undo("sea", deletion.id)
    assert state(lake) == before
    lake.operations.restore_branch("sea", "clean")


def test_a_branch_whose_rule_requires_approvals_is_not_deleted(lake):
    created(lake)
    lake.protection.replace("sea", ["dev"], approvals={"dev": 1})
    branch_created = lake.operations.list("sea", amount=2).items[1]
    with pytest.raises(ProtectedBranch):
        lake.operations.undo("sea", branch_created.id)


def test_a_read_only_repository_is_changed_by_force_alone(lake):
    lake.repositories.create("land", "local://land", read_only=True)
    lake.branches.create("land", "dev", "main", force=True)
    with pytest.raises(ReadOnlyRepository):
        lake.operations.undo("land")
    lake.operations.undo("land", force=True)
    with pytest.raises(NotFound):
        lake.branches.get("land", "dev")


def test_pull_requests_are_merged_when_their_branch_gets_their_commits_back(lake):
    lake.branches.create("sea", "dev", "main")
    head = commit(lake, "dev", "a")
    lake.refs.merge("sea", "dev", "main", committer="ada")
    lake.branches.hard_reset("sea", "main", "main~1")
    moved_back = last(lake)
    pull = lake.pulls.create("sea", source="dev", destination="main", title="t", author="ada")
    lake.operations.undo("sea", moved_back.id)
    assert lake.pulls.get("sea", pull.id).status == "merged"
    assert head.id in {each.id for each in lake.commits.log("sea", "main", amount=9).items}


def test_of_two_undos_at_once_one_is_made(lake):
    for number in range(5):
        lake.branches.create("sea", f"dev{number}", "main")
        operation = last(lake)
        results = []
        start = threading.Barrier(4)

        def undo(operation_id=operation.id, results=results, start=start):
            start.wait()
            try:
                lake.operations.undo("sea", operation_id)
                results.append("undone")
            except Conflict as error:
                results.append(error.kind)

        threads = [threading.Thread(target=undo) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(results) == ["operation_undone"] * 3 + ["undone"]


def test_deletions_of_another_name_or_none_are_not_found(lake):
    deleted(lake)
    for name in ("main", "de", "dev2", "dév"):
        with pytest.raises((NotFound, Conflict)):
            lake.operations.restore_branch("sea", name)
    with pytest.raises(NotFound):
        lake.operations.restore_tag("sea", "dev")
    lake.tags.create("sea", "dev", "main")
    with pytest.raises(Conflict):
        lake.operations.restore_branch("sea", "dev")


@pytest.mark.parametrize("days", [-1, 3651, 10**12])
def test_numbers_of_days_that_cannot_be_are_refused(lake, days):
    with pytest.raises(Invalid):
        lake.operations.set_undo_days("sea", days)
    assert lake.operations.undo_days("sea") == 30


def test_a_repository_has_its_own_number_of_days(lake):
    assert lake.operations.set_undo_days("sea", 7) == 7
    assert lake.operations.undo_days("sea") == 7
    assert lake.operations.set_undo_days("sea", None) == 30


def names(lake):
    return [each.id for each in lake.branches.list("sea", amount=9).items]


def test_a_workspace_does_not_come_back_with_its_branch(lake):
    def create():
        request = WorkspaceRequest(source="main", writable=["out/**"], seconds=3600)
        keys = {"access_key_id": "AKIAWORKSPACE", "key_check": "c"}
        return lake.workspaces.create("sea", request, **keys).workspace.branch

    def keys():
        return list(lake.keyvalue.scan("anabranch-workspace-keys"))

    branch = create()
    assert len(keys()) == 1
    lake.branches.delete("sea", branch)
    lake.operations.restore_branch("sea", branch)
    assert names(lake) == sorted(["main", branch])
    with pytest.raises(NotFound):
        lake.workspaces.get("sea", branch)
    assert keys() == []
    lake.branches.delete("sea", branch)
    branch = create()
    lake.operations.undo("sea", last(lake).id)
    assert names(lake) == ["main"]
    assert keys() == []
    with pytest.raises(NotFound):
        lake.workspaces.get("sea", branch)


def test_a_restore_of_an_earlier_branch_ends_the_workspace_that_has_its_name(lake):
    lake.branches.create("sea", "dev", "main", expires_at=int(lake.core.clock()) + 3600)
    commit(lake, "dev", "secret")
    chosen = last(lake)
    lake.branches.delete("sea", "dev")
    request = WorkspaceRequest(source="main", branch="dev", seconds=3600)
    keys = {"access_key_id": "AKIAWORKSPACE", "key_check": "c"}
    lake.workspaces.create("sea", request, **keys)
    began = last(lake)
    assert lake.core.workspaces.find_by_key("AKIAWORKSPACE") is not None
    commit(lake, "dev", "out")
    lake.operations.restore("sea", began.id)
    assert lake.core.workspaces.find_by_key("AKIAWORKSPACE") is not None
    lake.operations.restore("sea", chosen.id)
    assert lake.objects.open("sea", "dev", "secret").read_bytes() == b"secret"
    assert lake.core.workspaces.find_by_key("AKIAWORKSPACE") is None
    with pytest.raises(NotFound):
        lake.workspaces.get("sea", "dev")


@pytest.mark.parametrize("kind", ["branches", "tags"])
def test_a_restore_refuses_changes_that_clocks_have_put_in_another_order(
    lake, clock, tmp_path, kind
):
    commit(lake, "main", "a")
    chosen = last(lake)
    clock.advance(1)
    ahead = Clock(clock.now + 3600)
    with lake_in(tmp_path, ahead, lake.keyvalue) as other:
        getattr(other, kind).create("sea", "dev", "main")
        clock.advance(1)
        getattr(lake, kind).delete("sea", "dev")
    newest, second = lake.operations.list("sea", amount=2).items
    assert newest.changes[0].before is None  # the creation, which was first
    assert second.changes[0].after is None
    before = state(lake)
    with pytest.raises(Conflict, match="not recorded in the order") as caught:
        lake.operations.restore("sea", chosen.id)
    assert caught.value.kind == "log_out_of_order"
    assert state(lake) == before
    lake.operations.restore("sea", newest.id)
    assert state(lake) == before


@pytest.mark.parametrize("is_dirty", [False, True])
def test_a_restore_neither_changes_nor_names_what_its_user_may_not_read(lake, is_dirty):
    lake.branches.create("sea", "hidden", "main")
    chosen = last(lake)
    commit(lake, "hidden", "a")
    if is_dirty:
        put(lake, "hidden", "b")
    before = state(lake)
    with pytest.raises(Denied) as caught:
        lake.operations.restore("sea", chosen.id, actor=without(("fs:ReadBranch", "branch/hidden")))
    assert "hidden" not in caught.value.message
    assert state(lake) == before
    if is_dirty:
        with pytest.raises(Conflict, match="hidden has uncommitted"):
            lake.operations.restore("sea", chosen.id, actor=without())
