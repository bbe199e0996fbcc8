"""Redirects of reads to the object store, for clients that support them.

A client announces support by a word in its User-Agent, as in lakeFS. It receives a URL that the
store presigned, if the store can do this, and must not send its Authorization header there.
"""

from __future__ import annotations

from anabranch.catalog.objects.open_object import OpenObject
from anabranch.http.response import Response
from anabranch.s3.call import Call
from anabranch.s3.payloads.checksums import PREFIX

__all__ = ["build_redirect"]

_USER_AGENT_MARKER = "s3RedirectionSupport"
_TEMPORARY_REDIRECT = 307
_NOT_REDIRECTABLE = ("response-", "partNumber")
"""Prefixes of query parameters that change the response, which the store would ignore."""

_STORE_HEADERS = frozenset({"Accept-Ranges", "Cache-Control", "Content-Range", "Expires"})
"""Headers that the store sends with the bytes, besides those of checksums."""


def build_redirect(call: Call, opened: OpenObject, answer: Response) -> Response | None:
    """Returns a redirect to the object's bytes in the store, with the headers of the `answer` that
    it replaces; None if the client or the store does not support redirects.
    """
    if _USER_AGENT_MARKER not in call.header("user-agent"):
        return None
    if any(name.startswith(_NOT_REDIRECTABLE) for name in call.query):
        return None
    if opened.pinned_etag:
        return None  # the ETag is verified while this server reads the object
    url = call.services.catalog.presigning.direct_read_url(opened.physical_address)
    if url is None:
        return None
    # the URL expires, so it must not be cached as long as the object
    headers = [
        (name, value)
        for name, value in answer.headers
        if name not in _STORE_HEADERS and not name.startswith(PREFIX)
    ]
    return Response(
        _TEMPORARY_REDIRECT, headers=[*headers, ("Location", url), ("Cache-Control", "no-store")]
    )
