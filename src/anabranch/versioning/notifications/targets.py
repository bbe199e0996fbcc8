"""The addresses to which a repository's notifications are sent, stored as one record.

(the repository's)    anabranch-notifications    list of NotificationTarget, as JSON
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from anabranch.errors import Busy, Corrupt
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.notifications import NotificationTarget
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.records import keys

__all__ = ["NotificationTargets"]

_MAX_ATTEMPTS = 100
_DECODER = msgspec.json.Decoder(tuple[NotificationTarget, ...])

Targets = tuple[NotificationTarget, ...]


class NotificationTargets:
    """The addresses of all repositories."""

    def __init__(self, keyvalue: KeyValueStore) -> None:
        self._keyvalue = keyvalue

    def read(self, partition: str) -> Targets:
        """Returns the addresses of the repository with a partition."""
        return _decode(self._keyvalue.get(partition, keys.NOTIFICATIONS))

    def change(
        self, repository: Repository, changed: Callable[[Targets], Sequence[NotificationTarget]]
    ) -> None:
        """Replaces the addresses of a repository by what `changed` returns for the present ones; it
        is called again for each attempt, and changes nothing when it raises.
        """
        partition = repository.partition
        for _ in range(_MAX_ATTEMPTS):
            raw = self._keyvalue.get(partition, keys.NOTIFICATIONS)
            record = msgspec.json.encode(changed(_decode(raw)))
            write = Write(partition, keys.NOTIFICATIONS, record)
            if self._keyvalue.apply([write], [Expect(partition, keys.NOTIFICATIONS, raw)]):
                return
        raise Busy("the notifications are changed by too many requests at once")


def _decode(raw: bytes | None) -> Targets:
    if raw is None:
        return ()
    try:
        return _DECODER.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        # the error of the decoder could quote an address
        raise Corrupt("the record of a repository's notifications cannot be read") from None
