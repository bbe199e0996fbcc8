"""What a user may do with single objects of a repository, for the rules of merges."""

from __future__ import annotations

from anabranch.access.actors.actor import Actor
from anabranch.access.policies.permissions import Action, Permission, object_arn
from anabranch.access.policies.table_permissions import merge_permission

__all__ = ["ObjectRights"]


class ObjectRights:
    """The rights of a user in a repository (`ContentRights`), for a change of a branch; its name is
    empty if it is not known. `by_catalog` is whether permissions on tables count, where they may.
    """

    def __init__(
        self, actor: Actor, repository: str, branch: str, *, by_catalog: bool = True
    ) -> None:
        self._actor = actor
        self._repository = repository
        self._branch = branch
        self._by_catalog = by_catalog

    @property
    def on_tables(self) -> ObjectRights:
        """The rights for the rules of the Iceberg catalog itself: besides these, those to tables
        and namespaces, of which a path is the record.
        """
        if not self._by_catalog:
            return self
        return _RecordRights(self._actor, self._repository, self._branch)

    def may_read(self, path: str) -> bool:
        """Returns whether the user may read the object at a path."""
        return self._may(Action.READ_OBJECT, path)

    def may_write(self, path: str) -> bool:
        """Returns whether the user may write an object to a path."""
        return self._may(Action.WRITE_OBJECT, path)

    def may_delete(self, path: str) -> bool:
        """Returns whether the user may delete the object at a path."""
        return self._may(Action.DELETE_OBJECT, path)

    def _may(self, action: Action, path: str) -> bool:
        resource = object_arn(self._repository, path)
        return self._actor.may(Permission(action, resource, branch=self._branch))


class _RecordRights(ObjectRights):
    def _may(self, action: Action, path: str) -> bool:
        # keys of workspaces have no rights to tables, but some to objects
        on_record = merge_permission(action, self._repository, path, self._branch)
        return super()._may(action, path) or self._actor.may(on_record)
