"""The outbox: notifications that wait to be sent, one record for each address.

    anabranch-outbox    (xid)    Queued, as JSON

A notification is added in the transaction of the change that it is about, so it is never lost. A
server that sends it first moves its time into the future, on condition that the record is
unchanged: so servers do not send it at once, and if one dies, another sends it later, with the same
id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import msgspec

from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.caller import current_caller
from anabranch.model.notifications import Occurrence
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.identifiers import Identifiers
from anabranch.versioning.notifications.targets import NotificationTargets

__all__ = ["Notification", "Outbox", "Queued", "Waiting"]

_PARTITION = "anabranch-outbox"


class Notification(msgspec.Struct, frozen=True, kw_only=True):
    """What has happened, where and when. The `id` is the same to all addresses, and whenever it is
    sent again.
    """

    id: str
    time: str
    repository: str
    occurrence: Occurrence


class Queued(msgspec.Struct, frozen=True, kw_only=True):
    """A notification for one address of the repository with this partition, which another one of
    its name does not have. It is sent again from `not_before` on, in seconds since 1970.
    """

    notification: Notification
    partition: str
    target_id: str
    attempts: int = 0
    not_before: float = 0.0


class Waiting(msgspec.Struct, frozen=True):
    """A queued notification with its key and record."""

    key: bytes
    raw: bytes
    queued: Queued


_DECODER = msgspec.json.Decoder(Queued)


class Outbox:
    """The outbox of all servers. `clock` returns seconds since 1970."""

    def __init__(
        self,
        keyvalue: KeyValueStore,
        identifiers: Identifiers,
        clock: Callable[[], float],
    ) -> None:
        self.targets = NotificationTargets(keyvalue)
        self._keyvalue = keyvalue
        self._identifiers = identifiers
        self._clock = clock

    def writes(self, repository: Repository, occurrence: Occurrence) -> list[Write]:
        """Returns the writes that queue a notification, for the transaction of the change; none if
        no address wants it. The user is the caller, if the occurrence names none.
        """
        targets = self.targets.read(repository.partition)
        wanting = [target for target in targets if target.wants(occurrence.event)]
        if not wanting:
            return []
        user = occurrence.user or current_caller().username
        time = datetime.fromtimestamp(int(self._clock()), UTC)
        notification = Notification(
            id=self._identifiers.xid(),
            time=time.strftime("%Y-%m-%dT%H:%M:%SZ"),
            repository=repository.id,
            occurrence=msgspec.structs.replace(occurrence, user=user),
        )
        return [
            Write(
                _PARTITION,
                self._identifiers.xid().encode(),
                msgspec.json.encode(
                    Queued(
                        notification=notification,
                        partition=repository.partition,
                        target_id=target.id,
                    )
                ),
            )
            for target in wanting
        ]

    def waiting(self) -> Iterator[Waiting]:
        """Yields what is to be sent now, the oldest first."""
        now = self._clock()
        for key, raw in self._keyvalue.scan(_PARTITION):
            queued = _DECODER.decode(raw)
            if queued.not_before <= now:
                yield Waiting(key, raw, queued)

    def claim(self, waiting: Waiting, seconds: float) -> Waiting | None:
        """Returns a notification with another attempt, which no other server makes for these
        seconds; None if another server was first.
        """
        queued = msgspec.structs.replace(
            waiting.queued,
            attempts=waiting.queued.attempts + 1,
            not_before=self._clock() + seconds,
        )
        return self._replace(waiting, queued)

    def postpone(self, claimed: Waiting, seconds: float) -> None:
        """Lets a notification be sent again, these seconds from now."""
        not_before = self._clock() + seconds
        self._replace(claimed, msgspec.structs.replace(claimed.queued, not_before=not_before))

    def remove(self, waiting: Waiting) -> None:
        """Removes a notification, unless another server has claimed it meanwhile."""
        expect = Expect(_PARTITION, waiting.key, waiting.raw)
        self._keyvalue.apply([Write(_PARTITION, waiting.key, None)], [expect])

    def _replace(self, waiting: Waiting, queued: Queued) -> Waiting | None:
        raw = msgspec.json.encode(queued)
        expect = Expect(_PARTITION, waiting.key, waiting.raw)
        if self._keyvalue.apply([Write(_PARTITION, waiting.key, raw)], [expect]):
            return Waiting(waiting.key, raw, queued)
        return None
