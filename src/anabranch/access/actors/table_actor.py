"""An actor whom the keys of a table confine to the files of its area.

It may do nothing until the gateway has admitted it to an operation on that area, and then only what
the user may do now with the table itself: keys outlive neither the user nor the right.
"""

from __future__ import annotations

from anabranch.access.actors.actor import Actor, OnDecision
from anabranch.access.actors.confined_keys import ActorOfConfinedKeys
from anabranch.access.credentials.table_keys import TableGrant
from anabranch.access.policies.explain import Explanation
from anabranch.access.policies.permissions import Action, Permission, repository_arn
from anabranch.access.policies.statements import Statement
from anabranch.access.policies.table_permissions import record_permission
from anabranch.errors import Denied

__all__ = ["TableActor"]

_CHANGES = (Action.WRITE_OBJECT, Action.DELETE_OBJECT)


class TableActor(ActorOfConfinedKeys):
    """The user who has asked for the keys of a table."""

    __slots__ = ("grant",)

    def __init__(self, user: Actor, grant: TableGrant, *, is_admitted: bool = False) -> None:
        super().__init__(user, is_admitted=is_admitted)
        self.grant = grant

    def admit(self, repository: str, area: str) -> TableActor:
        """Returns the actor for an operation on an area and nothing else. Raises Denied for
        another.
        """
        if (repository, area) != (self.grant.repository, self.grant.area):
            raise self.refusal()
        return TableActor(self._creator, self.grant, is_admitted=True)

    def refusal(self) -> Denied:
        """Returns the error for what is out of reach."""
        return Denied(
            "insufficient permissions",
            kind="outside_table",
            hint="These keys reach the files of one table.",
        )

    def may(self, permission: Permission) -> bool:
        """Returns whether a permission is within reach, and the user has it now."""
        grant = self.grant
        if not self._is_admitted:
            return False
        if permission.action == Action.LIST_OBJECTS:
            return permission.resource == repository_arn(grant.repository)
        for action in _CHANGES:
            wanted = record_permission(action, grant.repository, grant.path, grant.branch)
            if permission[:2] == wanted[:2]:
                return grant.write and self._creator.may(wanted)
        reading = record_permission(Action.READ_OBJECT, grant.repository, grant.path, grant.branch)
        return permission[:2] == reading[:2] and self._creator.may(reading)

    def explain(self, permission: Permission) -> Explanation:
        """Returns which policy of the user decides; the keys in its place if that is out of
        reach.
        """
        if not self.may(permission):
            return Explanation(False, "keys of a table")
        return self._creator.explain(permission)

    def statements_naming(self, action: str) -> list[Statement]:  # noqa: ARG002  it lists no paths
        """Returns none: it reads no listing of objects."""
        return []

    @property
    def depends_on_branch(self) -> bool:
        """Whether permissions depend on the branch that an action changes."""
        return self._creator.depends_on_branch

    def in_context(
        self, source_ip: str, time: float, on_decision: OnDecision | None = None
    ) -> Actor:
        """Returns the actor of a request."""
        user = self._creator.in_context(source_ip, time, on_decision)
        return TableActor(user, self.grant, is_admitted=self._is_admitted)
