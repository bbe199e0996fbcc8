"""Objects, read: content, headers, what is known of one, listings."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from anabranch.access.decide import decide
from anabranch.access.permissions import Action, Permission, object_arn
from anabranch.catalog.objects import ObjectPage, OpenObject
from anabranch.catalog.pinned_reads import pinned_etag
from anabranch.catalog.presigning import Presigned
from anabranch.errors import AnabranchError, Denied
from anabranch.model.entry import Entry
from anabranch.model.page import DEFAULT_AMOUNT, MAX_AMOUNT
from anabranch.model.stat import CommonPrefix, Stat
from anabranch.rest.answer import BYTES, JSON, Answer, encode, header_safe
from anabranch.rest.call import Call
from anabranch.rest.errors import answer_error
from anabranch.rest.object_headers import (
    RANGE_PATTERN,
    ByteRange,
    byte_range,
    etag_of,
    object_headers,
)
from anabranch.rest.object_stats import ObjectStats, ObjectStatsList, common_prefix, object_stats
from anabranch.rest.operation import Need, Operation, Response
from anabranch.rest.pagination import Pagination, amount_of
from anabranch.rest.parameters import HEADER, Amount, AtRef, ObjectPath
from anabranch.rest.presigning import found_at, presigned_read
from anabranch.rest.resources import on_object, on_repository

__all__ = ["OPERATIONS"]

SMALL = 256 * 1024
"""Objects up to so many bytes are sent in one piece if they are in memory."""

_Range = Annotated[str, HEADER, Meta(pattern=RANGE_PATTERN, description="byte range to retrieve")]


class AtPath(AtRef, frozen=True, kw_only=True):
    """The parameters of everything that is read of one object."""

    path: ObjectPath


class HeadObject(AtPath, frozen=True, kw_only=True):
    """Parameters of headObject."""

    range: _Range | UnsetType = field(default=UNSET, name="Range")


class GetObject(HeadObject, frozen=True, kw_only=True):
    """Parameters of getObject."""

    if_none_match: Annotated[str, HEADER] = field(default="", name="If-None-Match")
    presign: bool = False


class StatObject(AtPath, frozen=True, kw_only=True):
    """Parameters of statObject."""

    user_metadata: bool = True
    presign: bool = False


class ListObjects(AtRef, frozen=True, kw_only=True):
    """Parameters of listObjects."""

    user_metadata: bool = True
    presign: bool = False
    after: str = ""
    amount: Amount = DEFAULT_AMOUNT
    delimiter: str = ""
    prefix: str = ""


class UnderlyingObjectProperties(msgspec.Struct, frozen=True):
    """What the store says of an object beside its content."""

    storage_class: str | None


def get_object(call: Call[GetObject, None]) -> Answer:
    """Returns an object's bytes, or a part of them."""
    asked = call.params
    found = call.services.catalog.objects.open(asked.repository, asked.ref, asked.path)
    entry = found.entry
    if asked.if_none_match and asked.if_none_match == etag_of(entry):
        return Answer(304, headers=[("ETag", etag_of(entry))])
    if asked.presign:
        return found_at(presigned_read(call, found.physical_address, found.pinned_etag).url)
    part = None if asked.range is UNSET else byte_range(asked.range, entry.size)
    return _content(found, part)


def head_object(call: Call[HeadObject, None]) -> Answer:
    """Returns an object's headers; of errors only the status."""
    asked = call.params
    try:
        found = call.services.catalog.objects.open(asked.repository, asked.ref, asked.path)
        entry = found.entry
        found.require_bytes()
        part = None if asked.range is UNSET else byte_range(asked.range, entry.size)
    except AnabranchError as error:
        return Answer(answer_error(error).status, error=error)
    return Answer(
        200 if part is None else 206,
        content_type=header_safe(entry.content_type),
        headers=_headers(entry, part, disposition=False),
        length=entry.size if part is None else part.length,
    )


def stat_object(call: Call[StatObject, None]) -> ObjectStats:
    """Returns what is known of an object."""
    asked = call.params
    stat = call.services.catalog.objects.stat(asked.repository, asked.ref, asked.path)
    presigned = _url_of(call, stat) if asked.presign else None
    shown = object_stats(stat, presigned=presigned)
    return shown if asked.user_metadata else msgspec.structs.replace(shown, metadata={})


