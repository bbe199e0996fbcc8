"""Expiry of branches: those whose time is over are deleted, by an operation like any other.

A branch that cannot be deleted now is tried again later: while it is the source of an open pull
request, while it is protected, and while a hook before its deletion refuses that. It cannot be
changed in the meantime, and the keys of its workspace are refused.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec

from anabranch.catalog.references.branches import Branches
from anabranch.errors import AnabranchError, Conflict, Gone, NotFound
from anabranch.model.caller import Caller, acting_as
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.records.expiring_branches import (
    DueBranch,
    due_branches,
    forget_due,
    postponed,
)
from anabranch.versioning.staging.extra_writes import ExtraWrites

__all__ = ["RETRY_SECONDS", "BranchExpiry"]

RETRY_SECONDS = 600
"""When a branch that could not be deleted is tried again."""

_ACTION = "expireBranch"
_log = logging.getLogger(__name__)


class BranchExpiry:
    """Deletes the branches of all repositories whose time is over."""

    def __init__(self, core: Core, branches: Branches, clock: Callable[[], float]) -> None:
        self._core = core
        self._branches = branches
        self._clock = clock

    def delete_due(self) -> int:
        """Deletes the branches whose time is over; returns their number."""
        with acting_as(Caller(action=_ACTION)):
            due = list(due_branches(self._core.keyvalue, self._clock()))
            return sum(self._delete(each) for each in due)

    def _delete(self, due: DueBranch) -> bool:
        try:
            repository = self._core.repositories.get(due.repository)
            stored = self._core.branches.read(repository, due.branch)
        except (NotFound, Gone):
            return self._forget(due)
        except AnabranchError as error:
            _log.info("%s/%s cannot be read now: %s", due.repository, due.branch, error.message)
            return False
        if repository.partition != due.partition or not self._core.branches.is_expired(
            stored.branch
        ):
            return self._forget(due)
        try:
            self._require_no_pull(repository, due.branch)
            condition = StillExpired(self._core, repository, due.branch)
            self._branches.delete(due.repository, due.branch, extra_writes=[condition])
        except NotFound:
            return self._forget(due)
        except AnabranchError as error:
            _log.info("%s/%s stays for now: %s", due.repository, due.branch, error.message)
            self._core.keyvalue.apply(postponed(due, int(self._clock()) + RETRY_SECONDS))
            return False
        self._forget(due)
        return True

    def _require_no_pull(self, repository: Repository, branch: str) -> None:
        for pull in self._core.pulls.open_from(repository, branch):
            raise Conflict(
                f"it is the source of pull request {pull.id}",
                kind="branch_is_proposed",
                hint="Merge or close the pull request.",
            )

    def _forget(self, due: DueBranch) -> bool:
        self._core.keyvalue.apply([forget_due(due)])
        return False


class StillExpired(msgspec.Struct, frozen=True):
    """The condition of a deletion: the branch was not given more time."""

    core: Core
    repository: Repository
    branch: str

    def writes_for(self, _: object, /) -> ExtraWrites:
        """Returns the condition. Raises Conflict if the branch has more time now."""
        stored = self.core.branches.read(self.repository, self.branch)
        if not self.core.branches.is_expired(stored.branch):
            raise Conflict(
                "it was given more time", kind="branch_not_expired", hint="Nothing is to be done."
            )
        return (), [stored.unchanged(self.repository)]
