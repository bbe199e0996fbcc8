"""Presigned URLs in answers: where a client reads or stores an object's bytes itself."""

from __future__ import annotations

from typing import Any

from anabranch.catalog.presigning import Presigned
from anabranch.errors import Invalid
from anabranch.rest.answer import Answer
from anabranch.rest.call import Call

__all__ = ["found_at", "presigned_read", "presigned_store", "server_of"]


def presigned_read(call: Call[Any, Any], address: str, etag: str = "") -> Presigned:
    """Returns a URL to read the block at an address, if it has an ETag that it must have."""
    return call.services.catalog.presigning.read(address, server_of(call), etag)


def presigned_store(call: Call[Any, Any], address: str) -> Presigned:
    """Returns a URL to store a block at an address."""
    return call.services.catalog.presigning.store(address, server_of(call))


def found_at(url: str) -> Answer:
    """Returns the answer that sends a client elsewhere."""
    return Answer(302, headers=[("Location", url)])


def server_of(call: Call[Any, Any]) -> str:
    """Returns where this client reaches this server: as the settings say, else as it asked."""
    endpoint = call.services.presign_endpoint
    if endpoint:
        return endpoint.rstrip("/")
    request = call.request
    host = request.header("host")
    if not host:
        raise Invalid("a presigned URL needs the request's Host header", kind="host_missing")
    return f"{'https' if request.secure else 'http'}://{host}"
