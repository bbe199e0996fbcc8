"""Tokens that were revoked before their expiry, by logging out.

The digest of a revoked token is recorded until the token expires. The keys of these records begin
with the expiry, so that expired ones are found without reading others.

    access  revoked/EXPIRY/DIGEST   empty; EXPIRY in seconds since 1970, twelve digits

Each is a change of access control, so that the caches of all servers are cleared.
"""

from __future__ import annotations

from collections.abc import Callable

from anabranch.access.records.changes import AccessChanges
from anabranch.access.records.layout import OWN_PARTITION
from anabranch.access.sessions.tokens import VerifiedToken
from anabranch.keyvalue.contract import KeyValueStore, Write

__all__ = ["RevokedTokens"]

_PREFIX = b"revoked/"
_LATEST = 10**12 - 1
_MAX_REMOVED = 100


class RevokedTokens:
    """The revoked tokens. `clock` returns seconds since 1970."""

    def __init__(
        self, store: KeyValueStore, changes: AccessChanges, clock: Callable[[], float]
    ) -> None:
        self._store = store
        self._changes = changes
        self._clock = clock

    def revoke(self, token: VerifiedToken) -> None:
        """Revokes a token; one that is revoked stays so."""

        def plan() -> list[Write]:
            if token in self:
                return []
            return [*self._expired(), Write(OWN_PARTITION, _key(token), b"")]

        self._changes.apply(plan)

    def __contains__(self, token: VerifiedToken) -> bool:
        """Returns whether a token is revoked."""
        return self._store.get(OWN_PARTITION, _key(token)) is not None

    def _expired(self) -> list[Write]:
        """Returns the writes that remove some of the expired records."""
        end = b"%b%012d" % (_PREFIX, int(self._clock()))
        rows = self._store.scan(OWN_PARTITION, _PREFIX, end, limit=_MAX_REMOVED)
        return [Write(OWN_PARTITION, key, None) for key, _ in rows]


def _key(token: VerifiedToken) -> bytes:
    expiry = int(min(token.expires_at, _LATEST))
    return b"%b%012d/%b" % (_PREFIX, expiry, token.digest.encode())
