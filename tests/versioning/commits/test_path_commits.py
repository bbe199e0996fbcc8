"""Commits of some paths while hooks examine them and others stage changes of the branch."""

from __future__ import annotations

import pytest

from anabranch.errors import Conflict
from anabranch.model.commits.commit import CommitFields
from anabranch.model.objects.entry import Entry
from anabranch.versioning.commits.branch_change import BranchChange


class _Entries:
    def apply(self, _current):
        return {
            "a": Entry(
                address="data/a-new", size=3, mtime=1, checksum="new", metadata={"word": "new"}
            )
        }


class _Examination:
    """Hooks that do something while they run."""

    def __init__(self, *deeds):
        self.deeds = list(deeds)

    def examine(self, _commit, _head):
        if self.deeds:
            self.deeds.pop(0)()


def commit_path(versions, *deeds):
    """Commits `new` at the path `a`; while hooks examine it, deeds are done."""
    versions.blocks.put("mem://sea/data/a-new", [b"new"])
    change = BranchChange(
        repository=versions.repository,
        branch="main",
        fields=CommitFields("ada", "a path", {}, None),
        examination=_Examination(*deeds),
    )
    return versions.core.path_commits.commit(change, ["a"], _Entries())


@pytest.mark.parametrize("is_sealed", [False, True], ids=["staged", "staged-after-a-seal"])
def test_a_path_that_is_staged_during_hooks_is_not_hidden(versions, other, is_sealed):
    versions.commit("main", a="x")

    def stage():
        if is_sealed:
            other.put("main", b="y")
            other.core.committer.seal(other.repository, "main")
        other.put("main", a="staged")

    with pytest.raises(Conflict, match="not committed"):
        commit_path(versions, stage)
    assert versions.contents("main@") == {"a": "x"}
    assert versions.contents("main")["a"] == "staged"


def test_what_is_staged_elsewhere_during_hooks_stays_staged(versions, other):
    versions.commit("main", a="x")
    commit = commit_path(versions, lambda: other.put("main", b="y"))
    assert versions.head("main") == commit
    assert versions.contents("main@") == {"a": "new"}
    assert versions.contents("main") == {"a": "new", "b": "y"}
