"""Use cases of the operation log: which operations have changed the references and settings of a
repository.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from operator import attrgetter

from anabranch.access.actors.actor import Actor
from anabranch.catalog.references.readable_references import readable_operation
from anabranch.catalog.references.undo import UndoOperations
from anabranch.errors import NotFound
from anabranch.model.page import Page, take_page
from anabranch.model.references.operation import LoggedOperation
from anabranch.versioning.operations.logged_records import INSTALLATION
from anabranch.versioning.operations.record import LogOwner

__all__ = ["Operations"]


class Operations(UndoOperations):
    """Use cases of the operation log. With an `actor`, the changes of branches, tags and settings
    that the actor may not read are left out, and operations without any others.
    """

    def list(
        self, repository: str, *, after: str = "", amount: int, actor: Actor | None = None
    ) -> Page[LoggedOperation]:
        """Returns a page of operations, the newest first: of those before `after`, or of all."""
        stored = self._core.repositories.get(repository)
        operations = self._core.operation_log.all(stored, after=after)
        visible = (readable_operation(stored, operation, actor) for operation in operations)
        found = (each for each in visible if each.changes or each.settings)
        return take_page(found, amount, attrgetter("id"))

    def get(
        self, repository: str, operation_id: str, actor: Actor | None = None
    ) -> LoggedOperation:
        """Returns an operation by its id, or by the beginning of it if no other begins so. Raises
        NotFound.
        """
        stored = self._core.repositories.get(repository)
        found = self._core.operation_log.get(stored, operation_id)
        operation = readable_operation(stored, found, actor)
        if not operation.changes and not operation.settings:
            raise NotFound("operation not found", kind="operation_not_found")
        return operation

    def readable(
        self, repository: str, operation: LoggedOperation, actor: Actor
    ) -> LoggedOperation:
        """Returns an operation of a repository with the changes that an actor may read."""
        return readable_operation(self._core.repositories.get(repository), operation, actor)

    def give_up(self, repository: str, operation_id: str) -> LoggedOperation:
        """Gives up what only an operation needs to garbage collection, and returns the operation:
        it can no longer be undone. Raises NotFound.
        """
        stored = self._core.repositories.get(repository)
        return self._core.operation_retention.give_up(stored, operation_id)

    def undo_days(self, repository: str) -> int:
        """Returns for how many days operations of a repository can be undone, and garbage
        collection keeps what that needs.
        """
        stored = self._core.repositories.get(repository)
        return self._core.operation_retention.undo_days(stored)

    def set_undo_days(self, repository: str, days: int | None) -> int:
        """Sets for how many days operations of a repository can be undone, None for those of the
        installation; returns the number that holds then. Raises Invalid.
        """
        stored = self._core.repositories.get(repository)
        self._core.operation_retention.set_undo_days(stored, days)
        return self._core.operation_retention.undo_days(stored)

    def compact(self) -> int:
        """Gives up and forgets operations of all repositories and of the installation that are old
        enough; returns how many were forgotten.
        """
        owners: Iterable[LogOwner] = chain([INSTALLATION], self._core.repositories.all())
        return sum(map(self._core.operation_retention.compact, owners))
