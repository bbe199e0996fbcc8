"""The files of parts in the folder of an upload, whose names tell all that is to be told.

    NUMBER.STAMP.SIZE.MD5

A part that is put again is another file, with a greater stamp, and counts from when it has its
name; the file before it is removed after that.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from anabranch.blocks.local_errors import NOT_THERE
from anabranch.blocks.upload_errors import upload_not_found
from anabranch.model.part import Part

__all__ = ["NANOSECONDS", "PartFile", "file_name", "part_files", "parts_in"]

NANOSECONDS = 1_000_000_000
"""How many of a stamp make a second; stamps are times."""

_NAME = re.compile(r"([0-9]{5})\.([0-9a-f]{16})\.([0-9]+)\.([0-9a-f]{32})")


class PartFile(NamedTuple):
    """A part and its file."""

    name: str
    stamp: int
    part: Part


def file_name(number: int, stamp: int, size: int, md5: str) -> str:
    """Returns the name of a part's file."""
    return f"{number:05d}.{stamp:016x}.{size}.{md5}"


def part_files(upload: str, number: int | None = None) -> list[PartFile]:
    """Returns the files of all parts in a folder, or of those of a number. Raises NotFound if
    there is no such folder.
    """
    beginning = "" if number is None else f"{number:05d}."
    try:
        names = os.listdir(upload)
    except NOT_THERE:
        raise upload_not_found() from None
    files = []
    for name in names:
        match = _NAME.fullmatch(name) if name.startswith(beginning) else None
        if match is not None:
            stamp = int(match[2], 16)
            part = Part(int(match[1]), int(match[3]), match[4], stamp // NANOSECONDS)
            files.append(PartFile(name, stamp, part))
    return files


def parts_in(upload: str) -> dict[int, PartFile]:
    """Returns the files of the parts that count, by their numbers. Raises NotFound."""
    held: dict[int, PartFile] = {}
    for each in part_files(upload):
        other = held.get(each.part.number)
        if other is None or other.stamp < each.stamp:
            held[each.part.number] = each
    return held
