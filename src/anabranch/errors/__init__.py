"""The tree of all errors that Anabranch raises.

    AnabranchError
    ├── NotFound              the named thing does not exist
    ├── Invalid               the request is wrong; retrying it will not help
    │   ├── NoChanges         there is nothing to commit or merge
    │   └── DirtyBranch       the branch has uncommitted changes
    ├── Unauthenticated       the caller could not be authenticated
    ├── Throttled             too many failed logins; later ones may succeed
    ├── Denied                the caller lacks the permission
    │   ├── ProtectedBranch
    │   └── ReadOnlyRepository
    ├── Conflict              the request conflicts with the current state
    │   ├── AlreadyExists
    │   ├── CommitExpired     objects of a commit or a tree are being removed, or have been
    │   └── MergeConflict     both sides changed the same paths
    ├── PreconditionFailed    a condition of the request does not hold
    │   └── HookFailed        a hook refuses the change, or could not be run
    ├── RangeNotSatisfiable   a byte range begins beyond the end of an object
    ├── Gone                  it no longer exists: lost data, a repository being deleted
    ├── Truncated             a request body ended too early
    ├── NotSupported          this store or version does not support the operation
    ├── Busy                  overload or a full disk; retrying later may help
    │   └── OutcomeUnknown    a write may or may not have been made
    ├── StoreRefused          the object store's configuration forbids the operation
    └── Corrupt               stored data are damaged

A class groups errors that a handler treats alike; `kind` identifies the error for programs and is
stable; `hint` tells a person what to do. Without a hint of its own, an error has that of its kind
(`hints.py`), or else that of its class.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from anabranch.errors.hints import HINTS

__all__ = [
    "AlreadyExists",
    "AnabranchError",
    "Busy",
    "CommitExpired",
    "Conflict",
    "Corrupt",
    "Denied",
    "DirtyBranch",
    "Gone",
    "HookFailed",
    "Invalid",
    "MergeConflict",
    "NoChanges",
    "NotFound",
    "NotSupported",
    "OutcomeUnknown",
    "PreconditionFailed",
    "ProtectedBranch",
    "RangeNotSatisfiable",
    "ReadOnlyRepository",
    "StoreRefused",
    "Throttled",
    "Truncated",
    "Unauthenticated",
]


class AnabranchError(Exception):
    """An error with a message for people, a kind for programs and a hint on what to do."""

    kind: str = "error"
    hint: str = ""

    def __init__(self, message: str, *, kind: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if kind is not None:
            self.kind = kind
            self.hint = HINTS.get(kind, self.hint)
        if hint is not None:
            self.hint = hint


class NotFound(AnabranchError):
    """The named thing does not exist; `kind` says what it is: repository_not_found,
    branch_not_found, tag_not_found, commit_not_found, object_not_found.
    """

    kind = "not_found"


class Invalid(AnabranchError):
    """The request is wrong; retrying it will not help."""

    kind = "invalid"


class NoChanges(Invalid):
    """There is nothing to commit or merge."""

    kind = "no_changes"
    hint = "Allow an empty commit if you want one."


class DirtyBranch(Invalid):
    """The branch has uncommitted changes, which the operation would mix with its own."""

    kind = "dirty_branch"
    hint = "Commit or reset the branch first."


class Unauthenticated(AnabranchError):
    """The caller could not be authenticated."""

    kind = "unauthenticated"
    hint = "Check the access key and its secret."


class Throttled(AnabranchError):
    """Too many failed logins. `retry_after` is the time in seconds after which one may succeed."""

    kind = "throttled"
    hint = "Wait, and check the access key and its secret."

    def __init__(self, message: str, *, kind: str | None = None, retry_after: float = 1.0) -> None:
        super().__init__(message, kind=kind)
        self.retry_after = max(1, math.ceil(retry_after))


class Denied(AnabranchError):
    """The caller lacks the permission."""

    kind = "denied"


class ProtectedBranch(Denied):
    """The branch is protected against this change."""

    kind = "protected_branch"
    hint = "Write to another branch and merge it."


class ReadOnlyRepository(Denied):
    """The repository is read-only."""

    kind = "read_only_repository"
    hint = "Use force if you must."


class Conflict(AnabranchError):
    """The request conflicts with the current state."""

    kind = "conflict"


class AlreadyExists(Conflict):
    """The name is taken."""

    kind = "already_exists"
    hint = "Choose another name, or use what has this one."


class CommitExpired(Conflict):
    """An expired commit or tree cannot be used. If objects of it are `removed`, or too many to look
    up, it can be used after they have been restored; otherwise when no sweep is running.
    """

    kind = "commit_expired"

    def __init__(self, message: str, *, removed: bool, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.removed = removed


class MergeConflict(Conflict):
    """Both sides changed the same paths. `paths` are the first of them; `count` is the number of
    all, None if there are more than those: they are not counted then. `commit_id` is the commit
    whose changes conflict, if several are applied. `conflicts` tells more about these paths
    (`OpenConflict`) if the merge has rules for single paths.
    """

    kind = "merge_conflict"
    hint = "Choose a strategy (source-wins, dest-wins), or make the two sides agree."

    def __init__(
        self,
        message: str,
        *,
        paths: Sequence[str] = (),
        count: int | None = 0,
        commit_id: str = "",
        conflicts: Sequence[Any] = (),
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.conflicts = tuple(conflicts)
        self.paths = tuple(paths)
        self.count = count
        self.commit_id = commit_id


class PreconditionFailed(AnabranchError):
    """A condition of the request does not hold."""

    kind = "precondition_failed"


class HookFailed(PreconditionFailed):
    """A hook refuses the change that it examines, or could not be run."""

    kind = "hook_failed"
    hint = "`anabranch actions logs` prints what the hook wrote."


class RangeNotSatisfiable(AnabranchError):
    """A byte range begins beyond the end of an object, whose size in bytes is `size`."""

    kind = "range_not_satisfiable"
    hint = "Begin the range within the object's size, which Content-Range names."

    def __init__(self, message: str, *, size: int) -> None:
        super().__init__(message)
        self.size = size


class Gone(AnabranchError):
    """It no longer exists: an object's data are lost, or its repository is being deleted."""

    kind = "gone"
    hint = "Restore it from a backup, or create it again."


class Truncated(AnabranchError):
    """A request body ended before its declared length."""

    kind = "truncated"
    hint = "Send it again."


class NotSupported(AnabranchError):
    """This store or version does not support the operation."""

    kind = "not_supported"


class Busy(AnabranchError):
    """Overload, a full disk or an unavailable service; retrying later may help."""

    kind = "busy"
    hint = "Try again later."


class OutcomeUnknown(Busy):
    """A write was sent without a response: it was made or not, but it will not be made later.

    Callers must not undo what they have prepared for the write.
    """

    kind = "outcome_unknown"
    hint = "Check whether the change was made before you try again."


class StoreRefused(AnabranchError):
    """The object store rejects the operation: its bucket, its permissions or the server's
    credentials are misconfigured. The server's operator must correct this; retrying will not help.
    """

    kind = "store_refused"


class Corrupt(AnabranchError):
    """Stored data are damaged; `path` names the file."""

    kind = "corrupt"
    hint = "Restore the file from a backup."

    def __init__(
        self, message: str, *, path: str = "", kind: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, kind=kind, hint=hint)
        self.path = path
