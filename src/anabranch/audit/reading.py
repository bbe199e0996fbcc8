"""Pages of an audit log's records, the newest first.

A position names a file by the digest of its first line, since files are renamed when a new one
begins, and a line by its end. The log may grow meanwhile: what is older than a position stays so.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from anabranch.audit.chain import digest_of, parse_line
from anabranch.audit.file import with_older_files
from anabranch.audit.filter import RecordFilter
from anabranch.errors import Invalid

__all__ = ["RecordPage", "read_records"]

_BLOCK = 1 << 18
_NAME_LENGTH = 16
_MAX_FIRST_LINE = 1 << 16
_MAX_SCANNED = 100_000
"""The most lines that are read for one page, which takes about half a second."""


class RecordPage(NamedTuple):
    """Records, the newest first, and the position at which older ones follow; it is empty if none
    do. A page may hold fewer records than asked for.
    """

    records: list[dict[str, Any]]
    next_position: str


def read_records(path: Path, wanted: RecordFilter, *, before: str = "", amount: int) -> RecordPage:
    """Returns at most `amount` matching records before a position, by default the newest. Raises
    Invalid for a position in a file that was deleted, and OSError.
    """
    records: list[dict[str, Any]] = []
    scanned = 0
    for position, line in _lines(path, before):
        if len(records) == amount or scanned == _MAX_SCANNED:
            return RecordPage(records, position)
        scanned += 1
        record = parse_line(line)
        if record is None:
            continue
        if wanted.since and str(record.get("time", "")) < wanted.since:
            break
        if wanted.matches(record):
            records.append(record)
    return RecordPage(records, "")


def _lines(path: Path, before: str) -> Iterator[tuple[str, bytes]]:
    """Yields lines, the newest first, each with the position behind it."""
    name, _, end_text = before.partition("-")
    is_found = not before
    for each in reversed(with_older_files(path)):
        with each.open("rb") as file:
            own_name = digest_of(file.readline(_MAX_FIRST_LINE).rstrip(b"\n"))[:_NAME_LENGTH]
            end = file.seek(0, os.SEEK_END)
            if not is_found:
                is_found = own_name == name and end_text.isdecimal() and int(end_text) <= end
                if not is_found:
                    continue
                end = int(end_text)
            for line_end, line in _lines_before(file.fileno(), end):
                yield f"{own_name}-{line_end}", line
    if not is_found:
        raise Invalid(
            "there is no such position in the audit log any more",
            kind="invalid_position",
            hint="Begin again with the newest records.",
        )


def _lines_before(file: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Yields the lines of a file that end at or before a position, the last one first."""
    rest, start = b"", end
    while start > 0:
        size = min(_BLOCK, start)
        start -= size
        block = os.pread(file, size, start) + rest
        lines = block.split(b"\n")
        rest = lines[0]
        position = start + len(block)
        for line in reversed(lines[1:]):
            if line:
                yield position, line
            position -= len(line) + 1
    if rest:
        yield len(rest), rest
