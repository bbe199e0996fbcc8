"""An actor whom the keys of a workspace confine to its branch.

The resources of most permissions do not name a reference. So a confined actor may do nothing until
the gateway has said which references an operation reads: `admit` is called for operations that are
known to name all of them. An operation without an entry there is refused as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from anabranch.access.actors.actor import Actor, OnDecision
from anabranch.access.actors.confined_keys import ActorOfConfinedKeys
from anabranch.access.actors.confinement import Confinement
from anabranch.access.policies.explain import Explanation
from anabranch.access.policies.permissions import Action, Permission, object_arn
from anabranch.access.policies.statements import Effect, Statement
from anabranch.errors import Denied
from anabranch.model.caller import Caller

__all__ = ["OUT_OF_REACH", "ConfinedActor"]

OUT_OF_REACH = "workspace:Reach"
"""The action of decisions that refuse an operation, or a reference, as a whole."""


class ConfinedActor(ActorOfConfinedKeys):
    """The creator of a workspace, who may do only what is within reach of the workspace's keys."""

    __slots__ = ("confinement",)

    def __init__(
        self, creator: Actor, confinement: Confinement, *, is_admitted: bool = False
    ) -> None:
        super().__init__(creator, is_admitted=is_admitted)
        self.confinement = confinement

    def admit(self, repository: str, references: Iterable[str]) -> ConfinedActor:
        """Returns the actor for an operation that reads these references of a repository, and no
        others. Raises Denied if one of them is out of reach.
        """
        for reference in references:
            if not self.reaches(repository, reference):
                raise self.refusal(f"{repository}/{reference}")
        return ConfinedActor(self._creator, self.confinement, is_admitted=True)

    def refusal(self, what: str) -> Denied:
        """Returns the error for what is out of reach, after it was recorded as a decision."""
        if self.on_decision is not None:
            self.on_decision(self, Permission(OUT_OF_REACH, what), False)
        return Denied(
            "insufficient permissions",
            kind="outside_workspace",
            hint=f"{what}: the keys of the workspace {self.confinement.branch} reach its branch in "
            f"{self.confinement.repository} alone, and some operations on it.",
        )

    def reaches(self, repository: str, reference: str) -> bool:
        """Returns whether a reference is within reach."""
        return self.confinement.reaches(repository, reference)

    def may(self, permission: Permission) -> bool:
        """Returns whether a permission is within reach, and the creator has it."""
        return (
            self._is_admitted
            and self.confinement.allows(permission)
            and self._creator.may(permission)
        )

    def explain(self, permission: Permission) -> Explanation:
        """Returns which policy of the creator decides; the name of the workspace in its place if
        that is out of reach.
        """
        if not self.confinement.allows(permission):
            return Explanation(False, f"workspace {self.confinement.branch}")
        return self._creator.explain(permission)

    def statements_naming(self, action: str) -> list[Statement]:
        """Returns the statements of the creator that deny an action, and one that allows it on
        what may be within reach.
        """
        stated = self._creator.statements_naming(action)
        denying = [each for each in stated if each.effect is Effect.DENY]
        place = object_arn(self.confinement.repository, "")
        prefixes = tuple(f"{place}{prefix}*" for prefix in self.confinement.readable_prefixes)
        if action != Action.READ_OBJECT or not self.confinement.readable:
            return stated
        return [Statement(Effect.ALLOW, (action,), prefixes), *denying]

    @property
    def idempotency_owner(self) -> str:
        """The name of the keys themselves, which no user has: a workspace must neither take the
        idempotency keys of its creator or of another workspace, nor learn which were used.
        """
        return f"\0{self.confinement.access_key_id}"

    @property
    def depends_on_branch(self) -> bool:
        """Returns True: writes are allowed on one branch alone."""
        return True

    def as_caller(self, action: str, request_id: str, chain: tuple[str, ...] = ()) -> Caller:
        """Returns the creator as the caller, with the workspace."""
        caller = super().as_caller(action, request_id, chain)
        reach = self.confinement
        return msgspec.structs.replace(
            caller, workspace=reach.branch, workspace_key=reach.access_key_id
        )

    def in_context(
        self, source_ip: str, time: float, on_decision: OnDecision | None = None
    ) -> Actor:
        """Returns the actor of a request."""
        creator = self._creator.in_context(source_ip, time, on_decision)
        return ConfinedActor(creator, self.confinement, is_admitted=self._is_admitted)
