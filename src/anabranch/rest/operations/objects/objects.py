"""Reads of objects: content, headers, properties, listings."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from anabranch.access.policies.permissions import Action
from anabranch.catalog.objects.etag_pinned_reads import pinned_etag
from anabranch.catalog.objects.object_page import ObjectPage
from anabranch.catalog.objects.open_object import OpenObject
from anabranch.catalog.presigning.presigning import Presigned
from anabranch.errors import AnabranchError
from anabranch.http.etags import quote_etag
from anabranch.http.execution import Execution
from anabranch.http.header_values import header_safe
from anabranch.http.ranges import ByteRange
from anabranch.http.response import Response
from anabranch.model.objects.entry import Entry
from anabranch.model.objects.stat import CommonPrefix, Stat
from anabranch.model.page import DEFAULT_AMOUNT, MAX_AMOUNT
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.errors import error_response
from anabranch.rest.protocol.object_headers import (
    RANGE_PATTERN,
    object_headers,
    require_range,
)
from anabranch.rest.protocol.operation import Need, Operation, OtherResponse
from anabranch.rest.protocol.parameters import HEADER, Amount, AtRef, ObjectPath
from anabranch.rest.protocol.presigning import presigned_location, presigned_read
from anabranch.rest.protocol.resources import on_object, on_repository
from anabranch.rest.protocol.responses import BYTES, JSON, encode
from anabranch.rest.schemas.object_stats import (
    ObjectStats,
    ObjectStatsList,
    common_prefix,
    object_stats,
)
from anabranch.rest.schemas.pagination import Pagination, page_amount

__all__ = ["OPERATIONS"]

MAX_PROPERTIES_HEADER = 2048
"""Proxies reject responses whose headers have more than 4 to 8 KiB."""

MAX_UNSTREAMED_BYTES = 256 * 1024
"""Cached objects of at most this size are sent in one chunk."""

_Range = Annotated[str, HEADER, Meta(pattern=RANGE_PATTERN, description="byte range to retrieve")]


class AtPath(AtRef, frozen=True, kw_only=True):
    """Parameters of reads of one object."""

    path: ObjectPath


class HeadObject(AtPath, frozen=True, kw_only=True):
    """Parameters of headObject."""

    range: _Range | UnsetType = field(default=UNSET, name="Range")


class GetObject(HeadObject, frozen=True, kw_only=True):
    """Parameters of getObject."""

    if_none_match: Annotated[str, HEADER] = field(default="", name="If-None-Match")
    presign: bool = False
    pin: Annotated[
        bool,
        Meta(
            description="add the headers `X-Anabranch-Version`, the object's version, and "
            "`X-Anabranch-Object`, its properties in base64url unless they are long"
        ),
    ] = False
    version: Annotated[
        str, Meta(description="the version to read, even if the reference has another one by now")
    ] = ""


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
    """Properties of an object in the store."""

    storage_class: str | None


def get_object(call: Call[GetObject, None]) -> Response:
    """Returns an object's bytes, or a part of them."""
    params = call.params
    catalog = call.services.catalog
    if params.version:
        opened = catalog.versions.open(
            *(params.repository, params.ref, params.path), params.version
        )
    else:
        opened = catalog.objects.open(params.repository, params.ref, params.path)
    entry = opened.entry
    if params.if_none_match and params.if_none_match == quote_etag(entry.checksum):
        return Response(304, headers=[("ETag", params.if_none_match)])
    if params.presign:
        return presigned_location(
            presigned_read(call, opened.physical_address, opened.pinned_etag).url
        )
    part = None if params.range is UNSET else require_range(params.range, entry.size)
    response = _content_response(opened, part)
    if params.pin:
        response.headers = [*response.headers, *_version_headers(call, opened)]
    return response


