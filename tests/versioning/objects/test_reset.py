"""Reset: staged changes taken back, all or some, also those that a commit has sealed."""

from __future__ import annotations

import pytest

from anabranch.errors import Conflict, Invalid
from anabranch.versioning.objects import kept_changes
from anabranch.versioning.objects import reset as reset_module

COMMITTED = {"a": "x", "p_1": "x", "p_2": "x"}
STAGED = {"a": "y", "p_1": "y", "p_3": "x", "q": "x"}


@pytest.fixture(params=["one area", "a sealed area beneath"])
def dirty(request, versions):
    """The repository with changes of every kind on main: changed, added, removed (p_2)."""
    versions.commit("main", **COMMITTED)
    if request.param == "one area":
        versions.put("main", **STAGED)
        versions.remove("main", "p_2")
        return versions
    versions.put("main", a="y", p_1="z", p_3="z")
    versions.remove("main", "p_2")
    versions.core.committer.seal(versions.repository, "main")
    versions.put("main", p_1="y", p_3="x", q="x")
    return versions


def reset(versions, kind, path=""):
    versions.core.reset.reset(versions.repository, "main", kind, path)


def after_all():
    return {path: word for path, word in {**COMMITTED, **STAGED}.items() if path != "p_2"}


def test_the_branch_is_dirty(dirty):
    assert dirty.contents("main") == after_all()


def test_everything_is_taken_back(dirty):
    reset(dirty, "reset")
    assert dirty.contents("main") == COMMITTED
    stored = dirty.core.branches.read(dirty.repository, "main")
    head = stored.branch.commit_id
    assert not dirty.core.differ.is_dirty(dirty.repository, head, stored.branch.tokens)
    reset(dirty, "reset")
    assert dirty.contents("main") == COMMITTED


@pytest.mark.parametrize("path", ["a", "p_1", "p_2", "p_3", "q", "absent"])
def test_one_object_is_taken_back_and_no_other(dirty, path):
    reset(dirty, "object", path)
    wanted = after_all()
    wanted.pop(path, None)
    if path in COMMITTED:
        wanted[path] = COMMITTED[path]
    assert dirty.contents("main") == wanted


def test_reset_of_a_prefix_changes_nothing_else(dirty):
    reset(dirty, "common_prefix", "p_")
    assert dirty.contents("main") == {"a": "y", "p_1": "x", "p_2": "x", "q": "x"}
    reset(dirty, "common_prefix", "")
    assert dirty.contents("main") == COMMITTED


def test_what_was_reset_is_not_committed(dirty):
    reset(dirty, "object", "a")
    dirty.commit("main")
    assert dirty.contents("main")["a"] == "x"
    reset(dirty, "reset")
    assert dirty.contents("main")["q"] == "x"


def test_an_unknown_kind_is_refused_and_changes_nothing(dirty):
    with pytest.raises(Invalid):
        reset(dirty, "everything")
    with pytest.raises(Invalid):
        reset(dirty, "object", "")
    assert dirty.contents("main") == after_all()


def last(versions):
    return versions.core.operation_log.list(versions.repository, amount=1).items[0]


def undo(versions, operation_id):
    plan = versions.core.undo.plan_undo(versions.repository, operation_id)
    assert versions.core.undo.apply(plan)


@pytest.mark.parametrize("batch", [1, 2, 1000])
@pytest.mark.parametrize(
    ("kind", "path"),
    [("common_prefix", "p_"), ("common_prefix", ""), *(("object", each) for each in ("a", "p_2"))],
)
@pytest.mark.sample(12)
def test_what_was_reset_returns_and_only_that(dirty, kind, path, batch, monkeypatch):
    monkeypatch.setattr(reset_module, "_BATCH_SIZE", batch)
    before = last(dirty)
    for _ in range(3):
        reset(dirty, kind, path)
        assert dirty.contents("main") != after_all()
        operation = last(dirty)
        (change,) = operation.changes
        assert change.is_of_some_paths
        assert dirty.core.operation_log.list(dirty.repository, amount=2).items[1].id == before.id
        undo(dirty, operation.id)
        assert dirty.contents("main") == after_all()
        before = last(dirty)
        assert before.id != operation.id
    dirty.commit("main")
    assert dirty.contents("main") == after_all()


