"""From what a store lists to records of entries: the kernel's, ready to be written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from anabranch import _kernel as kernel
from anabranch.blocks.sources import Source, Sources
from anabranch.errors import NotFound
from anabranch.model.entry import AddressType
from anabranch.model.imports import ImportSource
from anabranch.model.names import MAX_PATH_BYTES, key_of
from anabranch.pipelines.imports.tally import Refused, Tally

__all__ = ["Record", "destination_of", "entries", "unfit_path"]

Record: TypeAlias = tuple[bytes, tuple[bytes, bytes]]
"""A key, and the identity and data of its entry."""

_FULL = int(AddressType.FULL)
_NANOSECONDS = 1_000_000_000
_BETWEEN_LOOKS = 1_024
_NO_METADATA: dict[str, str] = {}


def destination_of(source: ImportSource) -> bytes:
    """Returns the key of a single object, or what the keys of a prefix's objects begin with."""
    key = key_of(source.destination)
    if source.type == "object" or not key or key.endswith(b"/"):
        return key
    return key + b"/"


def entries(
    source: ImportSource, sources: Sources, refused: Refused, tally: Tally
) -> Iterator[Record]:
    """Yields the records of what is imported from a source, as the store lists it. Objects with
    names that no path can have are `refused`; a marker of the destination itself is passed over.

    Raises NotFound where there is nothing at all, and what the store raises.
    """
    if source.type == "object":
        found: Iterable[Source] = [sources.find(source.path)]
    else:
        found = sources.list(source.path)
    number = 0
    encode = kernel.encode_entry
    start = destination_of(source)
    for number, (name, address, size, mtime, checksum) in enumerate(found, 1):
        if not number % _BETWEEN_LOOKS:
            tally.add(_BETWEEN_LOOKS)
        key = start + name
        reason = unfit_path(key)
        if reason:
            refused.add(address, reason)
        elif key:
            seconds, nanos = divmod(mtime, _NANOSECONDS)
            yield (
                key,
                encode(address, _FULL, seconds, nanos, size, checksum, _NO_METADATA, ""),
            )
    if not number:
        raise NotFound(
            f"{source.path}: there is nothing to import",
            kind="nothing_to_import",
            hint="Look at the spelling of the prefix; a folder's ends with a slash.",
        )
    tally.add(number % _BETWEEN_LOOKS)


def unfit_path(key: bytes) -> str:
    """Returns why no object's path can be these bytes, "" if it can."""
    if len(key) > MAX_PATH_BYTES:
        return f"its path would have {len(key)} bytes, at most {MAX_PATH_BYTES} are allowed"
    if not key.isascii():
        try:
            key.decode()
        except UnicodeDecodeError:
            return "its name is not UTF-8"
    return ""
