"""The table of operations, and which of them a request asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from anabranch.s3.addressing import Address
from anabranch.s3.errors import S3Error
from anabranch.s3.operation import Level, Operation
from anabranch.s3.operations import (
    buckets,
    completion,
    copies,
    deletions,
    form_uploads,
    listing,
    object_attributes,
    object_reads,
    object_writes,
    part_copies,
    parts,
    subresources,
    tagging,
    uploads,
)
from anabranch.s3.operations.copy_source import COPY_SOURCE
from anabranch.signing.request import Request

__all__ = ["OPERATIONS", "Choice", "choose", "is_form"]

FORM = "multipart/form-data"
"""The content type of uploads by forms of web pages."""

OPERATIONS: tuple[Operation, ...] = (
    *buckets.OPERATIONS,
    *subresources.OPERATIONS,
    *listing.OPERATIONS,
    *object_reads.OPERATIONS,
    *object_attributes.OPERATIONS,
    *object_writes.OPERATIONS,
    *form_uploads.OPERATIONS,
    *copies.OPERATIONS,
    *deletions.OPERATIONS,
    *tagging.OPERATIONS,
    *uploads.OPERATIONS,
    *parts.OPERATIONS,
    *part_copies.OPERATIONS,
    *completion.OPERATIONS,
)
"""Every operation, once."""

_BY_PLACE = {
    (operation.method, operation.level, operation.on): operation for operation in OPERATIONS
}

_NEVER_PLAIN = subresources.NAMES | {operation.on for operation in OPERATIONS if operation.on}
"""Parameters that make a request another one: `DELETE ?tagging` must never delete the object."""


_KEYS_OF_CLIENTS = frozenset(
    f"x-amz-{whose}server-side-encryption-customer-{what}"
    for whose in ("", "copy-source-")
    for what in ("algorithm", "key")
)
"""Headers of a promise that nobody keeps here: bytes that only the client can read."""


class Choice(NamedTuple):
    """An operation, and what it is asked on."""

    operation: Operation
    address: Address
    query: Mapping[str, str]


def choose(request: Request, address: Address, query: Mapping[str, str]) -> Choice:
    """Returns the operation that a request asks for. Raises S3Error: MethodNotAllowed, and
    NotImplemented for what S3 has and we have not.
    """
    if query and query.get("versionId", "null") not in {"", "null"}:
        raise S3Error("NoSuchVersion")
    if not _KEYS_OF_CLIENTS.isdisjoint(request.headers):
        raise S3Error("NotImplemented", "Encryption with keys of the client's is not done here")
    level = _level(address)
    special = [name for name in query if name in _NEVER_PLAIN] if query else []
    if request.method == "PUT" and COPY_SOURCE in request.headers:
        special = [*(f"{name} {COPY_SOURCE}" for name in special), *special] or [COPY_SOURCE]
    for name in special or [""]:
        operation = _BY_PLACE.get((request.method, level, name))  # type: ignore[arg-type]
        if operation is not None:
            if operation.form and not is_form(request.headers):
                raise S3Error(
                    "PreconditionFailed",
                    Condition=f"Bucket POST must be of the enclosure-type {FORM}",
                )
            return Choice(operation, address, query)
    raise S3Error("NotImplemented" if special else "MethodNotAllowed")


def is_form(headers: Mapping[str, str]) -> bool:
    """Returns whether a request has a form as its body."""
    return headers.get("content-type", "").lower().startswith(FORM)


def _level(address: Address) -> Level:
    if not address.bucket:
        return Level.SERVICE
    return Level.OBJECT if address.key else Level.BUCKET
