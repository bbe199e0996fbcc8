"""Use cases of undo: an operation, a deleted branch or tag, or all references as they were."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec

from anabranch.access.actors.actor import Actor
from anabranch.actions.changes import Changes
from anabranch.catalog.garbage.rules import GarbageRules
from anabranch.catalog.protection import Protection
from anabranch.catalog.references.admitted_changes import (
    AdmittedChanges,
    inverse,
    require_permissions,
)
from anabranch.catalog.references.planned_undo import (
    OwnWorkspace,
    Plans,
    RestoreTo,
    UndoOf,
    require_readable,
    require_settings,
)
from anabranch.catalog.references.readable_references import has_images
from anabranch.catalog.references.undone_reviewers import AdmitReviewers
from anabranch.catalog.reviewer_names import ANY_NAMES, ReviewerNames
from anabranch.errors import Busy, NotFound
from anabranch.model.caller import acting_as, current_caller
from anabranch.model.references.operation import (
    BranchChanged,
    LoggedOperation,
    ReferenceChanged,
)
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.operations.logged_records import GARBAGE_RULES, PULL_REQUEST
from anabranch.versioning.operations.planner import UndoPlan
from anabranch.versioning.operations.record import reference_key
from anabranch.versioning.operations.refusals import changed_since, require_kept
from anabranch.versioning.records import keys
from anabranch.versioning.repositories.repositories import check_writable
from anabranch.versioning.staging.extra_writes import ExtraWritesFor, collect_extra_writes

__all__ = ["UndoOperations"]

_MAX_ATTEMPTS = 20
_NEVER = "g"
"""The id of an operation that is older than all, as if one had deleted a branch that never was."""
_UNDO, _UNDO_IN_WORKSPACE = "undoOperation", "undoInWorkspace"
_READ_ONLY_SETTINGS = {"metadata", "undo_days"}
"""The settings that can be changed in a repository that is read-only."""
_ACTIONS = {_UNDO, _UNDO_IN_WORKSPACE, "restoreReferences", "restoreBranch", "restoreTag"}
"""The operations of the API that undo others: undo without an id leaves them out, so that a second
one goes a step further back instead of undoing the first.
"""


class UndoOperations:
    """Use cases of undo. An `actor` needs the permissions of each change that is made; without one,
    everything is permitted. `extra_writes` adds writes to those of the changes.
    """

    def __init__(
        self, core: Core, protection: Protection, rules: GarbageRules, changes: Changes
    ) -> None:
        self._core = core
        self._protection = protection
        self._rules = rules
        self._changes = changes

    def undo(
        self,
        repository: str,
        operation_id: str = "",
        *,
        force: bool = False,
        actor: Actor | None = None,
        names: ReviewerNames = ANY_NAMES,
        extra_writes: Sequence[ExtraWritesFor[LoggedOperation]] = (),
    ) -> LoggedOperation:
        """Changes the references and settings of an operation back to what they were before it, and
        returns it: by default the last one of the caller that is not undone. Reviewers who are
        asked again by that are notified.

        Raises NotFound, Conflict if it is undone already or given up, or if one of its references
        or settings has changed since, and Invalid for a reviewer whom `names` refuses.
        """
        stored = self._core.repositories.get(repository)
        if operation_id:
            operation = self._core.operation_log.get(stored, operation_id)
        else:
            operation = self._last_of_caller(stored)
        self._require_permissions(stored, operation, operation.changes, actor)
        require_settings(stored, operation.settings, actor)
        if any(each.kind == GARBAGE_RULES for each in operation.settings):
            self._undo_rules(stored, operation)
        plans = UndoOf(self._core, stored, operation.id)
        extra = [AdmitReviewers(self._core, stored, names), *extra_writes]
        return self._make(stored, plans, _UNDO, extra, force=force)

    def undo_in_workspace(
        self,
        repository: str,
        workspace: str,
        operation_id: str = "",
        *,
        actor: Actor | None = None,
        extra_writes: Sequence[ExtraWritesFor[LoggedOperation]] = (),
    ) -> LoggedOperation:
        """Undoes an operation of the caller that has moved or reset the branch of a workspace since
        it began, and returns it: by default the last one that is not undone. With the keys of the
        workspace, what was made with them alone.

        Raises NotFound for an operation of others and for any else, and as `undo` does.
        """
        stored = self._core.repositories.get(repository)
        self._core.workspaces.read(stored, workspace)
        earlier = self._core.operation_log.last_deletion(stored, keys.branch(workspace)) or _NEVER
        if operation_id:
            operation = self._core.operation_log.get(stored, operation_id)
            if operation.id >= earlier or not _is_of_workspace(operation, workspace):
                raise _none_in_workspace(workspace)
        else:
            operation = self._last_in_workspace(stored, workspace, earlier)
        self._require_permissions(stored, operation, operation.changes, actor)
        plans = UndoOf(self._core, stored, operation.id)
        extra = [OwnWorkspace(self._core, stored, workspace), *extra_writes]
        return self._make(stored, plans, _UNDO_IN_WORKSPACE, extra, force=False)

    def _last_in_workspace(
        self, repository: Repository, workspace: str, earlier: str
    ) -> LoggedOperation:
        """Returns the last operation in a workspace that is not undone, given the one that has
        deleted the last branch of its name.
        """
        for operation in self._core.operation_log.all(repository):
            if operation.id >= earlier or _creates(operation, workspace):
                break
            is_done = operation.undone_at or operation.action in _ACTIONS
            if not is_done and _is_of_workspace(operation, workspace):
                return operation
        raise _none_in_workspace(workspace)

    def restore_branch(
        self,
        repository: str,
        name: str,
        *,
        force: bool = False,
        actor: Actor | None = None,
        extra_writes: Sequence[ExtraWritesFor[LoggedOperation]] = (),
    ) -> LoggedOperation:
        """Brings a deleted branch back with what was staged on it, and returns the operation that
        had deleted it.

        Raises NotFound if the log has no deletion, and Conflict if it is given up, or if there is a
        branch or a tag with this name.
        """
        stored = self._core.repositories.get(repository)
        plans = self._plan_return(stored, keys.branch(name), actor)
        return self._make(stored, plans, "restoreBranch", extra_writes, force=force)

    def restore_tag(
        self,
        repository: str,
        name: str,
        *,
        force: bool = False,
        actor: Actor | None = None,
        extra_writes: Sequence[ExtraWritesFor[LoggedOperation]] = (),
    ) -> LoggedOperation:
        """Brings a deleted tag back, and returns the operation that had deleted it. Raises as
        `restore_branch` does.
        """
        stored = self._core.repositories.get(repository)
        plans = self._plan_return(stored, keys.tag(name), actor)
        return self._make(stored, plans, "restoreTag", extra_writes, force=force)

    def restore(
        self,
        repository: str,
        operation_id: str,
        *,
        force: bool = False,
        actor: Actor | None = None,
        extra_writes: Sequence[ExtraWritesFor[LoggedOperation]] = (),
    ) -> LoggedOperation:
        """Changes all branches and tags back to what they were right after an operation, and
        returns it. Pull requests whose merges are taken back are open again, those that are left
        without one of their branches are closed.

        Raises NotFound, Conflict if it is given up or if a branch that is to change has uncommitted
        changes, and Invalid if too many have changed since.
        """
        stored = self._core.repositories.get(repository)
        chosen = self._core.operation_log.get(stored, operation_id)
        plans = RestoreTo(self._core, stored, chosen.id, actor)
        return self._make(stored, plans, "restoreReferences", extra_writes, force=force)

    def _plan_return(self, repository: Repository, key: bytes, actor: Actor | None) -> Plans:
        """Returns what plans the return of a deleted reference. Raises NotFound and Denied."""
        deletion = self._core.operation_log.last_deletion(repository, key)
        if deletion is None:
            raise NotFound(
                "the operation log has no such deletion",
                kind="deletion_not_found",
            )
        operation = self._core.operation_log.get(repository, deletion)
        changes = [each for each in operation.changes if reference_key(each) == key]
        self._require_permissions(repository, operation, changes, actor)
        return UndoOf(self._core, repository, deletion, key)

    def _require_permissions(
        self,
        repository: Repository,
        operation: LoggedOperation,
        changes: Sequence[ReferenceChanged],
        actor: Actor | None,
    ) -> None:
        """Raises Denied unless an actor may undo changes of an operation. This is before they are
        planned, which says what the references are now.
        """
        if actor is None:
            return
        require_readable(repository, changes, actor)
        own = operation.is_by(actor.username, actor.record_id)
        require_permissions(self._core, repository, inverse(changes), actor, own=own)

    def _undo_rules(self, repository: Repository, operation: LoggedOperation) -> None:
        """Changes the rules of garbage collection back, which are a file, before the operation is
        marked as undone.
        """
        require_kept(operation)
        with _acting_by(_UNDO):
            for each in operation.settings:
                if each.kind == GARBAGE_RULES and not self._rules.change_back(repository.id, each):
                    raise changed_since(f"the setting {each.kind} has changed since")

    def _last_of_caller(self, repository: Repository) -> LoggedOperation:
        caller = current_caller()
        for operation in self._core.operation_log.all(repository):
            own = operation.is_by(caller.username, caller.record_id)
            if not own or operation.undone_at or operation.action in _ACTIONS:
                continue
            if operation.given_up_at:
                break
            return operation
        raise NotFound(
            "there is no operation of yours that can be undone",
            kind="operation_not_found",
            hint="Name one by its id: `anabranch op log` lists them.",
        )

    def _make(
        self,
        repository: Repository,
        plans: Plans,
        action: str,
        extra_writes: Sequence[ExtraWritesFor[LoggedOperation]],
        *,
        force: bool,
    ) -> LoggedOperation:
        """Makes the changes of a plan. If a reference changes meanwhile, it plans them again."""
        for _ in range(_MAX_ATTEMPTS):
            plan = plans.plan()
            _check_writable(repository, plan, force=force)
            with _acting_by(action):
                admitted = AdmittedChanges(
                    self._core, self._protection, self._changes, repository, plan
                )
                writes, conditions = admitted.extra_writes()
                extra, expect = collect_extra_writes(extra_writes, plan.operation)
                done = self._core.undo.apply(plan, [*writes, *extra], [*conditions, *expect])
            if done:
                admitted.end()
                return plan.operation
        raise Busy("the branches and tags are changed by too many requests", kind="too_many_tries")


def _creates(operation: LoggedOperation, branch: str) -> bool:
    return any(
        isinstance(each, BranchChanged) and each.name == branch and each.before is None
        for each in operation.changes
    )


def _is_of_workspace(operation: LoggedOperation, workspace: str) -> bool:
    """Returns whether the caller has made an operation in a workspace of this name, which has done
    nothing but to move or reset its branch. Keys of a workspace take back nothing that their user
    has done with other rights.
    """
    caller = current_caller()
    own = operation.is_by(caller.username, caller.record_id)
    by_keys = operation.workspace == workspace
    by_user = not operation.workspace and not caller.workspace
    if not own or not (by_keys or by_user):
        return False
    return not operation.settings and all(
        each.name == workspace and None not in (each.before, each.after)
        for each in operation.changes
    )


def _none_in_workspace(workspace: str) -> NotFound:
    return NotFound(
        f"there is no such operation of the workspace {workspace} that can be undone",
        kind="operation_not_found",
        hint="Only your commits, restores and resets in the workspace can be; with its keys, those "
        "that they have made.",
    )


def _check_writable(repository: Repository, plan: UndoPlan, *, force: bool) -> None:
    """Raises ReadOnlyRepository where each change of a plan by itself would be refused so."""
    if plan.changes and not has_images(repository):
        check_writable(repository, force=force)
    with_changes = {PULL_REQUEST} if plan.changes else set()  # merges can be forced, too
    if any(each.kind not in _READ_ONLY_SETTINGS | with_changes for each in plan.settings):
        check_writable(repository, force=False)


@contextmanager
def _acting_by(action: str) -> Iterator[None]:
    """Names the operation of the API in the log also for programs that have opened the stores."""
    caller = current_caller()
    if not caller.action:
        caller = msgspec.structs.replace(caller, action=action)
    with acting_as(caller):
        yield
