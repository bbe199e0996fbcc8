"""The chain of the audit log's lines: each line carries the digest of the one before and its own.

    {"time":"…","event":"decision",…,"previous":"<64 hex digits>","digest":"<64 hex digits>"}

The digest is the SHA-256 of the line as it would be without it. A line that was altered no longer
has its digest, and a line that was removed, added or moved breaks the chain.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

import msgspec

__all__ = ["FIRST", "digest_of", "encode_line", "is_intact", "parse_line", "previous_of"]

FIRST = "0" * 64
"""What stands for the digest before the first line."""

_DIGEST = re.compile(rb',"digest":"([0-9a-f]{64})"\}$')


def encode_line(record: Mapping[str, Any], previous: str) -> tuple[bytes, str]:
    """Returns the line of a record, with its newline, and the line's digest."""
    body = msgspec.json.encode({**record, "previous": previous})
    digest = hashlib.sha256(body).hexdigest()
    return b'%b,"digest":"%b"}\n' % (body[:-1], digest.encode()), digest


def digest_of(line: bytes) -> str:
    """Returns the digest that a line carries, the empty string if it carries none."""
    found = _DIGEST.search(line)
    return found[1].decode() if found else ""


def is_intact(line: bytes) -> bool:
    """Returns whether a line, without its newline, has the digest of its content."""
    found = _DIGEST.search(line)
    if found is None:
        return False
    body = line[: found.start()] + b"}"
    return hashlib.sha256(body).hexdigest() == found[1].decode()


def parse_line(line: bytes) -> dict[str, Any] | None:
    """Returns the record of a line, None if it is none."""
    try:
        record = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def previous_of(record: Mapping[str, Any]) -> str:
    """Returns the digest of the line before, as a record has it."""
    return str(record.get("previous", ""))
