"""Listings of the files of one table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from anabranch.access.policies.permissions import Action
from anabranch.catalog.tables.iceberg.areas import AreaFile
from anabranch.http.response import Response
from anabranch.model.tables.table_area import AREAS
from anabranch.s3.call import Call
from anabranch.s3.headers.object_headers import precise_time
from anabranch.s3.operation import Level, Need, Operation
from anabranch.s3.operations.key_encoding import KeyWriter
from anabranch.s3.operations.parameters import parse_max_keys
from anabranch.s3.operations.table_files.addresses import area_of, on_table
from anabranch.s3.operations.table_files.reads import file_etag
from anabranch.s3.protocol.xml_writer import document, element, leaf

__all__ = ["OPERATIONS"]

_GREATEST = "\U0010ffff"


class _Page(NamedTuple):
    """Elements of a page, and the last key if more follow."""

    elements: list[str]
    last: str


def list_files(call: Call) -> Response:
    """Returns a page of version 1, which begins after `marker`."""
    query, writer = call.query, KeyWriter(call)
    marker, limit = query.get("marker", ""), parse_max_keys(call, "max-keys")
    page = _page(call, writer, marker, limit)
    return Response(
        200,
        document(
            "ListBucketResult",
            leaf("Name", call.address.bucket),
            writer.key_element("Prefix", query["prefix"]),
            writer.key_element("Marker", marker),
            writer.key_element("NextMarker", page.last) if page.last else "",
            *_rest(call, writer, page, limit),
        ),
    )


def list_files_v2(call: Call) -> Response:
    """Returns a page of version 2, which begins after a continuation token or `start-after`."""
    query, writer = call.query, KeyWriter(call)
    after = query.get("continuation-token") or query.get("start-after", "")
    limit = parse_max_keys(call, "max-keys")
    page = _page(call, writer, after, limit)
    token = query.get("continuation-token")
    return Response(
        200,
        document(
            "ListBucketResult",
            leaf("Name", call.address.bucket),
            writer.key_element("Prefix", query["prefix"]),
            leaf("ContinuationToken", token) if token is not None else "",
            leaf("NextContinuationToken", page.last) if page.last else "",
            leaf("KeyCount", str(len(page.elements))),
            *_rest(call, writer, page, limit),
        ),
    )


def _rest(call: Call, writer: KeyWriter, page: _Page, limit: int) -> list[str]:
    delimiter = call.query.get("delimiter", "")
    return [
        leaf("MaxKeys", str(limit)),
        writer.key_element("Delimiter", delimiter) if delimiter else "",
        leaf("EncodingType", "url") if writer.encoded else "",
        leaf("IsTruncated", "true" if page.last else "false"),
        *page.elements,
    ]


def _page(call: Call, writer: KeyWriter, after: str, limit: int) -> _Page:
    area = area_of(call)
    root = f"{AREAS}/{area.id}/"
    prefix = call.query["prefix"]
    if not prefix.startswith(root) or not limit:
        return _Page([], "")  # an area alone, without a slash, names no file
    elements: list[str] = []
    last = ""
    for key, size, mtime in _items(call, root, after):
        if len(elements) == limit:
            return _Page(elements, last)
        last = key
        if size is None:
            elements.append(element("CommonPrefixes", writer.key_element("Prefix", key)))
            continue
        etag = file_etag(area.id, key.removeprefix(root))
        elements.append(
            element(
                "Contents",
                writer.key_element("Key", key),
                leaf("LastModified", precise_time(mtime)),
                leaf("ETag", f'"{etag}"'),
                leaf("Size", str(size)),
                leaf("StorageClass", "STANDARD"),
            )
        )
    return _Page(elements, "")


def _items(call: Call, root: str, after: str) -> Iterator[tuple[str, int | None, int]]:
    """Yields keys with their sizes and times, and common prefixes without, after a key."""
    prefix, delimiter = call.query["prefix"], call.query.get("delimiter", "")
    path = prefix.removeprefix(root)
    start = after.removeprefix(root) if after.startswith(root) else ""
    if delimiter and start.endswith(delimiter):
        start += _GREATEST  # after all that the common prefix stands for
    while True:
        common = ""
        for file in _files(call, path, start):
            head, found, _ = file.path[len(path) :].partition(delimiter or "\0")
            if found and delimiter:
                common = path + head + found
                break
            yield root + file.path, file.size, file.mtime
        if not common:
            return
        yield root + common, None, 0
        start = common + _GREATEST


def _files(call: Call, prefix: str, after: str) -> Iterator[AreaFile]:
    return call.services.catalog.table_areas.list(area_of(call), prefix, after)


OPERATIONS = (
    Operation(
        id="ListTableFiles",
        method="GET",
        level=Level.BUCKET,
        permission=(Need(Action.READ_OBJECT, on_table),),
        handler=list_files,
    ),
    Operation(
        id="ListTableFilesV2",
        method="GET",
        level=Level.BUCKET,
        on="list-type",
        permission=(Need(Action.READ_OBJECT, on_table),),
        handler=list_files_v2,
    ),
)
