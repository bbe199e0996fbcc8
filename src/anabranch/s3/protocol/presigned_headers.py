"""Headers that a presigned URL carries in its query, so that its user need not send them.

boto3 does this in version 2 URLs, and libraries may in version 4: headers such as
`x-amz-meta-depth` or `x-amz-copy-source` become signed query parameters. Checksums in the query are
ignored, because some libraries put the checksum of the empty body that they had at signing there.
"""

from __future__ import annotations

import re

import msgspec

from anabranch.signing.encoding import decode_text, query_pairs
from anabranch.signing.request import Request

__all__ = ["with_presigned_headers"]

_SIGNATURE_PARAMETERS = ("X-Amz-Signature=", "AWSAccessKeyId=")
_QUERY_HEADERS = re.compile(
    r"x-amz-(?:meta-.+|copy-source(?:-.+)?|metadata-directive|tagging(?:-directive)?"
    r"|checksum-(?:algorithm|mode|type)|object-attributes|max-parts|part-number-marker)"
)
_QUERY_HEADERS_V2 = ("content-md5", "content-type")


def with_presigned_headers(request: Request) -> Request:
    """Returns the request with the headers that its URL carries added; a header that is also sent
    keeps its sent value.
    """
    query = request.query
    if not query or not any(mark in query for mark in _SIGNATURE_PARAMETERS):
        return request
    headers: dict[str, str] = {}
    for raw_name, _, value in query_pairs(query):
        name = decode_text(raw_name).lower()
        if _QUERY_HEADERS.fullmatch(name) or (
            name in _QUERY_HEADERS_V2 and _SIGNATURE_PARAMETERS[1] in query
        ):
            headers.setdefault(name, decode_text(value).strip())
    if not headers:
        return request
    return msgspec.structs.replace(request, headers={**headers, **request.headers})
