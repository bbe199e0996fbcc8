"""The bytes of metadata: read and written exactly, within limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from anabranch.tables.iceberg.commits.refusals import refused
from anabranch.tables.iceberg.plain_content import plain_content

__all__ = ["MAX_BYTES", "check_depth", "decode_metadata", "encode_metadata"]

MAX_BYTES = 100 << 20
"""The largest metadata file that is written, and read."""

_MAX_DEPTH = 300
"""How deeply the values of requests may be nested: types of 64 levels have four for each."""


def decode_metadata(content: bytes) -> dict[str, Any]:
    """Returns the content of a metadata file, of a table or a view, with exact integers; it may
    be a gzip file. Raises Invalid for what is not an object of JSON, too large or nested too
    deeply.
    """
    _check_size(len(content))
    try:
        metadata = msgspec.json.decode(plain_content(content, MAX_BYTES))
    except (ValueError, RecursionError) as error:
        raise refused(f"the metadata are no JSON: {error}") from error
    if not isinstance(metadata, dict):
        raise refused("the metadata are no object of JSON")
    return metadata


def encode_metadata(metadata: Mapping[str, Any]) -> bytes:
    """Returns the bytes of a metadata file. Raises Invalid for metadata that are too large."""
    try:
        content = msgspec.json.encode(metadata)
    except (ValueError, RecursionError) as error:
        raise refused(f"the metadata cannot be written: {error}") from error
    _check_size(len(content))
    return content


def check_depth(value: Any, what: str) -> None:
    """Raises Invalid for a value of JSON that is nested too deeply."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(_MAX_DEPTH):
        level = [
            part
            for each in level
            for part in (each.values() if isinstance(each, Mapping) else each)
            if isinstance(part, dict | list)
        ]
        if not level:
            return
    raise refused(f"{what}: nested more than {_MAX_DEPTH} times")


def _check_size(size: int) -> None:
    if size > MAX_BYTES:
        raise refused(
            f"the metadata have {size} bytes, more than {MAX_BYTES >> 20} MiB",
            "Expire snapshots, or set write.metadata.previous-versions-max to fewer.",
        )
