"""Use cases of the operation log of an installation: repositories that were created and deleted,
policies, groups and attachments; and their undo.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from anabranch.access.access import Access
from anabranch.access.actors.actor import Actor
from anabranch.access.actors.authorize import authorize
from anabranch.access.identities.undone_changes import UndoneChanges, needed_to_undo
from anabranch.access.policies.permissions import (
    Action,
    Permission,
    namespace_arn,
    repository_arn,
)
from anabranch.catalog.references.readable_references import readable_records
from anabranch.catalog.repositories.repositories import Repositories
from anabranch.errors import Busy, NotFound
from anabranch.model.page import Page
from anabranch.model.references.operation import LoggedOperation, SettingChanged
from anabranch.versioning.core import Core
from anabranch.versioning.operations.log import StoredOperation
from anabranch.versioning.operations.logged_records import INSTALLATION
from anabranch.versioning.operations.record import log_write
from anabranch.versioning.operations.refusals import changed_since, require_kept
from anabranch.versioning.operations.undo import undone
from anabranch.versioning.records import references

__all__ = ["InstallationOperations"]

_REPOSITORY = "repository"


class InstallationOperations:
    """Use cases of the log of an installation. Who may read it learns of all changes, but reads the
    records of those policies, groups and repositories alone that are readable by themselves.
    """

    def __init__(self, core: Core, repositories: Repositories, access: Access) -> None:
        self._core = core
        self._repositories = repositories
        self._access = access

    def list(self, actor: Actor, *, after: str = "", amount: int) -> Page[LoggedOperation]:
        """Returns a page of operations, the newest first: of those before `after`, or of all."""
        page = self._core.operation_log.list(INSTALLATION, after=after, amount=amount)
        items = [readable_records(each, actor) for each in page.items]
        return Page(items, has_more=page.has_more, next_offset=page.next_offset)

    def get(self, operation_id: str, actor: Actor) -> LoggedOperation:
        """Returns an operation by its id, or by the beginning of it. Raises NotFound."""
        return readable_records(self._core.operation_log.get(INSTALLATION, operation_id), actor)

    def undo(self, operation_id: str, actor: Actor) -> LoggedOperation:
        """Changes what an operation has changed back to what it was before, and returns the
        operation. The actor needs the permissions of these changes.

        Raises NotFound, and Conflict if it is undone already or given up, if it cannot be undone,
        or if something since is in the way.
        """
        stored = self._core.operation_log.read(INSTALLATION, operation_id)
        operation = stored.operation
        if any(each.kind == _REPOSITORY for each in operation.settings):
            authorize(actor, chain.from_iterable(map(self._needed, operation.settings)))
            require_kept(operation)
            try:
                return readable_records(self._undo_repository(stored), actor)
            except (Busy, NotFound):
                # another request may have undone it
                require_kept(self._core.operation_log.get(INSTALLATION, operation.id))
                raise
        needed = tuple(needed_to_undo(operation.settings))  # also for who may do everything
        authorize(actor, needed)
        changes = UndoneChanges(self._core.keyvalue, self._access.changes, self._core.operation_log)
        return readable_records(changes.undo(operation.id, self._core.clock()), actor)

    def _needed(self, change: SettingChanged) -> Sequence[Permission]:
        repository = repository_arn(change.name)
        if change.before is None:
            return [Permission(Action.DELETE_REPOSITORY, repository)]
        namespace = references.repository_from(change.before).shown_namespace
        spellings = self._repositories.equivalent_namespaces(namespace)
        return [
            Permission(Action.CREATE_REPOSITORY, repository),
            *(
                Permission(Action.ATTACH_STORAGE_NAMESPACE, namespace_arn(spelling))
                for spelling in spellings
            ),
        ]

    def _undo_repository(self, stored: StoredOperation) -> LoggedOperation:
        """Deletes the repository that an operation has created, or restores the one that it has
        deleted.
        """
        operation, core = stored.operation, self._core
        taken = undone(operation, core.clock())
        mark = [log_write(INSTALLATION.partition, taken)]
        (change,) = operation.settings
        if change.before is None:
            created = references.repository_from(change.after or b"")
            self._require_unused(change, created.instance_uid)
            core.repositories.delete(
                change.name,
                force=True,
                instance_uid=created.instance_uid,
                writes=mark,
                expect=[stored.unchanged],
            )
        else:
            deleted = references.repository_from(change.before)
            core.repositories.deleted.restore(
                change.name, deleted.instance_uid, writes=mark, expect=[stored.unchanged]
            )
        return taken

    def _require_unused(self, change: SettingChanged, instance_uid: str) -> None:
        """Raises Conflict if the repository that an operation has created was used since."""
        try:
            repository = self._core.repositories.get(change.name)
        except NotFound:
            raise changed_since(f"the repository {change.name} was deleted since") from None
        if repository.instance_uid != instance_uid:
            raise changed_since(f"there is another repository {change.name}")
        operations = self._core.operation_log.list(repository, amount=2).items
        staged = [each.tokens for each in self._core.branches.all(repository)]
        used = len(operations) > 1 or any(
            not self._core.staging.is_empty(tokens) for tokens in staged
        )
        if used:
            raise changed_since(
                f"the repository {change.name} was used since",
                "Delete it: it can be restored for some days.",
            )
