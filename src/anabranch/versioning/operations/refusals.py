"""Why an operation cannot be undone."""

from __future__ import annotations

from anabranch.errors import Conflict
from anabranch.model.references.operation import LoggedOperation

__all__ = ["changed_since", "given_up", "out_of_order", "require_kept"]


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


def out_of_order(name: str) -> Conflict:
    """Returns the error of a restore that cannot know what a reference was."""
    return Conflict(
        f"what {name} was then is not known: its changes since are not recorded in the order in "
        "which they were made",
        kind="log_out_of_order",
        hint="The clocks of servers differ. Undo single operations, or create branches from the "
        "commits that `anabranch op log` shows.",
    )
