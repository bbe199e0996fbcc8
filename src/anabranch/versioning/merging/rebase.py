"""Rebases: a branch's own commits, made once more on top of another commit.

The commits that the other history lacks are replayed, oldest first, each as a three-way merge with
its parent as base. As `git rebase` does by default, merge commits are left out and the commits of
all their lines are replayed in one line; a commit is dropped if the new base has its patch, as
after a cherry-pick, or if it changes nothing any more, and one that never changed anything is kept;
and a commit whose parent is already below it stays as it is.

The branch moves once, after the last commit: the new commits are stored in the transaction that
moves it. A conflict changes nothing.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from anabranch import _kernel as kernel
from anabranch.errors import Invalid, MergeConflict
from anabranch.model.commits.commit import Commit, CommitFields
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.commits.branch_change import BranchChange, Made
from anabranch.versioning.commits.committer import Committer
from anabranch.versioning.history.commit_range import commit_range
from anabranch.versioning.history.commit_store import Commits
from anabranch.versioning.merging.conflicts import SideTree
from anabranch.versioning.merging.patches import Patches
from anabranch.versioning.merging.rules import NO_RULES, MergeRules
from anabranch.versioning.merging.tree_merger import TreeMerger, TreeMergers
from anabranch.versioning.references.branches import StoredBranch

__all__ = ["AUTHOR_KEY", "DATE_KEY", "MAX_REPLAYED", "ORIGIN_KEY", "Rebased", "Rebaser"]

ORIGIN_KEY = "rebase-origin"
AUTHOR_KEY = "rebase-committer"
DATE_KEY = "rebase-date"
MAX_REPLAYED = 1000
"""How many commits one rebase may replay: they are stored in one transaction."""


class Rebased(NamedTuple):
    """The branch's new head, and how many commits were replayed and dropped."""

    head: Commit
    replayed: int
    dropped: int


class Rebaser:
    """Replays the commits of branches, at most `max_replayed` in one rebase."""

    def __init__(
        self,
        commits: Commits,
        committer: Committer,
        tree_mergers: TreeMergers,
        patches: Patches,
        *,
        max_replayed: int = MAX_REPLAYED,
    ) -> None:
        self._commits = commits
        self._committer = committer
        self._tree_mergers = tree_mergers
        self._patches = patches
        self._max_replayed = max_replayed

    def rebase(
        self, change: BranchChange[Rebased], onto: Commit, *, rules: MergeRules = NO_RULES
    ) -> Rebased:
        """Replays a branch's commits onto a commit and moves the branch there.

        A replayed commit has the message and metadata of its original, the present time, and the
        committer of the change. Its metadata name the original (ORIGIN_KEY), and who committed the
        first original and when (AUTHOR_KEY, DATE_KEY), which git calls the author and the author
        date.

        Raises MergeConflict with the conflicting paths and commit, DirtyBranch, and Invalid (kind
        too_many_commits).
        """
        with self._tree_mergers.open(change.repository, rules) as trees:
            plan = RebaseCommits(
                self._commits, self._committer, trees, self._patches, onto, self._max_replayed
            )
            return self._committer.move_branch(change, plan)


class RebaseCommits(msgspec.Struct, frozen=True):
    """Plan of a branch's own commits on top of another commit."""

    commits: Commits
    committer: Committer
    trees: TreeMerger
    patches: Patches
    onto: Commit
    max_replayed: int

    def make(
        self, change: BranchChange[Rebased], stored: StoredBranch, head: Commit
    ) -> Made[Rebased]:
        """Returns the replayed commits. Raises as `Rebaser.rebase` does."""
        repository, onto = change.repository, self.onto
        self.committer.require_clean(repository, stored.branch)
        commits = self._own_commits(repository, head)
        applied = self.patches.applied(repository, commits, head, onto)
        self.trees.begin()
        made: list[Commit] = []
        tip, dropped = onto, 0
        for commit in commits:
            if commit.parents == (tip.id,):
                tip = commit
                continue
            replayed = None
            if commit.id not in applied:
                replayed = self._replay(change, tip, commit)
            if replayed is None:
                dropped += 1
            else:
                made.append(replayed)
                tip = replayed
        origins = [onto.id, *(commit.id for commit in commits)]
        return Made(
            commit=tip,
            result=Rebased(tip, len(made), dropped),
            earlier=made,
            # a branch that stays where it is refers to nothing new
            refers_to=[] if tip.id == head.id else origins,
            new_content=self.trees.new_content(),
        )

    def _own_commits(self, repository: Repository, head: Commit) -> list[Commit]:
        """Returns the commits to replay, oldest first."""
        found = commit_range(self.commits.reader(repository), self.onto.id, head.id)
        commits = [commit for commit in reversed(found) if not commit.is_merge]
        if len(commits) > self.max_replayed:
            raise Invalid(
                f"the branch has {len(commits)} commits of its own; at most {self.max_replayed} "
                "can be rebased at once",
                kind="too_many_commits",
                hint="Merge the branch, or make one commit of it by a squash merge.",
            )
        return commits

    def _replay(self, change: BranchChange[Rebased], tip: Commit, commit: Commit) -> Commit | None:
        """Returns a commit with the changes of `commit` on top of `tip`; None if there are none."""
        repository = change.repository
        base = SideTree(kernel.EMPTY_TREE_ID)
        if commit.parents:
            base = SideTree.of(self.commits.get(repository, commit.parents[0]))
        if self.patches.changes_nothing(repository, base.metarange_id, commit.metarange_id):
            metarange_id = tip.metarange_id
        else:
            metarange_id = _merge(self.trees, tip, commit, base)
            if self.patches.changes_nothing(repository, tip.metarange_id, metarange_id):
                return None
        date = datetime.fromtimestamp(commit.creation_date, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        author = {AUTHOR_KEY: commit.committer, DATE_KEY: date}
        fields = CommitFields(
            committer=change.fields.committer,
            message=commit.message,
            metadata={**author, **commit.metadata, ORIGIN_KEY: commit.id},
        )
        return self.commits.make_from(fields, metarange_id, [tip])


def _merge(trees: TreeMerger, tip: Commit, commit: Commit, base: SideTree) -> str:
    try:
        return trees.merge(SideTree.of(tip), SideTree.of(commit), base)
    except MergeConflict as error:
        raise MergeConflict(
            f"conflict found in commit {commit.id}: nothing was rebased",
            paths=error.paths,
            count=error.count,
            commit_id=commit.id,
            conflicts=error.conflicts,
            hint="Merge instead, or change the branch so that the commit and the new base do "
            "not change the same objects.",
        ) from error
