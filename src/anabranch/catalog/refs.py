"""References: compared with each other and merged."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.catalog.wording import reference_errors
from anabranch.errors import Invalid, NotFound
from anabranch.model.change import Change
from anabranch.model.commit import Commit
from anabranch.model.page import Page
from anabranch.model.repository import Repository
from anabranch.versioning import keys
from anabranch.versioning.core import Core
from anabranch.versioning.extra_writes import Beside
from anabranch.versioning.merge import check_strategy
from anabranch.versioning.references import STAGING, Resolved
from anabranch.versioning.repositories import check_writable

__all__ = ["Refs"]


class Refs:
    """The use cases of two references."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def diff(
        self,
        repository: str,
        left: str,
        right: str,
        *,
        two_dot: bool = False,
        prefix: str = "",
        after: str = "",
        delimiter: str = "",
        amount: int,
    ) -> Page[Change]:
        """Returns a page of what merging `right` into `left` would change, or, `two_dot`, of how
        they differ. `right` may be `branch$`: what is staged there counts too.
        """
        core = self._core
        found = core.repositories.get(repository)
        if two_dot:
            left_commit = core.references.commit(found, left)
            resolved = self._right_side(found, right)
        else:
            with reference_errors(f"get commit by ref {right}"):
                resolved = self._right_side(found, right)
            with reference_errors(f"get commit by branch {left}"):
                left_commit = core.references.commit(found, left)
        page = {"prefix": prefix, "after": after, "delimiter": delimiter}
        with (
            core.difference.tree_at(found, Resolved(left_commit.id)) as ours,
            core.difference.tree_at(found, resolved) as theirs,
        ):
            if two_dot:
                return core.difference.two_dot(ours, theirs, **page, amount=amount)
            right_commit = core.commits.get(found, resolved.commit_id)
            base = core.merging.base(found, left_commit, right_commit)
            with core.difference.tree_at(found, Resolved(base.id)) as common:
                return core.difference.three_dot(ours, theirs, common, **page, amount=amount)

    def _right_side(self, repository: Repository, right: str) -> Resolved:
        """Returns what the right side means: staged changes count only where `$` asks for them."""
        if right.endswith(STAGING):
            return self._core.references.resolve(repository, right)
        return Resolved(self._core.references.commit(repository, right).id)

    def merge(
        self,
        repository: str,
        source: str,
        destination: str,
        *,
        committer: str,
        message: str = "",
        metadata: Mapping[str, str] | None = None,
        strategy: str = "",
        squash: bool = False,
        allow_empty: bool = False,
        force: bool = False,
        beside: Beside[Commit] | None = None,
    ) -> str:
        """Merges a reference into a branch; returns the id of the new commit. `beside` adds writes
        to the commit's.

        Raises DirtyBranch if there are uncommitted changes, even where there is no source;
        MergeConflict, with the paths, when both sides changed the same ones.
        """
        sides = keys.branch(destination), keys.branch(source)
        with self._core.foreseen(("merge", repository), *sides):
            found = self._core.repositories.get(repository)
            check_writable(found, force=force)
            check_strategy(strategy)
            known = self._core.branches.read(found, destination)
            try:
                with reference_errors(f"update branch {destination}: get commit by ref {source}"):
                    theirs = self._core.references.commit(found, source)
            except (NotFound, Invalid):
                # of the two faults, lakeFS reports this one
                self._core.committing.require_unstaged(found, known.branch)
                raise
        return self._core.merging.merge(
            found,
            theirs,
            destination,
            source=source,
            known=known,
            committer=committer,
            message=message,
            metadata=metadata,
            strategy=strategy,
            squash=squash,
            allow_empty=allow_empty or force,
            beside=beside,
        ).id

    def merge_base(self, repository: str, source: str, destination: str) -> tuple[str, str, str]:
        """Returns the ids of the source's commit, the destination's, and their merge base."""
        found = self._core.repositories.get(repository)
        with reference_errors(f"get commit by ref {destination}"):
            right = self._core.references.commit(found, destination)
        with reference_errors(f"get commit by branch {source}"):
            left = self._core.references.commit(found, source)
        return left.id, right.id, self._core.merging.base(found, left, right).id
