"""What our own presigned URLs do: read one block, or store one, or a part of an upload.

They are operations like those of the API, under a path of their own and in no document of it: what
permits one is the URL.
"""

from __future__ import annotations

import re
from typing import Annotated

import msgspec
from msgspec import field

from anabranch.catalog.block_urls import BLOCK_PATH, Deed
from anabranch.rest.answer import BYTES, Answer
from anabranch.rest.call import Call
from anabranch.rest.object_headers import RANGE_PATTERN, byte_range, http_date
from anabranch.rest.operation import Access, Operation
from anabranch.rest.parameters import HEADER, Int64

__all__ = ["SIGNED_OPERATIONS"]

_RANGE = re.compile(RANGE_PATTERN)
_NEVER_SHOWN = (
    ("Content-Disposition", "attachment"),
    ("Content-Security-Policy", "default-src 'none'; sandbox"),
    ("X-Content-Type-Options", "nosniff"),
    ("Cache-Control", "no-store"),
)
"""What keeps a browser from running content of users in this server's origin."""


class SignedURL(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of a URL of ours."""

    address: str
    expires: Int64
    signature: str
    upload: str = ""
    part: Int64 = 0


class ReadBlock(SignedURL, frozen=True, kw_only=True):
    """Parameters of readSignedBlock."""

    etag: str = ""
    range: Annotated[str, HEADER] = field(default="", name="Range")


def read_block(call: Call[ReadBlock, None]) -> Answer:
    """Returns a block's bytes, or a part of them."""
    asked = call.params
    deed = Deed("GET", asked.address, asked.expires, asked.upload, asked.part, asked.etag)
    found = call.services.catalog.signed_blocks.open(deed, asked.signature)
    status, start, length = 200, 0, found.size
    headers = [
        *_NEVER_SHOWN,
        ("Accept-Ranges", "bytes"),
        ("Last-Modified", http_date(found.mtime)),
    ]
    if _RANGE.fullmatch(asked.range):
        part = byte_range(asked.range, found.size)
        status, start, length = 206, part.start, part.length
        headers.append(("Content-Range", part.content_range))
    pieces = found.read(start, length)
    return Answer(status, content_type=BYTES, headers=headers, pieces=pieces, length=length)


def store_block(call: Call[SignedURL, None]) -> Answer:
    """Stores a block, or a part of an upload in parts."""
    asked = call.params
    deed = Deed("PUT", asked.address, asked.expires, asked.upload, asked.part)
    content = call.request.content
    checksum = call.services.catalog.signed_blocks.store(deed, asked.signature, content)
    return Answer(200, headers=[("ETag", f'"{checksum}"')])


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
        handler=store_block,
    ),
)