def _version_headers(call: Call[GetObject, None], opened: OpenObject) -> list[tuple[str, str]]:
    versions, path = call.services.catalog.versions, call.params.path
    headers = [("X-Anabranch-Version", versions.token(opened, call.params.ref, path))]
    properties = urlsafe_b64encode(encode(object_stats(versions.stat(opened, path)))).decode()
    if len(properties) <= MAX_PROPERTIES_HEADER:
        headers.append(("X-Anabranch-Object", properties))
    return headers


def head_object(call: Call[HeadObject, None]) -> Response:
    """Returns an object's headers; errors have only a status."""
    params = call.params
    try:
        opened = call.services.catalog.objects.open(params.repository, params.ref, params.path)
        entry = opened.entry
        opened.require_bytes()
        part = None if params.range is UNSET else require_range(params.range, entry.size)
    except AnabranchError as error:
        return Response(error_response(error).status, error=error)
    return Response(
        200 if part is None else 206,
        content_type=header_safe(entry.content_type),
        headers=_headers(entry, part, disposition=False),
        length=entry.size if part is None else part.length,
    )


def stat_object(call: Call[StatObject, None]) -> ObjectStats:
    """Returns the properties of an object."""
    params = call.params
    stat = call.services.catalog.objects.stat(params.repository, params.ref, params.path)
    presigned = _presigned_url(call, stat) if params.presign else None
    stats = object_stats(stat, presigned=presigned)
    return stats if params.user_metadata else msgspec.structs.replace(stats, metadata={})


def list_objects(call: Call[ListObjects, None]) -> Response:
    """Returns a page of objects; the kernel writes it as JSON."""
    params = call.params
    page = call.services.catalog.objects.listing(
        params.repository,
        params.ref,
        prefix=params.prefix,
        after=params.after,
        delimiter=params.delimiter,
        amount=page_amount(params.amount),
        readable=call.readable_paths(params.ref, params.prefix),
    )
    pagination = Pagination(
        has_more=page.has_more,
        max_per_page=MAX_AMOUNT,
        next_offset=page.next_offset,
        results=len(page),
    )
    if params.presign:
        results = _presigned_stats(call, page)
    else:
        results = page.json(user_metadata=params.user_metadata)
    body = b"".join((b'{"pagination":', encode(pagination), b',"results":', results, b"}\n"))
    return Response(200, body, content_type=JSON)


def _presigned_stats(call: Call[ListObjects, None], page: ObjectPage) -> bytes:
    """Returns a page's items as JSON, with a presigned URL for each object."""
    items = []
    for item in page.items:
        if isinstance(item, CommonPrefix):
            items.append(common_prefix(item.path))
            continue
        include_metadata = call.params.user_metadata and bool(item.entry.metadata)
        url = _presigned_url(call, item)
        items.append(object_stats(item, user_metadata=include_metadata, presigned=url))
    return encode(items)


def _presigned_url(call: Call[Any, None], stat: Stat) -> Presigned:
    return presigned_read(call, stat.physical_address, pinned_etag(stat.entry))


def get_underlying_properties(call: Call[AtPath, None]) -> UnderlyingObjectProperties:
    """Returns the class that the store has an object in, null if it has none."""
    params = call.params
    opened = call.services.catalog.objects.open(params.repository, params.ref, params.path)
    return UnderlyingObjectProperties(storage_class=opened.storage_class())


def _content_response(opened: OpenObject, part: ByteRange | None) -> Response:
    entry = opened.entry
    status, start, length = (200, 0, entry.size) if part is None else (206, part.start, part.length)
    body: bytes | None = b""
    if length:
        body = opened.read_if_cached(start, length) if length <= MAX_UNSTREAMED_BYTES else None
    pieces = opened.chunks(start, length) if body is None else None
    return Response(
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
            OtherResponse(status=206, description="a part", type=bytes, media_type=BYTES),
            OtherResponse(status=302, description="where it is, presigned"),
            OtherResponse(status=304, description="not modified"),
        ),
        execution=Execution.INLINE,
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
        others=(OtherResponse(status=206, description="a part"),),
        execution=Execution.INLINE,
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
        execution=Execution.INLINE,
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
