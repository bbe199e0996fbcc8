"""What actors of confined keys share: those of a workspace, and those of a table's files.

Such keys act for a user, and reach less than the user does. Their actor may do nothing until the
gateway has admitted it to an operation.
"""

from __future__ import annotations

from anabranch.access.actors.actor import Actor
from anabranch.access.identities.session_binding import SessionBinding

__all__ = ["ActorOfConfinedKeys"]


class ActorOfConfinedKeys(Actor):
    """The user for whom confined keys act, as far as they reach."""

    __slots__ = ("_creator", "_is_admitted")

    def __init__(self, creator: Actor, *, is_admitted: bool) -> None:
        self.username, self.email, self.created_at = (
            creator.username,
            creator.email,
            creator.created_at,
        )
        self.granted, self.policies = creator.granted, creator.policies
        self.context, self.on_decision = creator.context, creator.on_decision
        self.record_id = creator.record_id
        self.binding = SessionBinding()  # it opens no session
        self._creator = creator
        self._is_admitted = is_admitted

    @property
    def creator(self) -> Actor:
        """The user for whom the keys were made."""
        return self._creator

    @property
    def opens_sessions(self) -> bool:
        """Returns False: a login would reach more."""
        return False

    @property
    def is_unlimited(self) -> bool:
        """Returns False."""
        return False

    @property
    def is_conditional(self) -> bool:
        """Whether permissions depend on the request."""
        return self._creator.is_conditional

    def in_session(self, binding: SessionBinding) -> Actor:  # noqa: ARG002  it opens no session
        """Returns the actor itself."""
        return self