def test_an_undone_reset_is_not_undone_again(dirty):
    reset(dirty, "object", "a")
    operation = last(dirty)
    undo(dirty, operation.id)
    with pytest.raises(Conflict, match="undone already"):
        undo(dirty, operation.id)
    with pytest.raises(Conflict, match="uncommitted"):
        undo(dirty, last(dirty).id)
    assert dirty.contents("main") == after_all()


def test_later_changes_at_these_paths_are_in_the_way_and_others_are_not(dirty):
    reset(dirty, "common_prefix", "p_")
    operation = last(dirty)
    dirty.put("main", z="z")
    dirty.put("main", p_3="later")
    with pytest.raises(Conflict, match="other changes") as caught:
        undo(dirty, operation.id)
    assert "p_3" not in f"{caught.value} {caught.value.hint}"
    reset(dirty, "object", "p_3")
    undo(dirty, operation.id)
    assert dirty.contents("main") == after_all() | {"z": "z"}


def test_a_change_between_plan_and_undo_is_not_lost(dirty):
    reset(dirty, "common_prefix", "p_")
    plan = dirty.core.undo.plan_undo(dirty.repository, last(dirty).id)
    dirty.put("main", p_1="later")
    assert not dirty.core.undo.apply(plan)
    assert dirty.contents("main")["p_1"] == "later"


def test_a_commit_and_a_deletion_since_are_in_the_way(dirty):
    reset(dirty, "common_prefix", "p_")
    operation = last(dirty)
    dirty.commit("main")
    with pytest.raises(Conflict, match="has moved since"):
        undo(dirty, operation.id)


def test_resets_in_parts_return_in_any_order(dirty):
    operations = []
    for path in ("a", "p_1", "p_2", "p_3", "q"):
        reset(dirty, "object", path)
        operations.append(last(dirty).id)
    assert dirty.contents("main") == COMMITTED
    reset(dirty, "reset")
    for number in (3, 0, 4, 1, 2):
        undo(dirty, operations[number])
    assert dirty.contents("main") == after_all()


def test_where_nothing_is_staged_nothing_is_recorded(dirty):
    before = last(dirty)
    reset(dirty, "object", "absent")
    assert last(dirty) == before
    reset(dirty, "common_prefix", "p_")
    once = last(dirty)
    reset(dirty, "common_prefix", "p_")
    assert last(dirty) == once


def test_more_than_so_many_changes_are_not_kept(dirty, monkeypatch):
    monkeypatch.setattr(reset_module, "MAX_KEPT", 2)
    reset(dirty, "common_prefix", "p_")
    operation = last(dirty)
    assert operation.given_up_at
    assert operation.discarded == []
    assert dirty.contents("main") == {"a": "y", "p_1": "x", "p_2": "x", "q": "x"}
    with pytest.raises(Conflict, match="given up"):
        undo(dirty, operation.id)
    assert kept_changes.MAX_KEPT >= 10_000


def test_what_was_given_up_is_dropped(dirty):
    reset(dirty, "common_prefix", "p_")
    operation = last(dirty)
    areas = operation.discarded
    assert list(dirty.core.keyvalue.scan(areas[0]))
    dirty.core.operation_retention.give_up(dirty.repository, operation.id)
    waiting = {key.decode() for key, _ in dirty.core.keyvalue.scan("cleanup-tokens")}
    assert set(areas) <= waiting
    with pytest.raises(Conflict, match="given up"):
        undo(dirty, operation.id)
    assert dirty.contents("main") == {"a": "y", "p_1": "x", "p_2": "x", "q": "x"}


def test_a_reset_goes_on_in_another_operation_if_its_first_is_given_up(dirty, monkeypatch):
    monkeypatch.setattr(reset_module, "_BATCH_SIZE", 1)
    moved = kept_changes.KeptChanges.moved
    kept = []

    def give_up_first(self, *arguments):
        if len(kept) == 1:
            dirty.core.operation_retention.give_up(dirty.repository, last(dirty).id)
        result = moved(self, *arguments)
        kept.append(result)
        return result

    monkeypatch.setattr(kept_changes.KeptChanges, "moved", give_up_first)
    reset(dirty, "common_prefix", "p_")
    second, first = dirty.core.operation_log.list(dirty.repository, amount=2).items
    assert first.given_up_at
    undo(dirty, second.id)
    assert dirty.contents("main") == after_all() | {"p_1": "x"}
