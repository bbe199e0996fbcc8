"""The table of operations, and the selection of a request's operation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from anabranch.model.tables.table_area import AREAS
from anabranch.s3.headers.copy_source import COPY_SOURCE
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
    static_subresources,
    tagging,
    uploads,
)
from anabranch.s3.operations.table_files import (
    listing as table_listing,
)
from anabranch.s3.operations.table_files import (
    reads as table_reads,
)
from anabranch.s3.operations.table_files import (
    uploads as table_uploads,
)
from anabranch.s3.operations.table_files import (
    writes as table_writes,
)
from anabranch.s3.protocol.addressing import Address
from anabranch.s3.protocol.errors import S3Error
from anabranch.signing.request import Request

__all__ = ["OPERATIONS", "Choice", "choose", "is_form"]

FORM = "multipart/form-data"
"""The content type of form uploads by web pages."""

OPERATIONS: tuple[Operation, ...] = (
    *buckets.OPERATIONS,
    *static_subresources.OPERATIONS,
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
"""Every operation on objects and buckets, once."""

TABLE_OPERATIONS: tuple[Operation, ...] = (
    *table_reads.OPERATIONS,
    *table_writes.OPERATIONS,
    *table_uploads.OPERATIONS,
    *table_listing.OPERATIONS,
)
"""Every operation on files of tables, once: those of requests with `.tables` as the reference."""

_BY_ROUTE = {
    (operation.method, operation.level, operation.on): operation for operation in OPERATIONS
}

_TABLE_BY_ROUTE = {
    (operation.method, operation.level, operation.on): operation for operation in TABLE_OPERATIONS
}

_SUBRESOURCES = static_subresources.NAMES | {
    operation.on for operation in OPERATIONS if operation.on
}
"""Parameters that select another operation: `DELETE ?tagging` must never delete the object."""

_CUSTOMER_KEY_HEADERS = frozenset(
    f"x-amz-{scope}server-side-encryption-customer-{name}"
    for scope in ("", "copy-source-")
    for name in ("algorithm", "key")
)
"""Headers that request encryption with the client's key, which is not supported."""


class Choice(NamedTuple):
    """An operation with the address and the query of its request."""

    operation: Operation
    address: Address
    query: Mapping[str, str]


def choose(request: Request, address: Address, query: Mapping[str, str]) -> Choice:
    """Returns the operation of a request. Raises S3Error: MethodNotAllowed, NoSuchVersion, and
    NotImplemented for S3 operations that are not supported.
    """
    if query and query.get("versionId", "null") not in {"", "null"}:
        raise S3Error("NoSuchVersion")
    if not _CUSTOMER_KEY_HEADERS.isdisjoint(request.headers):
        raise S3Error("NotImplemented", "Encryption with customer-provided keys is not supported")
    level = _level(address)
    special = [name for name in query if name in _SUBRESOURCES] if query else []
    if request.method == "PUT" and COPY_SOURCE in request.headers:
        special = [*(f"{name} {COPY_SOURCE}" for name in special), *special] or [COPY_SOURCE]
    if _is_table_file(level, request.method, address, query):
        return _choose_table_operation(request, level, special, address, query)
    for name in special or [""]:
        operation = _BY_ROUTE.get((request.method, level, name))  # type: ignore[arg-type]
        if operation is not None:
            if operation.form and not is_form(request.headers):
                raise S3Error(
                    "PreconditionFailed",
                    Condition=f"Bucket POST must be of the enclosure-type {FORM}",
                )
            return Choice(operation, address, query)
    raise S3Error("NotImplemented" if special else "MethodNotAllowed")


def _is_table_file(level: Level, method: str, address: Address, query: Mapping[str, str]) -> bool:
    """Returns whether a request is about files of tables alone."""
    if level is Level.OBJECT:
        return address.ref == AREAS
    return method == "GET" and query.get("prefix", "").startswith(f"{AREAS}/")


def _choose_table_operation(
    request: Request,
    level: Level,
    special: list[str],
    address: Address,
    query: Mapping[str, str],
) -> Choice:
    for name in special or [""]:
        operation = _TABLE_BY_ROUTE.get((request.method, level, name))  # type: ignore[arg-type]
        if operation is not None:
            return Choice(operation, address, query)
    raise S3Error("NotImplemented", "Files of tables are read, listed and written once, no more")


def is_form(headers: Mapping[str, str]) -> bool:
    """Returns whether the body of a request is a form."""
    return headers.get("content-type", "").lower().startswith(FORM)


def _level(address: Address) -> Level:
    if not address.bucket:
        return Level.SERVICE
    return Level.OBJECT if address.key else Level.BUCKET
