"""Operations: the changes of references, settings and access, as operation logs record them."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from anabranch.model.references.branch import Branch
from anabranch.model.references.tag import Tag

__all__ = [
    "DEFAULT_UNDO_DAYS",
    "MAX_UNDO_DAYS",
    "BranchChanged",
    "LoggedOperation",
    "ReferenceChanged",
    "SettingChanged",
    "TagChanged",
]

DEFAULT_UNDO_DAYS = 30
MAX_UNDO_DAYS = 3650


class BranchChanged(msgspec.Struct, frozen=True, tag="branch", omit_defaults=True):
    """A branch before and after an operation; None where it did not exist. If both name the same
    commit, the operation has discarded staged changes, or shown or hidden the branch. `discarded`
    are the staging areas that the operation has taken from the branch without committing them,
    newest first: they belong to the operation until it is undone or given up.
    """

    before: Branch | None = None
    after: Branch | None = None
    discarded: tuple[str, ...] = ()

    @property
    def is_of_some_paths(self) -> bool:
        """Whether it is a reset of a prefix or of one object: the branch has kept its areas, and
        what was thrown away is in the first of `discarded`. The second has the committed values
        that were staged instead, where the branch had changes in sealed areas.
        """
        return bool(self.discarded) and self.before == self.after

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


class SettingChanged(msgspec.Struct, frozen=True, omit_defaults=True):
    """A record before and after an operation, as it is stored; None where it did not exist. The
    `kind` is that of `versioning.operations.logged_records`, the name is empty where a repository
    has one record of it. Of records with secrets only their existence is known: they are empty. A
    server tells records as JSON documents.
    """

    kind: str
    name: str = ""
    before: bytes | None = None
    after: bytes | None = None


_NO_BRANCH = Branch(id="", commit_id="", staging_token="")
_NO_TAG = Tag(id="", commit_id="")


class LoggedOperation(msgspec.Struct, frozen=True, kw_only=True):
    """An operation: when it was made, in seconds since 1970, by which user, by which request, which
    is empty for a program that has opened the stores itself, by which operation of REST or S3, and
    what it changed: references, and settings or records of the installation. `undone_at` is when it
    was undone, and `given_up_at` when the objects that only it needs were given up to garbage
    collection, so that it cannot be undone; 0 if never.
    """

    id: str
    time: float
    user: str
    request_id: str
    action: str
    changes: tuple[ReferenceChanged, ...] = ()
    settings: tuple[SettingChanged, ...] = ()
    undone_at: float = 0
    given_up_at: float = 0
    record_id: str = ""
    """That of the user's record, which no later user of the name has; empty if it is not known."""
    workspace: str = ""
    """The branch of the workspace whose keys have made it; empty for the user's own."""

    def is_by(self, username: str, record_id: str) -> bool:
        """Returns whether it was made by a user, not by another one of that name."""
        return (self.user, self.record_id) == (username, record_id)

    @property
    def discarded(self) -> list[str]:
        """The staging areas that it has taken from branches."""
        branches = (each for each in self.changes if isinstance(each, BranchChanged))
        return [token for each in branches for token in each.discarded]

    def without_areas_of(self, changes: Iterable[ReferenceChanged]) -> LoggedOperation:
        """Returns it without the staging areas of the branches of those changes."""
        names = {each.name for each in changes if isinstance(each, BranchChanged)}
        kept = [
            msgspec.structs.replace(each, discarded=())
            if isinstance(each, BranchChanged) and each.name in names
            else each
            for each in self.changes
        ]
        return msgspec.structs.replace(self, changes=tuple(kept))
