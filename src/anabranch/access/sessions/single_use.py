"""Single use of texts that expire: logins at a provider, codes of command lines.

The server stores nothing when it issues such a text. When one is used, its digest is recorded until
it has expired, so that of several uses, on any servers, one succeeds.

    access  logins/EXPIRY/DIGEST   empty; EXPIRY in seconds since 1970, twelve digits
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from anabranch.access.records.expiring_records import ExpiringRecords
from anabranch.access.records.layout import OWN_PARTITION
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write

__all__ = ["SingleUse"]

_PREFIX = b"logins/"


class SingleUse:
    """Records what was used. `clock` returns seconds since 1970."""

    def __init__(self, store: KeyValueStore, clock: Callable[[], float]) -> None:
        self._store = store
        self._records = ExpiringRecords(store, _PREFIX, clock)

    def use(self, text: str, expires_at: int) -> bool:
        """Returns whether a text is used for the first time. One that has expired must be refused
        by the caller, as its record may be removed; `expires_at` in seconds since 1970.
        """
        digest = hashlib.sha256(text.encode()).hexdigest()
        key = self._records.key(expires_at, digest)
        writes = [*self._records.removals(), Write(OWN_PARTITION, key, b"")]
        return self._store.apply(writes, [Expect(OWN_PARTITION, key, None)])
