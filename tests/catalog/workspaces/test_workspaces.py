"""Workspaces: a branch with a record, checkpoints, a proposal, and an end."""

from __future__ import annotations

import pytest

from anabranch.errors import (
    AlreadyExists,
    Conflict,
    Invalid,
    NoChanges,
    NotFound,
    ProtectedBranch,
    ReadOnlyRepository,
)
from anabranch.model.caller import Caller, Principal, acting_as
from anabranch.model.references.workspace import Workspace
from anabranch.model.references.workspace_request import WorkspaceRequest

HOUR = 3600


@pytest.fixture
def sea(lake):
    put(lake, "main", "in/a.csv", b"a")
    lake.commits.commit("sea", "main", message="data", committer="ann")
    return lake


def put(lake, branch, path, content):
    lake.objects.upload("sea", branch, path, [content])


def read(lake, reference, path):
    return lake.objects.open("sea", reference, path).read_bytes()


def create(lake, **fields):
    request = WorkspaceRequest(
        **{"source": "main", "writable": ["out/**"], "seconds": HOUR} | fields
    )
    return lake.workspaces.create("sea", request)


def paths(lake, reference):
    return [each.path for each in lake.objects.listing("sea", reference, amount=100).items]


def test_a_workspace_is_a_branch_with_a_record_of_its_creator_and_source(sea, clock):
    with acting_as(Caller("ann", created_at=7, record_id="r")):
        opened = create(
            sea, purpose="clean", run_id="run-1", metadata={"k": "v"}, readable=["in/**"]
        )
    found = sea.workspaces.get("sea", opened.workspace.branch)
    assert found == opened
    workspace = found.workspace
    assert (workspace.creator.username, workspace.creator.record_id) == ("ann", "r")
    assert workspace.source_commit == sea.branches.get("sea", "main").commit_id
    assert workspace.readable == ("in/**",)
    assert (workspace.purpose, workspace.run_id, workspace.metadata) == (
        "clean",
        "run-1",
        {"k": "v"},
    )
    assert found.branch.expires_at == int(clock()) + HOUR
    assert found.state == "open"
    assert [each.workspace for each in sea.workspaces.list("sea", amount=9).items] == [workspace]


def test_the_record_ends_with_its_branch(sea):
    name = create(sea).workspace.branch
    sea.branches.delete("sea", name)
    with pytest.raises(NotFound, match="workspace not found"):
        sea.workspaces.get("sea", name)
    sea.branches.create("sea", name, "main")
    with pytest.raises(NotFound, match="workspace not found"):
        sea.workspaces.get("sea", name)
    assert not sea.workspaces.list("sea", amount=9).items


def test_a_name_that_is_in_use_creates_nothing(sea):
    with pytest.raises(AlreadyExists):
        create(sea, branch="main")
    assert not sea.workspaces.list("sea", amount=9).items


@pytest.mark.parametrize(
    "fields",
    [
        {"seconds": 0},
        {"seconds": -5},
        {"seconds": 10**12},
        {"writable": ["/out/**"]},
        {"readable": [""]},
        {"writable": ["a"] * 101},
        {"purpose": "p" * 5000},
        {"metadata": {str(number): "" for number in range(101)}},
    ],
)
def test_a_wrong_request_is_refused(sea, fields):
    with pytest.raises(Invalid):
        create(sea, **fields)
    assert not sea.workspaces.list("sea", amount=9).items


