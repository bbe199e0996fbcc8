"""Operations: the changes of a repository's references, as its operation log records them."""

from __future__ import annotations

import msgspec

from anabranch.model.references.branch import Branch
from anabranch.model.references.tag import Tag

__all__ = ["BranchChanged", "LoggedOperation", "ReferenceChanged", "TagChanged"]


class BranchChanged(msgspec.Struct, frozen=True, tag="branch", omit_defaults=True):
    """A branch before and after an operation; None where it did not exist. If both name the same
    commit, the operation has discarded staged changes, or shown or hidden the branch.
    """

    before: Branch | None = None
    after: Branch | None = None

    @property
    def name(self) -> str:
        """The branch's name."""
        return (self.before or self.after or _NO_BRANCH).id


class TagChanged(msgspec.Struct, frozen=True, tag="tag", omit_defaults=True):
    """A tag before and after an operation; None where it did not exist."""

    before: Tag | None = None
    after: Tag | None = None

    @property
    def name(self) -> str:
        """The tag's name."""
        return (self.before or self.after or _NO_TAG).id


ReferenceChanged = BranchChanged | TagChanged

_NO_BRANCH = Branch(id="", commit_id="", staging_token="")
_NO_TAG = Tag(id="", commit_id="")


class LoggedOperation(msgspec.Struct, frozen=True, kw_only=True):
    """An operation: when it was made, in seconds since 1970, by which user, by which request, which
    is empty for a program that has opened the stores itself, by which operation of REST or S3, and
    what it changed.
    """

    id: str
    time: float
    user: str
    request_id: str
    action: str
    changes: tuple[ReferenceChanged, ...]
