"""Expiry of branches: those whose time is over are deleted, by an operation like any other.

A branch that cannot be deleted now is tried again later: while it is the source of an open pull
request, while it is protected, and while a hook before its expiry or its deletion refuses that. It
cannot be changed in the meantime, and the keys of its workspace are refused.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

import msgspec

from anabranch.actions.change import Change, Subject
from anabranch.actions.changes import Changes
from anabranch.catalog.references.branches import Branches
from anabranch.catalog.references.hooked_deletions import HookedDeletions
from anabranch.errors import AnabranchError, Conflict, Gone, NotFound
from anabranch.keyvalue.contract import Expect
from anabranch.model.caller import Caller, acting_as
from anabranch.model.references.branch import Branch
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.records import keys, references
from anabranch.versioning.records.expiring_branches import (
    DueBranch,
    due_branches,
    forget_due,
    postponed,
    still_due,
)
from anabranch.versioning.references.references import Resolved
from anabranch.versioning.staging.extra_writes import ExtraWrites

__all__ = ["LEASE_SECONDS", "MAX_RETRY_SECONDS", "RETRY_SECONDS", "BranchExpiry"]

RETRY_SECONDS = 600
"""When a branch that could not be deleted is tried again."""
MAX_RETRY_SECONDS = 86_400
"""The longest time after which a branch that hooks have kept is tried again."""
LEASE_SECONDS = 3600
"""When another process tries again whose hooks were running in one that was killed."""

_WAIT_SECONDS = 600.0
_ACTION = "expireBranch"
_log = logging.getLogger(__name__)


class BranchExpiry:
    """Deletes the branches of all repositories whose time is over."""

    def __init__(
        self, core: Core, branches: Branches, changes: Changes, clock: Callable[[], float]
    ) -> None:
        self._core = core
        self._branches = branches
        self._changes = changes
        self._clock = clock
        self._hooked = HookedDeletions()

    def delete_due(self) -> int:
        """Deletes the branches whose time is over; returns their number. Those in whose files there
        are hooks are not among them: their deletion is begun, and goes on in other threads.
        """
        with acting_as(Caller(action=_ACTION)):
            due = list(due_branches(self._core.keyvalue, self._clock()))
            return sum(self._delete(each) for each in due)

    def wait(self, seconds: float = _WAIT_SECONDS) -> bool:
        """Waits until no deletion is going on; returns whether that is so in time."""
        return self._hooked.wait(seconds)

    def stop(self) -> None:
        """Begins no deletions with hooks any more, and waits a while for those going on."""
        self._hooked.stop()

    def _delete(self, due: DueBranch) -> bool:
        try:
            repository = self._core.repositories.get(due.repository)
            branch = self._core.branches.read(repository, due.branch).branch
        except (NotFound, Gone):
            return self._forget(due)
        except AnabranchError as error:
            _log.info("%s/%s cannot be read now: %s", due.repository, due.branch, error.message)
            return False
        if repository.partition != due.partition or not self._core.branches.is_expired(branch):
            return self._forget(due)
        head = branch.commit_id
        subject = Subject(branch=due.branch, source_ref=head, commit_id=head)
        try:
            change = self._changes.begin("expire-branch", repository, subject, Resolved(head))
        except AnabranchError as error:
            return self._postpone(due, branch, error)
        if not change.has_hooks:
            return self._delete_by(change, due, repository, branch)
        deletion = partial(self._delete_with_hooks, change, due, repository, branch)
        self._hooked.start(repository.partition, deletion)
        return False

    def _delete_with_hooks(
        self, change: Change, due: DueBranch, repository: Repository, branch: Branch
    ) -> None:
        """Takes a branch from other processes, and deletes it if its hooks let it."""
        until = int(self._clock()) + LEASE_SECONDS
        if self._core.keyvalue.apply(postponed(due, until), [still_due(due)]):
            taken = msgspec.structs.replace(due, expires_at=until)
            with acting_as(Caller(action=_ACTION)):
                self._delete_by(change, taken, repository, branch)

    def _delete_by(
        self, change: Change, due: DueBranch, repository: Repository, branch: Branch
    ) -> bool:
        try:
            if change.has_hooks:  # they do not learn of a branch that stays
                _require_no_pull(self._core, repository, due.branch)
                self._core.protection.admit_deletion(repository, due.branch)
            change.before()
            condition = StillExpired(self._core, repository, branch)
            self._branches.delete(due.repository, due.branch, extra_writes=[condition])
        except NotFound:
            return self._forget(due)
        except AnabranchError as error:
            return self._postpone(due, branch, error)
        self._forget(due)
        return True

    def _postpone(self, due: DueBranch, branch: Branch, error: AnabranchError) -> bool:
        """Has a branch tried again later: if hooks refuse, after as long as it has ended by now."""
        _log.info("%s/%s stays for now: %s", due.repository, due.branch, error.message)
        now = int(self._clock())
        seconds = RETRY_SECONDS
        if error.kind == "hook_failed":
            seconds = min(max(seconds, now - branch.expires_at), MAX_RETRY_SECONDS)
        self._core.keyvalue.apply(postponed(due, now + seconds))
        return False

    def _forget(self, due: DueBranch) -> bool:
        """Takes a branch out of the index, unless it has come back or is to be deleted then."""
        store, partition = self._core.keyvalue, due.partition
        repository_key, branch_key = keys.repository(due.repository), keys.branch(due.branch)
        repository = store.get(keys.GRAVELER, repository_key)
        branch = store.get(partition, branch_key)
        if not _ends_it(due, repository, branch):
            unchanged = [
                Expect(keys.GRAVELER, repository_key, repository),
                Expect(partition, branch_key, branch),
            ]
            store.apply([forget_due(due)], unchanged)
        return False


class StillExpired(msgspec.Struct, frozen=True):
    """The condition of a deletion: the branch is as it was when its hooks were asked, without more
    time since, and no pull request has it as its source.
    """

    core: Core
    repository: Repository
    seen: Branch

    def writes_for(self, _: object, /) -> ExtraWrites:
        """Returns the condition. Raises Conflict if it does not hold."""
        seen = self.seen
        stored = self.core.branches.read(self.repository, seen.id)
        now = stored.branch
        if (now.commit_id, now.expires_at) != (seen.commit_id, seen.expires_at):
            raise Conflict(
                "it was given more time", kind="branch_not_expired", hint="Nothing is to be done."
            )
        _require_no_pull(self.core, self.repository, seen.id)
        return (), [stored.unchanged(self.repository)]


def _require_no_pull(core: Core, repository: Repository, branch: str) -> None:
    """Raises Conflict if a branch is the source of an open pull request."""
    for pull in core.pulls.open_from(repository, branch):
        raise Conflict(
            f"it is the source of pull request {pull.id}",
            kind="branch_is_proposed",
            hint="Merge or close the pull request.",
        )


def _ends_it(due: DueBranch, repository: bytes | None, branch: bytes | None) -> bool:
    """Returns whether a branch is deleted because it is due, given the records of its repository
    and of itself: one that ends later is due again then. Its end, and not a clock, decides: a clock
    that was set back makes it last longer, and not forever.
    """
    if repository is None or branch is None:
        return False
    found = references.repository_from(repository)
    if found.partition != due.partition or found.in_deletion:
        return False
    return 0 < references.branch_from(branch).expires_at <= due.expires_at
