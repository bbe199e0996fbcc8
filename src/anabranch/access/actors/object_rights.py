"""What a user may do with single objects of a repository, for the rules of merges."""

from __future__ import annotations

from anabranch.access.actors.actor import Actor
from anabranch.access.policies.permissions import Action, Permission, object_arn

__all__ = ["ObjectRights"]


class ObjectRights:
    """The rights of a user in a repository (`ContentRights`), for a change of a branch; its name is
    empty if it is not known.
    """

    def __init__(self, actor: Actor, repository: str, branch: str) -> None:
        self._actor = actor
        self._repository = repository
        self._branch = branch

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
