"""Which sessions are open: what they depend on is still there, and they were not logged out."""

from __future__ import annotations

from anabranch.access.actors.actor import Actor
from anabranch.access.credentials.credentials import Credentials
from anabranch.access.identities.external_principals import ExternalPrincipals
from anabranch.access.identities.session_binding import SessionBinding
from anabranch.access.sessions.revoked_tokens import RevokedTokens
from anabranch.access.sessions.tokens import VerifiedToken

__all__ = ["Sessions"]


class Sessions:
    """The sessions of all users, by their tokens."""

    def __init__(
        self,
        credentials: Credentials,
        external_principals: ExternalPrincipals,
        revoked: RevokedTokens,
    ) -> None:
        self._credentials = credentials
        self._external_principals = external_principals
        self._revoked = revoked

    def is_open(self, token: VerifiedToken, actor: Actor) -> bool:
        """Returns whether a token is one of the user's open sessions."""
        # a token of a deleted user is no token of a later user of the same name
        same_user = token.binding.epoch == actor.binding.epoch
        if not same_user or token.issued_at < actor.created_at:
            return False
        return self.has_opener(token.username, token.binding) and token not in self._revoked

    def end(self, token: VerifiedToken) -> None:
        """Ends the session of a token."""
        self._revoked.revoke(token)

    def has_opener(self, username: str, binding: SessionBinding) -> bool:
        """Returns whether the access key or the principal that opened a user's session is there."""
        wanted = username, binding.opener_record
        if binding.access_key_id:
            key = self._credentials.find_key(binding.access_key_id)
            return key is not None and (key.username, key.record_id) == wanted
        if binding.principal_id:
            principal = self._external_principals.find(binding.principal_id)
            return principal is not None and (principal.username, principal.record_id) == wanted
        return True