def test_checkpoints_are_labelled_commits_to_which_a_workspace_returns(sea):
    name = create(sea).workspace.branch
    put(sea, name, "out/1", b"one")
    first = sea.workspaces.checkpoint("sea", name, "first", committer="ann")
    put(sea, name, "out/2", b"two")
    second = sea.workspaces.checkpoint("sea", name, "second", committer="ann")
    put(sea, name, "out/3", b"staged")

    assert sea.workspaces.restore("sea", name, "first") == first
    assert sea.branches.get("sea", name).commit_id == first.commit_id
    assert [each.path for each in sea.branches.changes("sea", name, amount=9).items] == []
    assert read(sea, name, "out/1") == b"one"
    with pytest.raises(NotFound):
        read(sea, name, "out/2")

    assert sea.workspaces.restore("sea", name, second.commit_id).commit_id == second.commit_id
    assert read(sea, name, "out/2") == b"two"
    sea.workspaces.restore("sea", name, "source")
    with pytest.raises(NotFound):
        read(sea, name, "out/1")
    with pytest.raises(NotFound, match="no checkpoint"):
        sea.workspaces.restore("sea", name, sea.branches.get("sea", "main").commit_id[:10])


def test_a_checkpoint_without_changes_labels_the_last_commit(sea):
    name = create(sea).workspace.branch
    made = sea.workspaces.checkpoint("sea", name, "begun", committer="ann")
    assert made.commit_id == sea.branches.get("sea", "main").commit_id
    assert sea.workspaces.get("sea", name).workspace.checkpoints == (made,)


@pytest.mark.parametrize("label", ["", "  ", "x" * 201, "a\nb", "source", "used"])
def test_a_wrong_or_used_label_commits_nothing(sea, label):
    name = create(sea).workspace.branch
    put(sea, name, "out/1", b"one")
    head = sea.workspaces.checkpoint("sea", name, "used", committer="ann").commit_id
    put(sea, name, "out/2", b"two")
    with pytest.raises((Invalid, AlreadyExists)):
        sea.workspaces.checkpoint("sea", name, label, committer="ann")
    assert sea.branches.get("sea", name).commit_id == head


def test_a_diff_holds_staged_and_committed_changes(sea):
    name = create(sea).workspace.branch
    put(sea, name, "out/1", b"one")
    sea.workspaces.checkpoint("sea", name, "first", committer="ann")
    put(sea, name, "out/2", b"two")
    changed = sea.workspaces.diff("sea", name, amount=9).items
    assert [each.path for each in changed] == ["out/1", "out/2"]


def test_a_proposal_is_a_pull_request_that_says_what_the_workspace_was_for(sea):
    name = create(sea, purpose="Clean the data\nof June", run_id="run-7").workspace.branch
    put(sea, name, "out/1", b"one")
    pull = sea.workspaces.propose("sea", name, author="ann", committer="ann")
    assert (pull.source, pull.destination, pull.title) == (name, "main", "Clean the data")
    for text in ("of June", "run-7", "out/**", name):
        assert text in pull.description
    found = sea.workspaces.get("sea", name)
    assert (found.workspace.pull_request, found.state) == (pull.id, "proposed")
    with pytest.raises(Conflict, match=pull.id):
        sea.workspaces.propose("sea", name, author="ann", committer="ann")
    merged = sea.pulls.merge("sea", pull.id, committer="bob")
    assert read(sea, merged, "out/1") == b"one"


def test_a_workspace_that_changed_nothing_is_not_proposed(sea):
    name = create(sea).workspace.branch
    with pytest.raises(NoChanges):
        sea.workspaces.propose("sea", name, author="ann", committer="ann")
    assert not sea.pulls.list("sea", amount=9).items


def test_a_workspace_at_a_commit_is_proposed_to_a_branch_that_is_named(sea):
    head = sea.branches.get("sea", "main").commit_id
    name = create(sea, source=head).workspace.branch
    put(sea, name, "out/1", b"one")
    with pytest.raises(Invalid, match="no branch"):
        sea.workspaces.propose("sea", name, author="ann", committer="ann")
    pull = sea.workspaces.propose("sea", name, destination="main", author="ann", committer="ann")
    assert pull.destination == "main"


