"""Verification of audit logs: whether lines were altered, removed, added or moved."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

from anabranch.audit.chain import FIRST, digest_of, is_intact, parse_line, previous_of

__all__ = ["Verification", "verify"]


class Verification(NamedTuple):
    """The number of verified lines, and what is wrong with the next one, empty if nothing is."""

    lines: int
    problem: str = ""


def verify(lines: Iterable[bytes], *, is_beginning: bool = False) -> Verification:
    """Verifies the lines of a log, oldest first, without their newlines. Unless they are the
    log's `beginning`, the first one may follow a line that is not given, as after older files were
    deleted.

    A line that a crash has torn is accepted if the next one records it. Lines after the last one
    that were removed are not noticed.
    """
    last: dict[str, str] = {}
    torn: bytes | None = None
    number = 0
    for number, line in enumerate(lines, 1):
        record = parse_line(line)
        if record is None:
            if torn is not None:
                return Verification(number - 2, "it is no line of an audit log")
            torn = line
            continue
        if torn is not None and record.get("torn") != hashlib.sha256(torn).hexdigest():
            return Verification(number - 2, "it is no line of an audit log")
        torn = None
        if not is_intact(line):
            return Verification(number - 1, "it was altered")
        writer = str(record.get("writer", ""))
        expected = last.get(writer, FIRST if is_beginning or writer else None)
        if expected is not None and previous_of(record) != expected:
            return Verification(number - 1, "it does not follow the line before")
        last[writer] = digest_of(line)
    if torn is not None:
        return Verification(number - 1, "it is no line of an audit log")
    return Verification(number)
