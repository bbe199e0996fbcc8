"""Undo: what an operation has changed is as before, or a conflict says what came after."""

from __future__ import annotations

import pytest

from anabranch.errors import Conflict, Denied, NotFound
from anabranch.keyvalue.contract import Write
from anabranch.versioning.operations.record import SINCE, operations_partition
from anabranch.versioning.records import keys


def undo(versions, operation=None):
    """Undoes an operation, or the last one; returns it."""
    operation = operation or next(versions.core.operation_log.all(versions.repository))
    plan = versions.core.undo.plan_undo(versions.repository, operation.id)
    assert versions.core.undo.apply(plan)
    return plan.operation


def names(versions):
    return [branch.id for branch in versions.core.branches.all(versions.repository)]


def test_a_deleted_branch_returns_with_its_commits_and_staged_changes(versions):
    versions.branch("dev")
    versions.commit("dev", a="committed")
    versions.put("dev", b="staged")
    versions.core.committer.seal(versions.repository, "dev")
    versions.put("dev", a="changed")
    versions.remove("dev", "missing")
    head = versions.head("dev")
    versions.core.branches.delete(versions.repository, "dev")
    versions.clock.advance(3600)
    versions.core.cleaner.clean()
    assert names(versions) == ["main"]
    undone = undo(versions)
    assert versions.head("dev") == head
    assert versions.contents("dev") == {"a": "changed", "b": "staged"}
    assert undone.undone_at == versions.clock()
    # what is staged now is committed with it
    versions.commit("dev", c="new")
    assert versions.contents("dev@") == {"a": "changed", "b": "staged", "c": "new"}


def test_a_reset_is_undone(versions):
    versions.commit("main", a="one")
    versions.put("main", a="two", b="staged")
    versions.core.reset.reset(versions.repository, "main", "reset")
    assert versions.contents("main") == {"a": "one"}
    versions.clock.advance(3600)
    versions.core.cleaner.clean()
    undo(versions)
    assert versions.contents("main") == {"a": "two", "b": "staged"}


def test_a_commit_is_undone_and_stays_readable(versions):
    first = versions.commit("main", a="one")
    second = versions.commit("main", a="two")
    undo(versions)
    assert versions.head("main") == first
    assert versions.contents(second.id) == {"a": "two"}
    undo(versions)  # the undo
    assert versions.head("main") == second


def test_a_created_branch_and_tag_are_deleted(versions):
    versions.branch("dev")
    undo(versions)
    assert names(versions) == ["main"]
    versions.core.tags.create(versions.repository, "v1", versions.head("main").id)
    undo(versions)
    assert versions.core.tags.find(versions.repository, "v1") is None
    undo(versions)  # the undo
    assert versions.core.tags.get(versions.repository, "v1").commit_id == versions.head("main").id


def test_what_came_after_is_said(versions):
    versions.commit("main", a="one")
    operation = next(versions.core.operation_log.all(versions.repository))
    versions.commit("main", a="two")
    with pytest.raises(Conflict, match="main has moved since"):
        undo(versions, operation)
    versions.branch("dev")
    created = next(versions.core.operation_log.all(versions.repository))
    versions.put("dev", b="staged")
    with pytest.raises(Conflict, match="uncommitted changes"):
        undo(versions, created)
    versions.core.branches.delete(versions.repository, "dev")
    deleted = next(versions.core.operation_log.all(versions.repository))
    versions.branch("dev")
    with pytest.raises(Conflict, match="another branch dev"):
        undo(versions, deleted)
    assert versions.contents("main") == {"a": "two"}


def test_an_operation_is_undone_once(versions):
    versions.branch("dev")
    versions.core.branches.delete(versions.repository, "dev")
    deleted = next(versions.core.operation_log.all(versions.repository))
    undo(versions, deleted)
    with pytest.raises(Conflict, match="undone already"):
        undo(versions, deleted)


