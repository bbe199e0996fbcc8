"""Plan of a hard reset: the branch moves to a commit that exists."""

from __future__ import annotations

import msgspec

from anabranch.catalog.error_messages import reference_errors
from anabranch.model.commits.commit import Commit, CommitFields
from anabranch.versioning.commits.branch_change import BranchChange, Made
from anabranch.versioning.core import Core
from anabranch.versioning.references.branches import StoredBranch

__all__ = ["NO_NEW_COMMIT", "ResetToReference"]

NO_NEW_COMMIT = CommitFields(committer="")


class ResetToReference(msgspec.Struct, frozen=True):
    """Moves a branch to the commit of a reference."""

    core: Core
    reference: str

    def make(self, change: BranchChange[Commit], stored: StoredBranch, _: Commit) -> Made[Commit]:
        """Returns the commit. Raises NotFound or Invalid for the reference, and DirtyBranch."""
        with reference_errors(f"hard-reset {change.branch} to {self.reference}"):
            commit = self.core.references.commit(change.repository, self.reference)
        self.core.committer.require_clean(change.repository, stored.branch)
        return Made(commit=commit, result=commit, refers_to=(commit.id,))
