"""The blocks of a blob, as uploads name them, and the documents that list them.

Azure keeps a block's name and size, so what else must be known of a part is in the name:

    UPLOAD (16 bytes) NUMBER (2) STAMP (8, nanoseconds since 1970) MD5 (16)     in base64

Number 0 is no part: it says that the upload is open, or has been aborted. Azure keeps no empty
block, so what has no bytes has one, which its MD5 tells. [Microsoft, "Put Block", "Get Block List"]
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import struct
from collections.abc import Iterable
from typing import NamedTuple
from xml.etree import ElementTree as ET

from anabranch.errors import Busy
from anabranch.model.part import Part

__all__ = ["ABORTED", "FILLING", "Block", "block_list", "read_blocks"]

FILLING = b"\0"
"""What a block holds that would be empty."""

ABORTED = b"\xff" * 16
"""In place of the MD5 of number 0: the upload is open no more."""

_EMPTY = hashlib.md5(b"", usedforsecurity=False).digest()
_NAME = struct.Struct(">16sHQ16s")
_NANOSECONDS = 1_000_000_000


class Block(NamedTuple):
    """A block: of which upload, for which part, when it was made, its MD5 and size in bytes."""

    upload: bytes
    number: int
    stamp: int
    md5: bytes = _EMPTY
    size: int = 0

    @property
    def name(self) -> str:
        """What Azure calls it."""
        return base64.b64encode(_NAME.pack(*self[:4])).decode()

    @property
    def is_empty(self) -> bool:
        """Whether nothing of it belongs into the blob."""
        return self.md5 == _EMPTY

    @property
    def part(self) -> Part:
        """The part that it is."""
        return Part(self.number, self.size, self.md5.hex(), self.stamp // _NANOSECONDS)


def read_blocks(document: bytes) -> list[Block]:
    """Returns the blocks that a list names, without those that others have made. Raises Busy for
    what is no list.
    """
    try:
        root = ET.fromstring(document)  # noqa: S314  the store is ours
    except ET.ParseError as error:
        raise Busy("the object store answers with broken XML", kind="storage_failed") from error
    found = []
    for item in root.iter("Block"):
        try:
            packed = base64.b64decode(item.findtext("Name", ""), validate=True)
            upload, number, stamp, md5 = _NAME.unpack(packed)
        except (binascii.Error, struct.error):
            continue
        size = 0 if md5 == _EMPTY else int(item.findtext("Size", "0"))
        found.append(Block(upload, number, stamp, md5, size))
    return found


def block_list(blocks: Iterable[Block]) -> bytes:
    """Returns the document that makes a blob of blocks."""
    names = "".join(f"<Uncommitted>{block.name}</Uncommitted>" for block in blocks)
    return f'<?xml version="1.0" encoding="utf-8"?><BlockList>{names}</BlockList>'.encode()
