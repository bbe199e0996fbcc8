"""Actors: users with the statements of their effective policies."""

from __future__ import annotations

from anabranch.access.actors.actor import Actor
from anabranch.access.identities.defaults import are_stored
from anabranch.access.identities.effective_policies import EffectivePolicies
from anabranch.access.identities.session_binding import SessionBinding
from anabranch.access.identities.users import Users
from anabranch.keyvalue.contract import KeyValueStore

__all__ = ["Actors"]


class Actors:
    """Finds actors by their names."""

    def __init__(
        self, store: KeyValueStore, users: Users, effective_policies: EffectivePolicies
    ) -> None:
        self._store = store
        self._users = users
        self._effective_policies = effective_policies

    def find(self, username: str) -> Actor | None:
        """Returns a user as an actor, None if there is none, or one who is deactivated.

        Where the default groups were never stored, the user whom setup created has all
        permissions, as in lakeFS; see `Setup.ensure_defaults`.
        """
        user = self._users.find(username)
        if user is None or not self._users.is_active(username):
            return None
        binding = SessionBinding(epoch=user.session_epoch)
        if self._users.is_setup_user(username) and not are_stored(self._store):
            return Actor.administrator(
                user.username, user.email, user.created_at, binding, user.record_id
            )
        return Actor(
            username=user.username,
            email=user.email,
            created_at=user.created_at,
            record_id=user.record_id,
            policies=self._effective_policies.of(username),
            binding=binding,
        )
