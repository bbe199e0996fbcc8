"""The audit log: records of decisions, changes and failed authentications.

Records are written by a thread of their own, so that no request waits for a disk. If they cannot
be written, they are kept and tried again; beyond MAX_WAITING they are lost, and a record says how
many.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol

from anabranch.access.actors.actor import Actor
from anabranch.access.actors.confined_actor import ConfinedActor
from anabranch.access.policies.permissions import Permission

__all__ = ["MAX_ADDRESSES", "MAX_WAITING", "AuditLog", "RequestAudit", "Sink"]

MAX_ADDRESSES = 100
"""The most addresses that the record of one change names."""

MAX_WAITING = 100_000
"""The most records that wait for being written."""

_BATCH = 1000
_RETRY_SECONDS = 1.0
_log = logging.getLogger("anabranch.audit")


class Sink(Protocol):
    """Where records are written."""

    def write(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Writes records in order. Raises OSError."""

    def close(self) -> None:
        """Releases what it holds."""


class _Decision(NamedTuple):
    """A decision whose policy is looked up when it is written."""

    actor: Actor
    permission: Permission


class AuditLog:
    """Writes records to all sinks. Thread-safe; `clock` returns seconds since 1970."""

    def __init__(
        self,
        sinks: Sequence[Sink],
        clock: Callable[[], float] = time.time,
        max_waiting: int = MAX_WAITING,
    ) -> None:
        self._sinks = list(sinks)
        self._clock = clock
        self._max_waiting = max_waiting
        self._waiting: deque[tuple[dict[str, Any], _Decision | None]] = deque()
        self._lock = threading.Lock()
        self._added, self._closing = threading.Event(), threading.Event()
        self._lost = 0
        self._thread = threading.Thread(target=self._run, name="audit", daemon=True)
        self._thread.start()

    def record(self, fields: dict[str, Any], decision: _Decision | None = None) -> None:
        """Adds a record, which is written soon."""
        fields = {"time": _timestamp(self._clock()), **fields}
        with self._lock:
            if len(self._waiting) >= self._max_waiting:
                self._lost += 1
                return
            self._waiting.append((fields, decision))
        self._added.set()

    def close(self) -> None:
        """Writes what waits, and closes the sinks. What cannot be written is lost."""
        self._closing.set()
        self._added.set()
        self._thread.join()
        for sink in self._sinks:
            sink.close()

    def _run(self) -> None:
        while True:
            is_last = self._closing.is_set()
            self._added.clear()
            records = self._take()
            if records:
                for sink in self._sinks:
                    self._write(sink, records)
            elif is_last:
                return
            else:
                self._added.wait()

    def _take(self) -> list[dict[str, Any]]:
        """Returns the next records, and one of the records that were lost."""
        with self._lock:
            batch = [self._waiting.popleft() for _ in range(min(_BATCH, len(self._waiting)))]
            lost, self._lost = self._lost, 0
        records = [_complete(*entry) for entry in batch]
        if lost:
            records.append({"time": _timestamp(self._clock()), "event": "lost", "count": lost})
        return records

    def _write(self, sink: Sink, records: list[dict[str, Any]]) -> None:
        """Writes records to a sink, again and again until it takes them or the log is closed."""
        has_failed = False
        while True:
            try:
                sink.write(records)
            except OSError as error:
                if not has_failed:
                    _log.error("the audit log cannot be written, and is tried again: %s", error)
                has_failed = True
                if self._closing.wait(_RETRY_SECONDS):
                    return
            else:
                break
        if has_failed:
            _log.warning("the audit log is written again")


class RequestAudit:
    """Records what one request does. `fields` are those of all its records, if not empty; that of
    a hook has `hook_run`.
    """

    __slots__ = ("_addresses", "_fields", "_log", "user")

    def __init__(self, log: AuditLog, **fields: str) -> None:
        self._log = log
        self._fields = {
            name: value for name, value in fields.items() if value or name != "hook_run"
        }
        self._addresses: list[str] = []
        self.user = ""

    def authenticated(self, actor: Actor) -> None:
        """Receives the actor of the request. The records of a workspace's keys name the workspace
        and its run, too.
        """
        self.user = actor.username
        if isinstance(actor, ConfinedActor):
            reach = actor.confinement
            self._fields |= {"workspace": reach.branch, "run": reach.run_id}

    def name_address(self, address: str) -> None:
        """Adds an address of the store that the request names to the record of its change. Of many,
        the first MAX_ADDRESSES are recorded.
        """
        if len(self._addresses) < MAX_ADDRESSES:
            self._addresses.append(address)

    def decided(self, actor: Actor, permission: Permission, allowed: bool) -> None:
        """Records the decision on a permission."""
        fields = {
            "event": "decision",
            "user": actor.username,
            "action": permission.action,
            "resource": str(permission.resource),
            "allowed": allowed,
            **self._fields,
        }
        self._log.record(fields, _Decision(actor, permission))

    def refused(self, reason: str, access_key_id: str = "") -> None:
        """Records that a request could not be authenticated; `reason` is the error's kind."""
        fields = {"event": "authentication", "user": "", "allowed": False, "reason": reason}
        if access_key_id:
            fields["access_key_id"] = access_key_id
        self._log.record(fields | self._fields)

    def logged_in(self, user: str) -> None:
        """Records that a user was given a token."""
        self._log.record({"event": "authentication", "user": user, "allowed": True} | self._fields)

    def changed(self, status: int) -> None:
        """Records the status of a request that may have changed something."""
        fields: dict[str, Any] = {"event": "change", "user": self.user, "status": status}
        if self._addresses:
            fields["addresses"] = self._addresses
        self._log.record(fields | self._fields)


def _complete(fields: dict[str, Any], decision: _Decision | None) -> dict[str, Any]:
    """Returns a record with the policy and the number of its statement that decided."""
    if decision is None:
        return fields
    explanation = decision.actor.explain(decision.permission)
    return fields | {"policy": explanation.policy or None, "statement": explanation.statement}


def _timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
