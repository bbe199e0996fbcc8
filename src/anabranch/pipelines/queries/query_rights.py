"""What the user of a query may read, in any repository: each one is asked for, with the permissions
of the REST operations that show the same.
"""

from __future__ import annotations

from anabranch.access.actors.actor import Actor
from anabranch.access.actors.authorize import authorize
from anabranch.access.actors.confined_actor import ConfinedActor
from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.access.policies.permissions import (
    Action,
    Permission,
    object_arn,
    reference_arn,
    repository_arn,
)
from anabranch.access.policies.table_permissions import record_permission, table_view_permission
from anabranch.catalog.catalog import Catalog
from anabranch.errors import Denied
from anabranch.model.uri import IMAGES

__all__ = ["QueryRights"]


class QueryRights:
    """The rights of one user. All methods that require something raise Denied."""

    def __init__(self, catalog: Catalog, actor: Actor) -> None:
        self._catalog = catalog
        self._actor = actor

    def require_object(self, repository: str, reference: str, path: str) -> None:
        """Requires that the user may read an object, as getObject does."""
        self._require(Action.READ_OBJECT, object_arn(repository, path), repository, reference)
        if isinstance(self._actor, ConfinedActor):
            reach = self._actor.confinement
            self._catalog.workspaces.reads.note(
                *(repository, reach.branch, reference, [path], reach.access_key_id)
            )

    def require_table(self, repository: str, reference: str, path: str) -> None:
        """Requires that the user may read the files of a table of the Iceberg catalog, given the
        path of its record, or the one that they were made for. They are on no branch, so the keys
        of a workspace do not reach them.
        """
        self._require_table(
            record_permission(Action.READ_OBJECT, repository, path, ""), repository, reference, path
        )

    def require_table_listing(self, repository: str, reference: str, path: str) -> None:
        """Requires that the user may see which files a table of the Iceberg catalog has, given the
        path of its record.
        """
        permission = table_view_permission(repository, path)
        self._require_table(permission, repository, reference, path)

    def _require_table(
        self, permission: Permission, repository: str, reference: str, path: str
    ) -> None:
        if isinstance(self._actor, ConfinedActor):
            raise self._actor.refusal(f"the files of {path}")
        if repository == IMAGES:  # which have records, and no tables
            self.require_object(repository, reference, path)
            return
        self._require_reach(repository, reference)
        authorize(self._actor, (permission,))

    def require_listing(self, repository: str, reference: str) -> None:
        """Requires that the user may list objects, as listObjects and diffRefs do."""
        self._require(Action.LIST_OBJECTS, repository_arn(repository), repository, reference)

    def require_log(self, repository: str, reference: str) -> None:
        """Requires that the user may see the history of a reference, as logCommits does."""
        resource = reference_arn(repository, reference)
        self._require(Action.READ_BRANCH, resource, repository, reference)

    def readable_paths(self, repository: str, reference: str, prefix: str) -> ReadablePaths | None:
        """Returns the paths that the user may read at a reference, None if these are all that have
        the prefix.
        """
        self._require_reach(repository, reference)
        return self._catalog.images.readable_paths(self._actor, repository, reference, prefix)

    def _require_reach(self, repository: str, reference: str) -> None:
        if not self._actor.reaches(repository, reference):
            raise Denied(
                "insufficient permissions",
                kind="insufficient_permissions",
                hint=f"These credentials do not reach {repository}/{reference}.",
            )

    def _require(self, action: Action, resource: str, repository: str, reference: str) -> None:
        self._require_reach(repository, reference)
        permission = self._catalog.images.permission_for_reading(
            Permission(action, resource), repository, reference
        )
        authorize(self._actor, (permission,))
