"""Records of rules for branches, which are replaced whole, on condition of an ETag if wanted."""

from __future__ import annotations

from anabranch.errors import Busy, PreconditionFailed
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write

__all__ = ["MAX_ATTEMPTS", "replace_record", "too_many_changes"]

MAX_ATTEMPTS = 100
"""How often a replacement without a condition is tried."""


def replace_record(
    keyvalue: KeyValueStore, unchanged: Expect, record: bytes, *, etag: str, if_match: str | None
) -> bool:
    """Replaces a record that was read, whose rules have an `etag`; returns whether it was still as
    `unchanged` says. Raises PreconditionFailed if it was not, or if the rules have another ETag
    than `if_match`, unless that is None.
    """
    matches = if_match is None or etag == if_match
    write = Write(unchanged.partition, unchanged.key, record)
    if matches and keyvalue.apply([write], [unchanged]):
        return True
    if if_match is not None:
        raise PreconditionFailed(
            "Precondition failed",
            hint="The rules have changed since they were read: read them again.",
        )
    return False


def too_many_changes() -> Busy:
    """Returns the error after so many attempts."""
    return Busy("the rules are changed by too many requests at once")
