"""The one tree of errors.

    AnabranchError
    ├── NotFound              what was named does not exist
    ├── Invalid               the request itself is wrong; asking again will not help
    │   ├── NoChanges         there is nothing to commit or merge
    │   └── DirtyBranch       the branch has uncommitted changes
    ├── Unauthenticated       who asks is not known
    ├── Denied                who asks may not
    │   ├── ProtectedBranch
    │   └── ReadOnlyRepository
    ├── Conflict              the request clashes with what is there
    │   ├── AlreadyExists
    │   └── MergeConflict     both sides changed the same paths
    ├── PreconditionFailed    a condition that the request set does not hold
    ├── RangeNotSatisfiable   a byte range beyond the end
    ├── Gone                  it was there: data lost, or a repository being deleted
    ├── Truncated             a body ended before its end
    ├── NotSupported          this store or version cannot do that
    ├── Busy                  too much at once; asking again will help
    │   └── OutcomeUnknown    it may have been done, or not
    ├── StoreRefused          the object store will not, as it and the settings are now
    └── Corrupt               stored bytes are not what they must be

Classes group errors by what a handler would do; `kind` is stable, meant for programs, and says
which; `hint` tells a person what to do.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "AlreadyExists",
    "AnabranchError",
    "Busy",
    "Conflict",
    "Corrupt",
    "Denied",
    "DirtyBranch",
    "Gone",
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
    "Truncated",
    "Unauthenticated",
]


class AnabranchError(Exception):
    """An error with a message for people, a kind for programs and a hint of what to do."""

    kind: str = "error"
    hint: str = ""

    def __init__(self, message: str, *, kind: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if kind is not None:
            self.kind = kind
        if hint is not None:
            self.hint = hint


class NotFound(AnabranchError):
    """What was named does not exist; `kind` says what: repository_not_found, branch_not_found,
    tag_not_found, commit_not_found, object_not_found.
    """

    kind = "not_found"


class Invalid(AnabranchError):
    """The request itself is wrong; asking again will not help."""

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
    """Who asks is not known."""

    kind = "unauthenticated"
    hint = "Check the access key and its secret."


class Denied(AnabranchError):
    """Who asks may not."""

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
    """The request clashes with what is there."""

    kind = "conflict"


class AlreadyExists(Conflict):
    """The name is taken."""

    kind = "already_exists"


class MergeConflict(Conflict):
    """Both sides changed the same paths. `paths` are the first of them, `count` is how many."""

    kind = "merge_conflict"
    hint = "Choose a strategy (source-wins, dest-wins), or make the two sides agree."

    def __init__(self, message: str, *, paths: Sequence[str] = (), count: int = 0) -> None:
        super().__init__(message)
        self.paths = tuple(paths)
        self.count = count


class PreconditionFailed(AnabranchError):
    """A condition that the request set does not hold."""

    kind = "precondition_failed"


class RangeNotSatisfiable(AnabranchError):
    """A byte range that begins beyond the end; `size` is the object's, in bytes."""

    kind = "range_not_satisfiable"

    def __init__(self, message: str, *, size: int) -> None:
        super().__init__(message)
        self.size = size


class Gone(AnabranchError):
    """It was there: an object's data is lost, or its repository is being deleted."""

    kind = "gone"


class Truncated(AnabranchError):
    """A body ended before its end."""

    kind = "truncated"
    hint = "Send it again."


class NotSupported(AnabranchError):
    """This store or version cannot do that."""

    kind = "not_supported"


class Busy(AnabranchError):
    """Too much at once, or a disk that is full; asking again later may help."""

    kind = "busy"
    hint = "Try again later."


class OutcomeUnknown(Busy):
    """A write was sent and never answered: it has been made or not, but it will not be made later.

    Who has prepared something for it must leave that where it is.
    """

    kind = "outcome_unknown"
    hint = "Look whether it was done before you try again."


class StoreRefused(AnabranchError):
    """The object store will not: its bucket, its permissions or our credentials for it are not as
    they must be. Whoever runs the server must put that right; asking again will not help.
    """

    kind = "store_refused"


class Corrupt(AnabranchError):
    """Stored bytes are not what they must be; `path` names the file."""

    kind = "corrupt"
    hint = "Restore the file from a backup."

    def __init__(
        self, message: str, *, path: str = "", kind: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, kind=kind, hint=hint)
        self.path = path
