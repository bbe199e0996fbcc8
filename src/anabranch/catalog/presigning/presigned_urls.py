"""URLs of this server that read or store one block, for stores without an HTTP interface such as a
local folder.

A URL needs no further authentication: its holder may read or store the one block that it names
until it expires. The URL is signed with a key that only the servers know, so clients cannot forge
or change one.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from typing import Literal, NamedTuple
from urllib.parse import urlencode

import msgspec

from anabranch.errors import Denied
from anabranch.signing.timestamps import write_compact

__all__ = ["BLOCK_PATH", "PresignedUrls", "UrlGrant"]

BLOCK_PATH = "/_signed/block"

Method = Literal["GET", "PUT"]


class UrlGrant(NamedTuple):
    """What a URL permits: `GET` reads the block at an address; `PUT` stores it or, with `part`,
    that part of an upload. It is valid until `expires`, in seconds since 1970. With an `etag`, the
    block is read only if it still has that ETag.
    """

    method: Method
    address: str
    expires: int
    upload_id: str = ""
    part: int = 0
    etag: str = ""


class PresignedUrls:
    """Signs and verifies the URLs. `clock` returns seconds since 1970."""

    def __init__(self, secret: bytes, clock: Callable[[], float]) -> None:
        # a derived key: signatures for other purposes with the same secret are not valid here
        self._key = hmac.digest(secret, b"anabranch block url", "sha256")
        self._clock = clock

    def sign(self, grant: UrlGrant) -> str:
        """Returns the path and query of a URL with a grant.

        `X-Amz-Date` and `X-Amz-Expires` are, as in presigned URLs of S3, the time of signing and
        the validity in seconds, for clients that check them before they use a URL. The server
        checks `expires` alone.
        """
        now = int(self._clock())
        parameters: dict[str, str | int] = {"address": grant.address, "expires": grant.expires}
        if grant.part:
            parameters |= {"upload": grant.upload_id, "part": grant.part}
        if grant.etag:
            parameters["etag"] = grant.etag
        parameters |= {
            "X-Amz-Date": write_compact(now),
            "X-Amz-Expires": max(grant.expires - now, 0),
        }
        parameters["signature"] = self._signature(grant)
        return f"{BLOCK_PATH}?{urlencode(parameters, errors='surrogateescape')}"

    def verify(self, grant: UrlGrant, signature: str) -> None:
        """Verifies the signature and the expiry of a grant. Raises Denied."""
        expected = self._signature(grant)
        if not hmac.compare_digest(signature.encode("utf-8", "surrogateescape"), expected.encode()):
            raise Denied(
                "the URL's signature does not match",
                kind="signature_mismatch",
                hint="Use the URL unchanged and with the method it was issued for.",
            )
        if self._clock() >= grant.expires:
            raise Denied("the URL has expired", kind="url_expired", hint="Request a new URL.")

    def _signature(self, grant: UrlGrant) -> str:
        method, address, *others = grant
        # JSON, so that different grants never have the same text
        text = msgspec.json.encode([method, address.encode("utf-8", "surrogateescape"), *others])
        return hmac.new(self._key, text, hashlib.sha256).hexdigest()
