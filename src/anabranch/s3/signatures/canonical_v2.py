"""What a signature of version 2 signs, which old clients make.

    method, Content-MD5, Content-Type, date, x-amz- headers sorted, path with its bucket, and
    those parameters of the query that name a part of the resource or change the answer

The path is as it was sent; values of parameters are decoded. [AWS, "Signing and authenticating
REST requests (AWS signature version 2)"]
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from anabranch.signing.encoding import decoded_text, query_pairs
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
    """Returns what is signed. `headers` are the request's, and those that a URL has in place of
    headers; `date` is what stands in the date's line.

    Two things that are sent are signed otherwise by most clients: `=` without a value after it is
    left out, and a path that is a bucket alone ends in a slash. Some sign them `as_sent`.
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
        (name, equals, decoded_text(value))
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
