"""Reset: staged changes taken back, all or some, also those that a commit has sealed."""

from __future__ import annotations

import pytest

from anabranch.errors import Invalid

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
