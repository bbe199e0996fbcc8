"""Changes of the addresses of notifications in the operation log, and their inverse.

Addresses may have secrets. The log has their hosts alone, so one that was deleted does not return.
"""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

import msgspec

from anabranch.errors import Conflict
from anabranch.model.notifications import BodyFormat, NotificationEvent, NotificationTarget
from anabranch.versioning.operations.refusals import changed_since

__all__ = ["LoggedTarget", "logged_targets", "targets_from_log", "undone_targets"]


class LoggedTarget(msgspec.Struct, frozen=True, kw_only=True):
    """An address as the log has it: without its path and query. No events are all."""

    id: str
    host: str
    format: BodyFormat
    events: tuple[NotificationEvent, ...]


_LOGGED = msgspec.json.Decoder(tuple[LoggedTarget, ...])
_STORED = msgspec.json.Decoder(tuple[NotificationTarget, ...])


def logged_targets(raw: bytes | None) -> bytes | None:
    """Returns what the log has of a record of addresses."""
    if raw is None:
        return None
    try:
        targets = _STORED.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return b"[]"  # of a damaged record only that it was there
    return msgspec.json.encode(
        [
            LoggedTarget(id=each.id, host=_host(each.url), format=each.format, events=each.events)
            for each in targets
        ]
    )


def targets_from_log(raw: bytes | None) -> tuple[LoggedTarget, ...]:
    """Returns the addresses that the log has."""
    return () if raw is None else _LOGGED.decode(raw)


def undone_targets(current: bytes | None, before: bytes | None, after: bytes | None) -> bytes:
    """Returns the record of addresses without those that a change has added. Raises Conflict if it
    has deleted some, or if those that it has added are deleted.
    """
    old, new = _ids(targets_from_log(before)), _ids(targets_from_log(after))
    if old - new:
        raise Conflict(
            "the operation cannot be undone: it has deleted an address of notifications",
            kind="not_undoable",
            hint="Addresses may have secrets, so they are not in the log: add it again.",
        )
    targets = () if current is None else _STORED.decode(current)
    if not new - old <= _ids(targets):
        raise changed_since("the address was deleted since", "Nothing is to be done.")
    return msgspec.json.encode([each for each in targets if each.id not in new - old])


def _ids(targets: Collection[LoggedTarget | NotificationTarget]) -> set[str]:
    return {each.id for each in targets}


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
