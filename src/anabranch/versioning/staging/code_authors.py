"""Who has staged code: the action files and scripts that hooks are made of.

The record of a staged change (lakeFS's `StagedEntryData`) of such a path has a field more, which
other readers skip: a JSON list of principals. A commit does not have it.
"""

from __future__ import annotations

import msgspec

from anabranch.model.caller import Principal, current_caller

__all__ = ["ACTIONS_FOLDER", "authors_of", "with_authors"]

ACTIONS_FOLDER = "_lakefs_actions/"
"""The prefix of the paths of action files."""

_FOLDER = ACTIONS_FOLDER.encode()
_SCRIPT = b".lua"
_TAG = 15 << 3 | 2  # field 15, of bytes
_PRINCIPALS = msgspec.json.Decoder(tuple[Principal, ...])


def with_authors(key: bytes, record: bytes) -> bytes:
    """Returns the record of a staged change with the current caller, if the key is one of code."""
    if not (key.startswith(_FOLDER) or key.endswith(_SCRIPT)):
        return record
    authors = msgspec.json.encode(current_caller().principals)
    return record + bytes((_TAG,)) + _varint(len(authors)) + authors


def authors_of(record: bytes) -> tuple[Principal, ...] | None:
    """Returns who has staged a change, None if its record does not say so."""
    at = 0
    while at < len(record):  # all fields of the record are of bytes, with tags of one byte
        tag = record[at]
        length, at = _read_varint(record, at + 1)
        if tag == _TAG:
            return _PRINCIPALS.decode(record[at : at + length])
        at += length
    return None


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:  # noqa: PLR2004
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*encoded, number))


def _read_varint(record: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = record[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:  # noqa: PLR2004
            return number, at
