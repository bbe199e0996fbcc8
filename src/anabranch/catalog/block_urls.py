"""URLs of our own server that read or store one block: for stores that answer no requests
themselves, such as a folder.

Such a URL is all that is asked for: whoever has it may do the one thing that it names, to the one
block, until it expires. What it names is signed with a key that only the servers know, so nobody
can make or change one.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from typing import Literal, NamedTuple
from urllib.parse import urlencode

import msgspec

from anabranch.errors import Denied
from anabranch.signing.instants import write_compact

__all__ = ["BLOCK_PATH", "BlockUrls", "Deed"]

BLOCK_PATH = "/_signed/block"

Method = Literal["GET", "PUT"]


class Deed(NamedTuple):
    """What a URL permits: `GET` reads the block at an address, `PUT` stores it, or with a number
    that part of an upload; until `expires`, in seconds since 1970. With an `etag`, the block is
    read if it still has this one.
    """

    method: Method
    address: str
    expires: int
    upload_id: str = ""
    part: int = 0
    etag: str = ""


class BlockUrls:
    """Makes and checks the URLs. `clock` gives seconds since 1970."""

    def __init__(self, secret: bytes, clock: Callable[[], float]) -> None:
        # a key of its own: no other signature by the same secret can pass for one of these
        self._key = hmac.digest(secret, b"anabranch block url", "sha256")
        self._clock = clock

    def sign(self, deed: Deed) -> str:
        """Returns the path and query of a URL that permits a deed.

        `X-Amz-Date` and `X-Amz-Expires` say, as in S3's URLs, when it was made and for how many
        seconds it is good: clients look there before they use a URL. `expires` alone decides.
        """
        now = int(self._clock())
        named: dict[str, str | int] = {"address": deed.address, "expires": deed.expires}
        if deed.part:
            named |= {"upload": deed.upload_id, "part": deed.part}
        if deed.etag:
            named["etag"] = deed.etag
        named |= {"X-Amz-Date": write_compact(now), "X-Amz-Expires": max(deed.expires - now, 0)}
        named["signature"] = self._signature(deed)
        return f"{BLOCK_PATH}?{urlencode(named, errors='surrogateescape')}"

    def admit(self, deed: Deed, signature: str) -> None:
        """Returns if a URL that says so permits a deed. Raises Denied."""
        expected = self._signature(deed)
        if not hmac.compare_digest(signature.encode("utf-8", "surrogateescape"), expected.encode()):
            raise Denied(
                "the URL's signature does not match",
                kind="signature_mismatch",
                hint="Use it whole, as it was given, and for the method it was given for.",
            )
        if self._clock() >= deed.expires:
            raise Denied("the URL has expired", kind="url_expired", hint="Ask for a new one.")

    def _signature(self, deed: Deed) -> str:
        method, address, *others = deed
        # as JSON, in which no two deeds look alike
        text = msgspec.json.encode([method, address.encode("utf-8", "surrogateescape"), *others])
        return hmac.new(self._key, text, hashlib.sha256).hexdigest()
