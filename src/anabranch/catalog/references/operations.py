"""Use cases of the operation log: which operations have changed the references of a repository."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter

import msgspec

from anabranch.access.actors.actor import Actor
from anabranch.access.policies.permissions import Action, Permission, branch_arn, tag_arn
from anabranch.errors import NotFound
from anabranch.model.page import Page, take_page
from anabranch.model.references.operation import (
    BranchChanged,
    LoggedOperation,
    ReferenceChanged,
)
from anabranch.versioning.core import Core

__all__ = ["Operations"]


class Operations:
    """Use cases of the operation log. With an `actor`, the changes of branches and tags that the
    actor may not read are left out, and operations without any others.
    """

    def __init__(self, core: Core) -> None:
        self._core = core

    def list(
        self, repository: str, *, after: str = "", amount: int, actor: Actor | None = None
    ) -> Page[LoggedOperation]:
        """Returns a page of operations, the newest first: of those before `after`, or of all."""
        operations = self._core.operation_log.all(
            self._core.repositories.get(repository), after=after
        )
        visible = (_visible(repository, operation, actor) for operation in operations)
        found = (operation for operation in visible if operation.changes)
        return take_page(found, amount, attrgetter("id"))

    def get(
        self, repository: str, operation_id: str, actor: Actor | None = None
    ) -> LoggedOperation:
        """Returns an operation by its id, or by the beginning of it if no other begins so. Raises
        NotFound.
        """
        stored = self._core.repositories.get(repository)
        operation = _visible(repository, self._core.operation_log.get(stored, operation_id), actor)
        if not operation.changes:
            raise NotFound("operation not found", kind="operation_not_found")
        return operation

    def compact(self) -> int:
        """Forgets the operations of all repositories that are older than the retention; returns
        their number.
        """
        return sum(map(self._core.operation_log.compact, self._core.repositories.all()))


def _visible(repository: str, operation: LoggedOperation, actor: Actor | None) -> LoggedOperation:
    if actor is None or actor.is_unlimited:
        return operation
    return msgspec.structs.replace(
        operation, changes=tuple(_readable(repository, operation.changes, actor))
    )


def _readable(
    repository: str, changes: tuple[ReferenceChanged, ...], actor: Actor
) -> Iterator[ReferenceChanged]:
    for change in changes:
        if isinstance(change, BranchChanged):
            needed = Permission(Action.READ_BRANCH, branch_arn(repository, change.name))
        else:
            needed = Permission(Action.READ_TAG, tag_arn(repository, change.name))
        if actor.may(needed):
            yield change
