"""Operations of this server's presigned URLs: read a block, store a block or a part of an upload.

They have a path of their own and are not in the OpenAPI document: the URL grants the permission.
"""

from __future__ import annotations

import re
from typing import Annotated

import msgspec
from msgspec import field

from anabranch.catalog.presigning.presigned_urls import BLOCK_PATH, UrlGrant
from anabranch.http.dates import format_http_date
from anabranch.http.execution import Execution
from anabranch.http.response import Response
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.object_headers import RANGE_PATTERN, require_range
from anabranch.rest.protocol.operation import Access, Operation
from anabranch.rest.protocol.parameters import HEADER, Int64
from anabranch.rest.protocol.responses import BYTES

__all__ = ["SIGNED_OPERATIONS"]

_RANGE = re.compile(RANGE_PATTERN)
_DOWNLOAD_ONLY = (
    ("Content-Disposition", "attachment"),
    ("Content-Security-Policy", "default-src 'none'; sandbox"),
    ("X-Content-Type-Options", "nosniff"),
    ("Cache-Control", "no-store"),
)
"""Keeps browsers from executing content of users in the origin of this server."""


class SignedURL(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of a presigned URL of this server."""

    address: str
    expires: Int64
    signature: str
    upload: str = ""
    part: Int64 = 0


class ReadBlock(SignedURL, frozen=True, kw_only=True):
    """Parameters of readSignedBlock."""

    etag: str = ""
    range: Annotated[str, HEADER] = field(default="", name="Range")


def read_block(call: Call[ReadBlock, None]) -> Response:
    """Returns a block's bytes, or a part of them."""
    params = call.params
    grant = UrlGrant("GET", params.address, params.expires, params.upload, params.part, params.etag)
    block = call.services.catalog.signed_blocks.open(grant, params.signature)
    status, start, length = 200, 0, block.size
    headers = [
        *_DOWNLOAD_ONLY,
        ("Accept-Ranges", "bytes"),
        ("Last-Modified", format_http_date(block.mtime)),
    ]
    if _RANGE.fullmatch(params.range):
        part = require_range(params.range, block.size)
        status, start, length = 206, part.start, part.length
        headers.append(("Content-Range", part.content_range))
    pieces = block.read(start, length)
    return Response(status, content_type=BYTES, headers=headers, pieces=pieces, length=length)


def store_block(call: Call[SignedURL, None]) -> Response:
    """Stores a block or a part of a multipart upload."""
    params = call.params
    grant = UrlGrant("PUT", params.address, params.expires, params.upload, params.part)
    content = call.request.content
    checksum = call.services.catalog.signed_blocks.store(grant, params.signature, content)
    return Response(200, headers=[("ETag", f'"{checksum}"')])


SIGNED_OPERATIONS = (
    Operation(
        id="readSignedBlock",
        tag="internal",
        method="GET",
        path=BLOCK_PATH,
        summary="read a block by a presigned URL",
        permission=Access.SIGNED_URL,
        params=ReadBlock,
        response=bytes,
        media_type=BYTES,
        handler=read_block,
    ),
    Operation(
        id="storeSignedBlock",
        tag="internal",
        method="PUT",
        path=BLOCK_PATH,
        summary="store a block, or a part of an upload, by a presigned URL",
        permission=Access.SIGNED_URL,
        params=SignedURL,
        stream=True,
        execution=Execution.STREAMED,
        handler=store_block,
    ),
)
