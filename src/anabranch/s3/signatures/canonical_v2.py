"""The string to sign of signature version 2, which old clients use.

    method, Content-MD5, Content-Type, date, x-amz- headers sorted, path with its bucket, and
    the query parameters that name a sub-resource or change the response

The path is as sent; parameter values are decoded. [AWS, "Signing and authenticating REST requests
(AWS signature version 2)"]
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from anabranch.signing.encoding import decode_text, query_pairs
from anabranch.signing.request import Request

__all__ = ["canonical_string"]

_SIGNED_PARAMETER = re.compile(
    r"accelerate|acl|analytics|cors|defaultObjectAcl|delete|inventory|lifecycle|location|"
    r"logging|metrics|notification|object-lock|partNumber|policy|replication|"
    r"requestPayment|restore|select|select-type|storageClass|tagging|torrent|uploadId|"
    r"uploads|versionId|versioning|versions|website|"
    r"response-(?:cache-control|content-(?:disposition|encoding|language|type)|expires)"
)
_FOLDS = re.compile(r"[ \t]*\r?\n[ \t]*")


def canonical_string(
    request: Request, headers: Mapping[str, str], date: str, *, as_sent: bool
) -> str:
    """Returns the string to sign. `headers` are the request's, including those that its URL
    carries; `date` is the text of the date line.

    Most clients sign two things differently from how they send them: they leave out `=` without a
    value, and end a path that is only a bucket with a slash. Others sign both `as_sent`.
    """
    lines = [request.method, headers.get("content-md5", ""), headers.get("content-type", ""), date]
    lines += [
        f"{name}:{_FOLDS.sub(' ', headers[name])}"
        for name in sorted(headers)
        if name.startswith("x-amz-")
    ]
    lines.append(_resource(request, as_sent=as_sent))
    return "\n".join(lines)


def _resource(request: Request, *, as_sent: bool) -> str:
    path = request.path or "/"
    if request.bucket:
        path = f"/{request.bucket}{path}"
    if not as_sent and "/" not in path[1:]:
        path = path.rstrip("/") + "/"
    pairs = [
        (name, equals, decode_text(value))
        for name, equals, value in query_pairs(request.query)
        if _SIGNED_PARAMETER.fullmatch(name)
    ]
    if not pairs:
        return path
    pairs.sort(key=lambda pair: pair[0])
    parts = [
        f"{name}={value}" if value or (equals and as_sent) else name
        for name, equals, value in pairs
    ]
    return f"{path}?{'&'.join(parts)}"