def test_an_expired_workspace_can_be_read_and_not_changed(sea, clock):
    name = create(sea).workspace.branch
    put(sea, name, "out/1", b"one")
    clock.advance(HOUR - 1)
    put(sea, name, "out/2", b"two")
    clock.advance(1)
    assert sea.workspaces.get("sea", name).state == "expired"
    for change in (
        lambda: put(sea, name, "out/3", b"three"),
        lambda: sea.workspaces.checkpoint("sea", name, "late", committer="ann"),
        lambda: sea.workspaces.restore("sea", name, "source"),
        lambda: sea.objects.delete("sea", name, "out/1"),
        lambda: sea.branches.reset("sea", name, "reset"),
        lambda: sea.workspaces.propose("sea", name, author="ann", committer="ann"),
    ):
        with pytest.raises(Conflict, match="has expired"):
            change()
    assert read(sea, name, "out/1") == b"one"


def test_commits_of_a_workspace_are_its_own_and_those_before_are_not(sea):
    before = sea.branches.get("sea", "main").commit_id
    put(sea, "main", "in/b.csv", b"b")
    source = sea.commits.commit("sea", "main", message="more", committer="ann").id
    name = create(sea).workspace.branch
    put(sea, name, "out/1", b"one")
    own = sea.commits.commit("sea", name, message="own", committer="ann").id
    put(sea, "main", "in/c.csv", b"c")
    later = sea.commits.commit("sea", "main", message="later", committer="ann").id
    owned = [sea.workspaces.has_commit("sea", name, each) for each in (before, source, own, later)]
    assert owned == [False, True, True, False]


def test_what_a_restore_drops_returns_by_undo_and_stays(sea, clock):
    name = create(sea).workspace.branch
    put(sea, name, "out/a.csv", b"1")
    sea.workspaces.restore("sea", name, "source")
    assert paths(sea, name) == ["in/a.csv"]
    for _ in range(2):  # the cleaner runs before the undo, and after it
        clock.advance(600)
        sea.core.cleaner.clean()
        if paths(sea, name) == ["in/a.csv"]:
            sea.operations.undo("sea")
        assert read(sea, name, "out/a.csv") == b"1"


def test_a_protected_branch_is_not_moved_back_by_a_restore(sea):
    name = create(sea).workspace.branch
    put(sea, name, "out/a.csv", b"1")
    made = sea.workspaces.checkpoint("sea", name, "one", committer="ann")
    sea.branches.set_expiry("sea", name, 0)
    sea.protection.replace("sea", [name], approvals={name: 1})
    with pytest.raises(ProtectedBranch):
        sea.workspaces.restore("sea", name, "source")
    assert sea.branches.get("sea", name).commit_id == made.commit_id


def test_a_workspace_in_a_read_only_repository_does_not_change(lake):
    lake.repositories.create("land", "local://land", read_only=True)
    lake.branches.create("land", "ws", "main", force=True)
    stored = lake.core.repositories.get("land")
    workspace = Workspace(
        branch="ws",
        source="main",
        source_commit=lake.branches.get("land", "ws").commit_id,
        created_at=0,
        creator=Principal("ann", 0),
    )
    writes, expect = lake.core.workspaces.creation(stored, workspace)
    assert lake.core.keyvalue.apply(writes, expect)
    with pytest.raises(ReadOnlyRepository):
        lake.workspaces.restore("land", "ws", "source")
    with pytest.raises(ReadOnlyRepository):
        lake.workspaces.checkpoint("land", "ws", "one", committer="ann")
    assert not lake.workspaces.get("land", "ws").workspace.checkpoints


def test_history_that_others_move_a_workspace_to_is_not_its_own(sea):
    first = sea.branches.get("sea", "main").commit_id
    for path in ("in/b.csv", "in/c.csv"):
        put(sea, "main", path, b"1")
        sea.commits.commit("sea", "main", message=path, committer="ann")
    name = create(sea).workspace.branch
    sea.branches.hard_reset("sea", name, "main~1")
    assert not sea.workspaces.has_commit("sea", name, first)
