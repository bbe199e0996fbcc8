"""Content that is sent as it is: how it begins, and that nobody else is asked to send it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from anabranch.errors import NotSupported
from anabranch.rest.call import Call

__all__ = ["begun", "refuse_presigning"]


def begun(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Returns the pieces, the first of which has been read: lost data is told of before the
    answer begins, when there still is a status to tell it by.
    """
    return _continued(next(pieces, b""), pieces)


def refuse_presigning(call: Call[Any, None], *, presign: bool) -> None:
    """Raises NotSupported if a presigned URL is wanted: no store of ours gives any yet."""
    if presign:
        store = call.services.catalog.config().blockstore_type
        raise NotSupported(
            f"{store} adapter presigned URL: operation not supported", kind="unsupported_by_store"
        )


def _continued(first: bytes, others: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from others
