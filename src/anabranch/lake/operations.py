"""The part of a lake that concerns the operation log, and undo."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from anabranch.model.page import Page
from anabranch.model.references.operation import LoggedOperation

__all__ = ["Operations"]


@runtime_checkable
class Operations(Protocol):
    """The operations that have changed the branches and tags of repositories."""

    def list(self, repository: str, *, after: str = "", amount: int) -> Page[LoggedOperation]:
        """Returns a page of operations, the newest first: of those before `after`, or of all."""

    def get(self, repository: str, operation_id: str) -> LoggedOperation:
        """Returns an operation by its id, or by the beginning of it. Raises NotFound."""

    def undo(
        self, repository: str, operation_id: str = "", *, force: bool = False
    ) -> LoggedOperation:
        """Changes the references of an operation back to what they were before it, and returns it:
        by default the caller's last one that is not undone.

        Raises NotFound, and Conflict if it is undone already or given up, or if one of its
        references has changed since.
        """

    def restore_branch(self, repository: str, name: str, *, force: bool = False) -> LoggedOperation:
        """Brings a deleted branch back with what was staged on it, and returns the operation that
        had deleted it. Raises NotFound and Conflict.
        """

    def restore_tag(self, repository: str, name: str, *, force: bool = False) -> LoggedOperation:
        """Brings a deleted tag back, and returns the operation that had deleted it. Raises NotFound
        and Conflict.
        """

    def restore(
        self, repository: str, operation_id: str, *, force: bool = False
    ) -> LoggedOperation:
        """Changes all branches and tags back to what they were right after an operation, and
        returns it. Pull requests whose merges are taken back are open again. Raises NotFound and
        Conflict.
        """

    def give_up(self, repository: str, operation_id: str) -> LoggedOperation:
        """Gives up what only an operation needs to garbage collection, and returns it: it can no
        longer be undone. Raises NotFound.
        """

    def undo_days(self, repository: str) -> int:
        """Returns for how many days operations can be undone."""

    def set_undo_days(self, repository: str, days: int | None) -> int:
        """Sets for how many days operations can be undone, None for those of the installation;
        returns the number that holds then. Raises Invalid.
        """
