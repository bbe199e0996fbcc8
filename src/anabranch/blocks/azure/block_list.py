"""Blocks of a blob: their names, and the XML documents that list them.

Azure stores the name and size of a block, so all other data about a part is in the name:

    UPLOAD (16 bytes) NUMBER (2) STAMP (8, nanoseconds since 1970) MD5 (16)     in base64

Number 0 is not a part: it marks the upload as open or aborted. Azure has no empty blocks, so an
empty part is stored as one byte and recognised by its MD5. [Microsoft, "Put Block", "Get Block
List"]
"""

from __future__ import annotations

import base64
import hashlib
import struct
from collections.abc import Iterable
from typing import NamedTuple
from xml.etree import ElementTree as ET

from anabranch.errors import Busy
from anabranch.model.uploads.part import Part

__all__ = ["ABORTED", "FILLING", "Block", "block_list", "read_blocks"]

FILLING = b"\0"
"""Content of a block that stands for an empty part."""

ABORTED = b"\xff" * 16
"""MD5 of a block of number 0 that marks the upload as aborted."""

_EMPTY = hashlib.md5(b"", usedforsecurity=False).digest()
_NAME = struct.Struct(">16sHQ16s")
_NANOSECONDS = 1_000_000_000


class Block(NamedTuple):
    """A block: its upload, part number, creation time in nanoseconds, MD5, and size in bytes."""

    upload: bytes
    number: int
    stamp: int
    md5: bytes = _EMPTY
    size: int = 0

    @property
    def name(self) -> str:
        """The name in Azure."""
        return base64.b64encode(_NAME.pack(*self[:4])).decode()

    @property
    def is_empty(self) -> bool:
        """Whether it stands for an empty part, and is left out of the blob."""
        return self.md5 == _EMPTY

    @property
    def part(self) -> Part:
        """The part that the block stores."""
        return Part(self.number, self.size, self.md5.hex(), self.stamp // _NANOSECONDS)


def read_blocks(document: bytes) -> list[Block]:
    """Returns the blocks of a list, without those that have other names. Raises Busy for a
    malformed document.
    """
    try:
        root = ET.fromstring(document)  # noqa: S314  the store is ours
        return [block for item in root.iter("Block") if (block := _read_block(item)) is not None]
    except (ET.ParseError, ValueError, LookupError) as error:  # an encoding that is not known, too
        raise Busy("the object store's response is malformed XML", kind="storage_failed") from error


def _read_block(item: ET.Element) -> Block | None:
    """Returns a block, None if it has another name. Raises ValueError for a malformed size."""
    name = item.findtext("Name", "")
    try:
        upload, number, stamp, md5 = _NAME.unpack(base64.b64decode(name, validate=True))
    except (ValueError, struct.error):  # also for a name that is not ASCII
        return None
    size = 0 if md5 == _EMPTY else int(item.findtext("Size", "0"))
    if size < 0:
        raise ValueError("a size is negative")
    return Block(upload, number, stamp, md5, size)


def block_list(blocks: Iterable[Block]) -> bytes:
    """Returns the document that commits blocks as a blob."""
    names = "".join(f"<Uncommitted>{block.name}</Uncommitted>" for block in blocks)
    return f'<?xml version="1.0" encoding="utf-8"?><BlockList>{names}</BlockList>'.encode()
