"""Pull requests whose commits reach their destination by another way than their own merge.

When a branch moves to commits that it did not have, the open pull requests into it whose source is
now contained in it become merged, in the write that moves the branch. A squash merge contains no
commit of its source; so the pull request stays open, as on git hosts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

import msgspec

from anabranch.keyvalue.contract import Expect, Write
from anabranch.model.commits.commit import Commit
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.history.commit_range import commit_range
from anabranch.versioning.history.commit_store import Commits
from anabranch.versioning.pulls.pulls import Pulls
from anabranch.versioning.references.branches import Branches
from anabranch.versioning.staging.extra_writes import ExtraWrites

__all__ = ["MergedPulls", "RecordMergedPulls"]


class MergedPulls:
    """Finds the pull requests that a change of a branch merges."""

    def __init__(self, pulls: Pulls, branches: Branches, commits: Commits) -> None:
        self._pulls = pulls
        self._branches = branches
        self._commits = commits

    def record(
        self,
        repository: Repository,
        branch: str,
        head_id: str,
        gained: Sequence[str],
        commit_id: str,
        *,
        except_ids: Collection[str] = (),
        moved: Mapping[str, str] = MappingProxyType({}),
    ) -> ExtraWrites:
        """Returns the writes that mark pull requests as merged by `commit_id`, on condition that
        they have not changed: for the step that moves a branch from the commit `head_id` to the
        commits `gained` and their ancestors, and other branches to those in `moved`, by name. The
        pull requests `except_ids` are left out.
        """
        open_pulls = self._pulls.open_into(repository, branch) if gained else ()
        pulls = [stored for stored in open_pulls if stored.pull.id not in except_ids]
        if not pulls:
            return (), ()
        heads = self._branches.heads(repository, {stored.pull.source for stored in pulls})
        heads |= moved
        contained = self._ancestors_among(repository, head_id, gained)
        writes: list[Write] = []
        conditions: list[Expect] = []
        for stored in pulls:
            head = heads.get(stored.pull.source, "")
            if head in contained:
                added, expect = self._pulls.record_merge(
                    repository, stored, source_commit_id=head, commit_id=commit_id
                )
                writes += added
                conditions += expect
        return writes, conditions

    def _ancestors_among(
        self, repository: Repository, head_id: str, gained: Sequence[str]
    ) -> set[str]:
        """Returns the commits that a branch will contain and does not contain at its head."""
        read = self._commits.reader(repository)
        ranges = (commit_range(read, head_id, commit_id) for commit_id in gained)
        return {commit.id for commits in ranges for commit in commits}


class RecordMergedPulls(msgspec.Struct, frozen=True):
    """The pull requests that a commit merges: a merge brings all parents but the first, the move of
    a branch `to_commit` that commit.
    """

    pulls: MergedPulls
    repository: Repository
    branch: str
    except_ids: frozenset[str] = frozenset()
    to_commit: bool = False

    def writes_from(self, head: Commit, commit: Commit, /) -> ExtraWrites:
        """Returns the writes of `MergedPulls.record`."""
        gained = [commit.id] if self.to_commit else commit.parents[1:]
        return self.pulls.record(
            *(self.repository, self.branch, head.id, gained, commit.id),
            except_ids=self.except_ids,
        )
