"""Tokens that were revoked before their expiry, by logging out.

The digest of a revoked token is recorded until the token expires.

    access  revoked/EXPIRY/DIGEST   empty; EXPIRY in seconds since 1970, twelve digits

Each is a change of access control, so that the caches of all servers are cleared.
"""

from __future__ import annotations

from collections.abc import Callable

from anabranch.access.records.changes import AccessChanges
from anabranch.access.records.expiring_records import LATEST_EXPIRY, ExpiringRecords
from anabranch.access.records.layout import OWN_PARTITION
from anabranch.access.sessions.tokens import VerifiedToken
from anabranch.keyvalue.contract import KeyValueStore, Write

__all__ = ["RevokedTokens"]

_PREFIX = b"revoked/"


class RevokedTokens:
    """The revoked tokens. `clock` returns seconds since 1970."""

    def __init__(
        self, store: KeyValueStore, changes: AccessChanges, clock: Callable[[], float]
    ) -> None:
        self._store = store
        self._changes = changes
        self._records = ExpiringRecords(store, _PREFIX, clock)

    def revoke(self, token: VerifiedToken) -> None:
        """Revokes a token; one that is revoked stays so."""
        for attempt in self._changes.attempts():
            with attempt:
                if token in self:
                    continue
                attempt.write(
                    [*self._records.removals(), Write(OWN_PARTITION, self._key(token), b"")]
                )

    def __contains__(self, token: VerifiedToken) -> bool:
        """Returns whether a token is revoked."""
        return self._store.get(OWN_PARTITION, self._key(token)) is not None

    def _key(self, token: VerifiedToken) -> bytes:
        return self._records.key(int(min(token.expires_at, LATEST_EXPIRY)), token.digest)
