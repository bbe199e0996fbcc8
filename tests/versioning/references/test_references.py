"""What references mean, and in which order names are looked up."""

from __future__ import annotations

import pytest

from anabranch.errors import Conflict, Invalid, NotFound


@pytest.fixture
def history(versions):
    """Main with three commits, the second of them tagged v1, a merge on top."""
    versions.commit("main", a="1")
    second = versions.commit("main", a="2")
    versions.core.tags.create(versions.repository, "v1", second.id)
    versions.branch("dev", "v1")
    versions.commit("dev", b="1")
    versions.commit("main", c="1")
    versions.merge("dev", "main")
    return versions


def test_each_kind_of_name_means_its_commit(history):
    second = history.head("v1")
    assert history.head(second.id) == second
    assert history.head(second.id[:8]) == second
    assert history.head("main~2") == second
    assert history.head("main^2~1") == second
    assert history.head("main^1^") == second
    assert history.head("dev~") == second
    assert history.head("main^0") == history.head("main")


@pytest.mark.parametrize("name", ["absent", "0" * 64, "0" * 8])
def test_a_name_that_means_nothing_is_not_found(history, name):
    with pytest.raises(NotFound):
        history.head(name)


@pytest.mark.parametrize(
    "name", ["", "main~9", "main^3", "v1^2", "main~x", "~1", "main^^^x", "v1$", "main$~1", "a b"]
)
@pytest.mark.sample(3)
def test_a_text_that_is_no_reference_is_invalid_or_not_found(history, name):
    with pytest.raises((Invalid, NotFound)) as refused:
        history.core.references.resolve(history.repository, name)
    assert refused.value.hint


def test_staged_changes_are_seen_through_the_branch_alone(history):
    history.put("main", z="1")
    assert "z" in history.contents("main")
    assert "z" in history.contents("main$")
    for name in ("main@", "main^0", history.head("main").id):
        assert "z" not in history.contents(name)
    with pytest.raises(Invalid):
        history.head("main$")


def test_a_branch_goes_before_the_beginning_of_a_commit_id(history):
    second = history.head("v1")
    name = second.id[:6]
    history.branch(name, "main")
    assert history.head(name) == history.head("main")


def test_no_branch_and_tag_have_one_name(history):
    with pytest.raises(Conflict):
        history.branch("v1")
    with pytest.raises(Conflict):
        history.core.tags.create(history.repository, "dev", history.head("main").id)
    whole = history.head("main").id
    with pytest.raises(Conflict):
        history.branch(whole)