def list_objects(call: Call[ListObjects, None]) -> Answer:
    """Returns a page of objects; the kernel writes it as JSON."""
    asked = call.params
    page = call.services.catalog.objects.listing(
        asked.repository,
        asked.ref,
        prefix=asked.prefix,
        after=asked.after,
        delimiter=asked.delimiter,
        amount=amount_of(asked.amount),
    )
    pagination = Pagination(
        has_more=page.has_more,
        max_per_page=MAX_AMOUNT,
        next_offset=page.next_offset,
        results=len(page),
    )
    if asked.presign:
        results = _presigned(call, page)
    else:
        results = page.json(user_metadata=asked.user_metadata)
    body = b"".join((b'{"pagination":', encode(pagination), b',"results":', results, b"}\n"))
    return Answer(200, body, content_type=JSON)


def _presigned(call: Call[ListObjects, None], page: ObjectPage) -> bytes:
    """Returns a page's items as JSON, with a presigned URL for each that the caller may read."""
    asked = call.params
    items = []
    for item in page.items:
        if isinstance(item, CommonPrefix):
            items.append(common_prefix(item.path))
            continue
        named = object_arn(asked.repository, item.path)
        url = None
        with suppress(Denied):
            permission = Permission(Action.READ_OBJECT, named)
            images = call.services.catalog.images
            decide(call.actor, [images.readable(permission, asked.repository, asked.ref)])
            url = _url_of(call, item)
        told = asked.user_metadata and bool(item.entry.metadata)
        items.append(object_stats(item, user_metadata=told, presigned=url))
    return encode(items)


def _url_of(call: Call[Any, None], stat: Stat) -> Presigned:
    return presigned_read(call, stat.physical_address, pinned_etag(stat.entry))


def get_underlying_properties(call: Call[AtPath, None]) -> UnderlyingObjectProperties:
    """Returns an object's storage class; no store of ours has any."""
    asked = call.params
    call.services.catalog.objects.stat(asked.repository, asked.ref, asked.path)
    return UnderlyingObjectProperties(storage_class=None)


def _content(found: OpenObject, part: ByteRange | None) -> Answer:
    entry = found.entry
    status, start, length = (200, 0, entry.size) if part is None else (206, part.start, part.length)
    body: bytes | None = b""
    if length:
        body = found.read_at_once(start, length) if length <= SMALL else None
    pieces = found.read(start, length) if body is None else None
    return Answer(
        status,
        body or b"",
        content_type=header_safe(entry.content_type),
        headers=_headers(entry, part, disposition=True),
        pieces=pieces,
        length=length,
    )


def _headers(entry: Entry, part: ByteRange | None, *, disposition: bool) -> list[tuple[str, str]]:
    headers = object_headers(entry, disposition=disposition)
    if part is not None:
        headers.append(("Content-Range", part.content_range))
    return headers


_OBJECTS = "/repositories/{repository}/refs/{ref}/objects"

OPERATIONS = (
    Operation(
        id="getObject",
        tag="objects",
        method="GET",
        path=_OBJECTS,
        summary="get object content",
        permission=(Need(Action.READ_OBJECT, on_object),),
        params=GetObject,
        response=bytes,
        media_type=BYTES,
        others=(
            Response(status=206, description="a part", type=bytes, media_type=BYTES),
            Response(status=302, description="where it is, presigned"),
            Response(status=304, description="not modified"),
        ),
        quick=True,
        handler=get_object,
    ),
    Operation(
        id="headObject",
        tag="objects",
        method="HEAD",
        path=_OBJECTS,
        summary="check if object exists",
        permission=(Need(Action.READ_OBJECT, on_object),),
        params=HeadObject,
        others=(Response(status=206, description="a part"),),
        quick=True,
        handler=head_object,
    ),
    Operation(
        id="statObject",
        tag="objects",
        method="GET",
        path=_OBJECTS + "/stat",
        summary="get object metadata",
        permission=(Need(Action.READ_OBJECT, on_object),),
        params=StatObject,
        response=ObjectStats,
        quick=True,
        handler=stat_object,
    ),
    Operation(
        id="listObjects",
        tag="objects",
        method="GET",
        path=_OBJECTS + "/ls",
        summary="list objects under a given prefix",
        permission=(Need(Action.LIST_OBJECTS, on_repository),),
        params=ListObjects,
        response=ObjectStatsList,
        handler=list_objects,
    ),
    Operation(
        id="getUnderlyingProperties",
        tag="objects",
        method="GET",
        path=_OBJECTS + "/underlyingProperties",
        summary="get object properties on underlying storage",
        permission=(Need(Action.READ_OBJECT, on_object),),
        params=AtPath,
        response=UnderlyingObjectProperties,
        handler=get_underlying_properties,
    ),
)
