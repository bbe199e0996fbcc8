"""Presigned URLs in responses: clients use them to read or store an object's bytes directly."""

from __future__ import annotations

from typing import Any

from anabranch.catalog.presigning.presigning import Presigned
from anabranch.errors import Invalid
from anabranch.http.response import Response
from anabranch.rest.protocol.call import Call

__all__ = ["presigned_location", "presigned_read", "presigned_store", "server_url"]


def presigned_read(call: Call[Any, Any], address: str, etag: str = "") -> Presigned:
    """Returns a URL to read the block at an address; `etag` is its required ETag, if any."""
    return call.services.catalog.presigning.read_url(address, server_url(call), etag)


def presigned_store(call: Call[Any, Any], address: str) -> Presigned:
    """Returns a URL to store a block at an address."""
    return call.services.catalog.presigning.store_url(address, server_url(call))


def presigned_location(url: str) -> Response:
    """Returns the response that redirects a client to a URL."""
    return Response(302, headers=[("Location", url)])


def server_url(call: Call[Any, Any]) -> str:
    """Returns the URL of this server: from the settings, else from the client's request."""
    endpoint = call.services.presign_endpoint
    if endpoint:
        return endpoint.rstrip("/")
    request = call.request
    host = request.header("host")
    if not host:
        raise Invalid("a presigned URL needs the request's Host header", kind="host_missing")
    return f"{'https' if request.secure else 'http'}://{host}"
