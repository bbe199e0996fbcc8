"""Why an operation cannot be undone."""

from __future__ import annotations

from anabranch.errors import Conflict
from anabranch.model.references.operation import LoggedOperation

__all__ = ["changed_since", "given_up", "require_kept"]


def changed_since(reason: str, hint: str = "") -> Conflict:
    """Returns the error of an operation that something since prevents from being undone."""
    return Conflict(
        f"the operation cannot be undone: {reason}",
        kind="changed_since",
        hint=hint or "`anabranch op log` shows what came after: undo that first.",
    )


def require_kept(operation: LoggedOperation) -> None:
    """Raises Conflict for an operation that is undone already or given up."""
    if operation.undone_at:
        raise Conflict(
            f"the operation {operation.id} is undone already",
            kind="operation_undone",
            hint="The undo is an operation itself, which can be undone.",
        )
    if operation.given_up_at:
        raise given_up(operation)


def given_up(operation: LoggedOperation) -> Conflict:
    """Returns the error of an operation whose objects were given up to garbage collection."""
    return Conflict(
        f"the operation {operation.id} can no longer be undone: what it needs was given up",
        kind="operation_given_up",
        hint="Commits that it names may still be there: create a branch from one.",
    )