def test_the_first_branch_is_not_deleted_by_undo(versions):
    with pytest.raises(Denied):
        undo(versions)
    with pytest.raises(NotFound):
        versions.core.undo.plan_undo(versions.repository, "0" * 19)


def test_what_an_undone_operation_has_kept_is_the_branch_s(versions):
    """A branch that was deleted, brought back and committed to keeps its changes when the log
    forgets the deletion.
    """
    versions.branch("dev")
    versions.put("dev", a="staged")
    versions.core.branches.delete(versions.repository, "dev")
    undo(versions)
    versions.clock.advance(31 * 86_400)
    assert versions.core.operation_retention.compact(versions.repository) == 4
    versions.clock.advance(3600)
    versions.core.cleaner.clean()
    assert versions.contents("dev") == {"a": "staged"}


def test_what_is_forgotten_is_discarded(versions):
    versions.branch("dev")
    versions.put("dev", a="staged")
    (token,) = versions.core.branches.read(versions.repository, "dev").branch.tokens
    versions.core.branches.delete(versions.repository, "dev")
    deleted = next(versions.core.operation_log.all(versions.repository))
    versions.clock.advance(29 * 86_400)
    assert versions.core.operation_retention.compact(versions.repository) == 0
    versions.clock.advance(2 * 86_400)
    assert versions.core.operation_retention.compact(versions.repository) == 3
    versions.clock.advance(3600)
    versions.core.cleaner.clean()
    assert list(versions.store.scan(token)) == []
    with pytest.raises(NotFound):
        undo(versions, deleted)
    own = operations_partition(versions.repository.partition)
    assert [key for key, _ in versions.store.scan(own)] == [SINCE]


def test_a_restore_leaves_what_other_operations_have_kept(versions):
    """Of an operation on two branches, one gets its changes back; those of the other remain."""
    core, repository = versions.core, versions.repository
    versions.branch("dev")
    versions.branch("fix")
    kept = next(core.operation_log.all(repository))
    core.branches.delete(repository, "dev")
    versions.branch("dev")
    versions.put("dev", a="second")
    versions.put("fix", b="staged")
    token = core.branches.read(repository, "dev").branch.staging_token
    both = [Write(repository.partition, keys.branch(name), None) for name in ("dev", "fix")]
    assert core.keyvalue.apply(both)
    deleted = next(core.operation_log.all(repository))
    assert core.undo.apply(core.undo.plan_restore(repository, kept.id))
    assert versions.contents("fix") == {"b": "staged"}
    (dev, fix) = sorted(
        core.operation_log.get(repository, deleted.id).changes, key=lambda c: c.name
    )
    assert (dev.discarded, fix.discarded) == ((token,), ())
    versions.clock.advance(31 * 86_400)
    core.operation_retention.compact(repository)
    versions.clock.advance(3600)
    core.cleaner.clean()
    assert list(versions.store.scan(token)) == []


@pytest.mark.parametrize("moment", range(4))
@pytest.mark.parametrize("change", ["undo", "delete"])
def test_a_deleted_repository_leaves_no_area_that_moves_meanwhile(
    versions, monkeypatch, change, moment
):
    core, repository = versions.core, versions.repository
    versions.branch("dev")
    versions.put("dev", a="staged")
    token = core.branches.read(repository, "dev").branch.staging_token
    if change == "undo":
        core.branches.delete(repository, "dev")
        plan = core.undo.plan_undo(repository, next(core.operation_log.all(repository)).id)
    drop, drops = core.keyvalue.drop, []

    def then_changed(partition):
        drops.append(partition)
        if len(drops) == moment + 1:
            if change == "undo":
                core.undo.apply(plan)
            elif core.branches.find(repository, "dev") is not None:
                core.branches.delete(repository, "dev")
        drop(partition)

    monkeypatch.setattr(core.keyvalue, "drop", then_changed)
    core.repositories.delete(repository.id, forget=True)
    assert len(drops) > moment
    for partition in (token, repository.partition, operations_partition(repository.partition)):
        assert list(versions.store.scan(partition)) == []
