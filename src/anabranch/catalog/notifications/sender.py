"""Sends what is in the outbox, on threads of its own: no request waits for it.

What fails is sent again, later each time, for some hours. Logs name the repository, the id of the
address and why, never the address.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import msgspec

from anabranch.catalog.notifications.bodies import to_body
from anabranch.errors import AnabranchError, Gone, NotFound
from anabranch.model.notifications import NotificationTarget
from anabranch.outbound.address_guard import AddressGuard
from anabranch.outbound.http_request import SAME_REQUEST, send_request
from anabranch.versioning.core import Core
from anabranch.versioning.notifications.outbox import Notification, Waiting

__all__ = ["DEFAULT_RETRIES", "Retries", "Sender"]

_log = logging.getLogger(__name__)

_POLL_SECONDS = 1.0
_THREADS = 8
_THREADS_OF_REPOSITORY = 2
"""The slow addresses of one repository must not delay the notifications of others."""
_TIMEOUT_SECONDS = 10.0
_CLAIM_SECONDS = 60.0
_MAX_RESPONSE_BYTES = 4096


class Retries(msgspec.Struct, frozen=True):
    """How often a notification is sent at most, and how long after a failure: twice as long each
    time, in seconds.
    """

    attempts: int = 12
    first_seconds: float = 5.0
    longest_seconds: float = 3600.0

    def pause(self, attempts: int) -> float:
        """Returns the seconds after so many attempts, from 1 on."""
        return min(self.first_seconds * 2.0 ** (attempts - 1), self.longest_seconds)


DEFAULT_RETRIES = Retries()


class Sender:
    """Sends notifications to the addresses that a guard permits: those of the public internet, and
    the networks in `allow`.
    """

    def __init__(
        self, core: Core, allow: Iterable[str], retries: Retries = DEFAULT_RETRIES
    ) -> None:
        self._core = core
        self._guard = AddressGuard(allow)
        self._retries = retries
        self._stopped = threading.Event()
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="notifications")
        self._busy: dict[bytes, str] = {}
        """The keys of what is being sent, with the partitions of the repositories."""
        self._thread = threading.Thread(target=self._poll, name="notifications", daemon=True)

    def start(self) -> None:
        """Starts to send what is in the outbox, also of earlier changes and of other programs."""
        self._thread.start()

    def stop(self) -> None:
        """Stops; what is being sent is awaited, the rest is sent by the next server."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()
        self._pool.shutdown(cancel_futures=True)

    @property
    def is_sending(self) -> bool:
        """Whether something is being sent."""
        return bool(self._busy)

    def send_waiting(self) -> None:
        """Begins to send what is to be sent now."""
        for waiting in self._core.outbox.waiting():
            if self._stopped.is_set() or len(self._busy) >= _THREADS:
                return
            partition = waiting.queued.partition
            of_repository = list(self._busy.values()).count(partition)
            if waiting.key not in self._busy and of_repository < _THREADS_OF_REPOSITORY:
                self._busy[waiting.key] = partition
                self._pool.submit(self._send, waiting)

    def _poll(self) -> None:
        while not self._stopped.wait(_POLL_SECONDS):
            try:
                self.send_waiting()
            except Exception as error:  # noqa: BLE001  the store may be back at the next attempt
                _log.warning("the outbox of notifications: %s", type(error).__name__)

    def _send(self, waiting: Waiting) -> None:
        try:
            claimed = self._core.outbox.claim(waiting, _CLAIM_SECONDS)
            if claimed is not None:
                self._attempt(claimed)
        except Exception as error:  # noqa: BLE001  it stays in the outbox
            _log.warning("a notification was not sent: %s", type(error).__name__)
        finally:
            self._busy.pop(waiting.key, None)

    def _attempt(self, claimed: Waiting) -> None:
        queued, outbox = claimed.queued, self._core.outbox
        target = self._target(claimed)
        failure = "" if target is None else self._post(target, queued.notification)
        if not failure:
            outbox.remove(claimed)
            return
        ended = queued.attempts >= self._retries.attempts
        _log.warning(
            "notification %s of %s to %s failed: %s%s",
            *(queued.notification.id, queued.notification.repository, queued.target_id, failure),
            "; it is not sent again" if ended else "",
        )
        if ended:
            outbox.remove(claimed)
        else:
            outbox.postpone(claimed, self._retries.pause(queued.attempts))

    def _target(self, claimed: Waiting) -> NotificationTarget | None:
        """Returns the address, None if it was removed, or its repository."""
        partition = claimed.queued.partition
        try:
            repository = self._core.repositories.get(claimed.queued.notification.repository)
        except (NotFound, Gone):
            return None  # what it had is still there, for it can be restored
        if repository.partition != partition:
            return None
        targets = self._core.outbox.targets.read(partition)
        return next((each for each in targets if each.id == claimed.queued.target_id), None)

    def _post(self, target: NotificationTarget, notification: Notification) -> str:
        """Sends a notification and returns why that failed, the empty string if it did not."""
        try:
            response = send_request(
                "POST",
                target.url,
                guard=self._guard,
                headers={
                    "Content-Type": "application/json",
                    "X-Anabranch-Delivery": notification.id,
                    "X-Anabranch-Event": notification.occurrence.event,
                },
                body=to_body(notification, target.format),
                timeout=_TIMEOUT_SECONDS,
                max_response_bytes=_MAX_RESPONSE_BYTES,
                redirects=SAME_REQUEST,
            )
        except AnabranchError as error:
            return error.kind  # a message could quote a part of the address
        return "" if response.status // 100 == 2 else f"status {response.status}"  # noqa: PLR2004
