"""An actor who may do only what others may do, too, and that in one repository alone."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.access.actors.actor import Actor, OnDecision
from anabranch.access.policies.explain import Explanation
from anabranch.access.policies.permissions import Permission, repository_arn

__all__ = ["LimitedActor"]


class LimitedActor(Actor):
    """A user whose permissions are those that all of `others` have as well, on resources of one
    repository; on all resources, if that is empty.
    """

    __slots__ = ("_others", "_repository", "_resource")

    def __init__(self, actor: Actor, others: Sequence[Actor], repository: str) -> None:
        self.username, self.email, self.created_at = actor.username, actor.email, actor.created_at
        self.granted, self.policies = actor.granted, actor.policies
        self.context, self.on_decision = actor.context, actor.on_decision
        self.binding, self.record_id = actor.binding, actor.record_id
        self._others = tuple(others)
        self._repository = repository
        self._resource = repository_arn(repository) if repository else ""

    def may(self, permission: Permission) -> bool:
        """Returns whether all have a permission, and it is one on the repository."""
        return (
            self._contains(permission)
            and super().may(permission)
            and all(each.may(permission) for each in self._others)
        )

    def _contains(self, permission: Permission) -> bool:
        whole = self._resource
        # a table is in the repository of the objects that stand for it
        names = [each.resource for each in permission.objects] or [permission.resource]
        return not whole or all(name == whole or name.startswith(f"{whole}/") for name in names)

    def explain(self, permission: Permission) -> Explanation:
        """Returns which policy decides: that of the first who lacks a permission."""
        if not self._contains(permission):
            return Explanation(False)
        own = super().explain(permission)
        explanations = [own, *(each.explain(permission) for each in self._others)]
        return next((each for each in explanations if not each.allowed), own)

    @property
    def opens_sessions(self) -> bool:
        """Returns False: others limit what the user may do now."""
        return False

    @property
    def is_unlimited(self) -> bool:
        """Returns False."""
        return False

    @property
    def is_conditional(self) -> bool:
        """Whether permissions depend on the request."""
        return super().is_conditional or any(each.is_conditional for each in self._others)

    @property
    def decides_long(self) -> bool:
        """Whether decisions may take long."""
        return super().decides_long or any(each.decides_long for each in self._others)

    @property
    def depends_on_branch(self) -> bool:
        """Whether permissions depend on the branch that an action changes."""
        return super().depends_on_branch or any(each.depends_on_branch for each in self._others)

    def in_context(
        self, source_ip: str, time: float, on_decision: OnDecision | None = None
    ) -> Actor:
        """Returns the user as the actor of a request."""
        return LimitedActor(
            super().in_context(source_ip, time, on_decision),
            [each.in_context(source_ip, time) for each in self._others],
            self._repository,
        )
