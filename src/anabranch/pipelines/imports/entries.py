"""Conversion of a store's listing to the kernel's records of entries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from anabranch import _kernel as kernel
from anabranch.blocks.external_objects import ExternalObject, ExternalObjects
from anabranch.errors import NotFound
from anabranch.model.imports import ImportSource
from anabranch.model.names import MAX_PATH_BYTES, encode_path
from anabranch.model.objects.entry import AddressType
from anabranch.pipelines.imports.rejected_objects import RejectedObjects
from anabranch.pipelines.jobs.progress import Progress

__all__ = ["Record", "import_records", "invalid_path_reason", "parse_destination"]

Record: TypeAlias = tuple[bytes, tuple[bytes, bytes]]
"""A key, and the identity and data of its entry."""

_FULL = int(AddressType.FULL)
_NANOSECONDS = 1_000_000_000
_REPORT_EVERY = 1_024
_NO_METADATA: dict[str, str] = {}


def parse_destination(source: ImportSource) -> bytes:
    """Returns the key of a single object, or the prefix of the keys of a prefix's objects."""
    key = encode_path(source.destination)
    if source.type == "object" or not key or key.endswith(b"/"):
        return key
    return key + b"/"


def import_records(
    source: ImportSource, sources: ExternalObjects, rejected: RejectedObjects, progress: Progress
) -> Iterator[Record]:
    """Yields the records of a source's objects, in the order of the store's listing. Objects whose
    names are invalid as paths are added to `rejected`; the directory marker of the prefix itself is
    skipped.

    Raises NotFound for a source without objects, and the errors of the store.
    """
    if source.type == "object":
        objects: Iterable[ExternalObject] = [sources.find(source.path)]
    else:
        objects = sources.list(source.path)
    number = 0
    encode = kernel.encode_entry
    start = parse_destination(source)
    for number, (name, address, size, mtime, checksum) in enumerate(objects, 1):
        if not number % _REPORT_EVERY:
            progress.advance(_REPORT_EVERY)
        key = start + name
        reason = invalid_path_reason(key)
        if reason:
            rejected.add(address, reason)
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
            hint="Check the spelling of the prefix; the prefix of a folder ends with a slash.",
        )
    progress.advance(number % _REPORT_EVERY)


def invalid_path_reason(key: bytes) -> str:
    """Returns why a key is invalid as a path, "" if it is valid."""
    if len(key) > MAX_PATH_BYTES:
        return f"its path would have {len(key)} bytes, at most {MAX_PATH_BYTES} are allowed"
    if not key.isascii():
        try:
            key.decode()
        except UnicodeDecodeError:
            return "its name is not UTF-8"
    return ""
