"""Headers that a presigned URL carries in its query, for whoever uses it to send nothing else.

boto3 signs a URL of version 2 so, and libraries of version 4 may: what would be `x-amz-meta-depth`
or `x-amz-copy-source` among the headers is a parameter, and signed like all of them. Checksums are
not taken from there: some libraries put that of an empty body, which they had when they signed.
"""

from __future__ import annotations

import re

import msgspec

from anabranch.signing.encoding import decoded_text, query_pairs
from anabranch.signing.request import Request

__all__ = ["with_presigned_headers"]

_PRESIGNED = ("X-Amz-Signature=", "AWSAccessKeyId=")
_CARRIED = re.compile(
    r"x-amz-(?:meta-.+|copy-source(?:-.+)?|metadata-directive|tagging(?:-directive)?"
    r"|checksum-(?:algorithm|mode|type)|object-attributes|max-parts|part-number-marker)"
)
_CARRIED_V2 = ("content-md5", "content-type")


def with_presigned_headers(request: Request) -> Request:
    """Returns a request with those headers that its URL carries; one that is sent as well counts
    as it is sent.
    """
    query = request.query
    if not query or not any(mark in query for mark in _PRESIGNED):
        return request
    headers: dict[str, str] = {}
    for raw_name, _, value in query_pairs(query):
        name = decoded_text(raw_name).lower()
        if _CARRIED.fullmatch(name) or (name in _CARRIED_V2 and _PRESIGNED[1] in query):
            headers.setdefault(name, decoded_text(value).strip())
    if not headers:
        return request
    return msgspec.structs.replace(request, headers={**headers, **request.headers})
