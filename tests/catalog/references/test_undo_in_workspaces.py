"""A workspace undoes what was done with its own keys, and nothing else."""

from __future__ import annotations

import pytest
from support.histories.undone_operations import commit, last, put, without

from anabranch.errors import Denied, NotFound
from anabranch.model.caller import Caller, acting_as
from anabranch.model.references.workspace_request import WorkspaceRequest

REPOSITORY = "arn:lakefs:fs:::repository/sea"


def paths_of(lake, branch="dev"):
    return [each.path for each in lake.branches.changes("sea", branch, amount=500).items]


def workspace_of(lake, name="ws", key=""):
    request = WorkspaceRequest(source="main", writable=["out/**"], seconds=3600, branch=name)
    lake.workspaces.create("sea", request, access_key_id=key, key_check=key)
    return Caller("jane", workspace=name, workspace_key=key)


def test_a_workspace_undoes_what_its_keys_have_done_alone(lake, clock):
    keys = workspace_of(lake)
    with acting_as(Caller("jane")):
        outside = commit(lake, "main", "secret").id
        lake.branches.hard_reset("sea", "ws", "main")  # by the creator, with other rights
        lake.branches.hard_reset("sea", "ws", "main~1")
        by_creator = last(lake)
    clock.advance(1)
    with acting_as(keys):
        put(lake, "ws", "out/a")
        lake.workspaces.checkpoint("sea", "ws", "first", committer="jane")
        made = last(lake)
        assert (made.user, made.workspace) == ("jane", "ws")
    others = (Caller("ada", workspace="ws"), Caller("jane", record_id="later", workspace="ws"))
    for other in others:
        with acting_as(other):
            for operation_id in ("", made.id, by_creator.id):
                with pytest.raises(NotFound):
                    lake.operations.undo_in_workspace("sea", "ws", operation_id)
    with acting_as(keys):
        for operation in lake.operations.list("sea", amount=50).items:
            if operation.id != made.id:
                with pytest.raises(NotFound):
                    lake.operations.undo_in_workspace("sea", "ws", operation.id)
        assert lake.operations.undo_in_workspace("sea", "ws").id == made.id
        with pytest.raises(NotFound):
            lake.operations.undo_in_workspace("sea", "ws")
    assert lake.branches.get("sea", "ws").commit_id != outside
    assert last(lake).action == "undoInWorkspace"


def test_a_user_takes_back_what_was_done_in_a_workspace_by_own_rights_or_by_its_keys(lake, clock):
    keys = workspace_of(lake)
    clock.advance(1)
    with acting_as(keys):
        put(lake, "ws", "out/a")
        lake.workspaces.checkpoint("sea", "ws", "first", committer="jane")
        made = last(lake)
    with acting_as(Caller("jane")):
        put(lake, "ws", "out/b")
        lake.workspaces.restore("sea", "ws", "source")
        restored = last(lake)
        commit(lake, "main", "elsewhere")
        for operation in lake.operations.list("sea", amount=50).items:
            if operation.id not in {made.id, restored.id}:
                with pytest.raises(NotFound):
                    lake.workspaces.undo("sea", "ws", operation.id)
    with acting_as(keys), pytest.raises(NotFound):
        lake.workspaces.undo("sea", "ws", restored.id)
    with acting_as(Caller("ada")), pytest.raises(NotFound):
        lake.workspaces.undo("sea", "ws")
    with acting_as(Caller("jane")):
        assert lake.workspaces.undo("sea", "ws").id == restored.id
        assert paths_of(lake, "ws") == ["out/b"]
        lake.branches.reset("sea", "ws", "object", "out/b")
        assert lake.workspaces.undo("sea", "ws").action == ""
        assert paths_of(lake, "ws") == ["out/b"]
        lake.branches.reset("sea", "ws", "reset")
        assert lake.workspaces.undo("sea", "ws", made.id).id == made.id
    assert [each.path for each in lake.workspaces.diff("sea", "ws", amount=9).items] == []


@pytest.mark.parametrize("seconds", [1, 0, -3600])
def test_a_later_workspace_of_the_name_does_not_undo_what_the_first_has_done(lake, clock, seconds):
    with acting_as(workspace_of(lake)):
        put(lake, "ws", "out/a")
        lake.branches.reset("sea", "ws", "reset")
        first = last(lake)
    lake.branches.delete("sea", "ws")
    clock.advance(seconds)
    with acting_as(workspace_of(lake)):
        for operation_id in ("", first.id):
            with pytest.raises(NotFound):
                lake.operations.undo_in_workspace("sea", "ws", operation_id)
    assert paths_of(lake, "ws") == []


def test_a_workspace_without_the_right_to_move_its_branch_undoes_nothing(lake):
    with acting_as(workspace_of(lake)):
        put(lake, "ws", "out/a")
        lake.branches.reset("sea", "ws", "object", "out/a")
        denied = without(("fs:RevertBranch", "branch/ws"))
        with pytest.raises(Denied):
            lake.operations.undo_in_workspace("sea", "ws", actor=denied)
        lake.operations.undo_in_workspace("sea", "ws", actor=without())
    assert paths_of(lake, "ws") == ["out/a"]


def test_keys_of_no_workspace_undo_nothing_by_it(lake):
    with pytest.raises(NotFound):
        lake.operations.undo_in_workspace("sea", "main")
    workspace_of(lake)
    with acting_as(Caller("jane", workspace="main")), pytest.raises(NotFound):
        lake.operations.undo_in_workspace("sea", "ws")


def test_keys_do_not_undo_in_a_workspace_that_is_made_while_they_ask(lake, monkeypatch):
    keys = workspace_of(lake, key="AKIAWFIRST")
    with acting_as(keys):
        put(lake, "ws", "out/a")
        lake.branches.reset("sea", "ws", "reset")
    look = lake.core.operation_log.all

    def then_made_again(*args):
        found = list(look(*args))
        monkeypatch.undo()
        with acting_as(Caller("jane")):
            lake.branches.delete("sea", "ws")
            workspace_of(lake, key="AKIAWSECOND")
        return iter(found)

    monkeypatch.setattr(lake.core.operation_log, "all", then_made_again)
    with acting_as(keys), pytest.raises(NotFound):
        lake.operations.undo_in_workspace("sea", "ws")
    assert paths_of(lake, "ws") == []
