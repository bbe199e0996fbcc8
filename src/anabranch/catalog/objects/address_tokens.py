"""Tokens of addresses: that the server issued an address for one path of one branch.

A token is the HMAC of the repository, branch, path and address, and part of the address: the bytes
are stored under the address with its token. It has lakeFS's format, so that addresses that were
issued before a migration stay valid.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Callable

from anabranch.errors import Invalid

__all__ = ["AddressTokens", "without_token"]

_LIFETIME_SECONDS = 24 * 3600
_XID_LENGTH = 20
_XID_WRAP_SECONDS = 1 << 32
_TOKEN = re.compile(r",[\w-]{43}\Z")


class AddressTokens:
    """Adds tokens to addresses and verifies them. Addresses are relative to their repository's
    namespace; `clock` returns seconds since 1970.
    """

    def __init__(self, signing_secret: bytes, clock: Callable[[], float]) -> None:
        self._secret = signing_secret
        self._clock = clock

    def sign(self, repository: str, branch: str, path: str, relative: str) -> str:
        """Returns an address with its token, which is valid for a day after the time in the
        address.
        """
        return f"{relative},{self._token(repository, branch, path, relative)}"

    def verify(self, repository: str, branch: str, path: str, relative: str) -> None:
        """Raises Invalid for an address without a token of this path, or with an expired one."""
        unsigned, comma, token = relative.rpartition(",")
        if not comma:
            raise Invalid("link address invalid", kind="link_address_invalid")
        expected = self._token(repository, branch, path, unsigned)
        if not hmac.compare_digest(token.encode("utf-8", "surrogateescape"), expected.encode()):
            raise Invalid("link address invalid", kind="link_address_invalid")
        age = (int(self._clock()) - _xid_seconds(unsigned)) % _XID_WRAP_SECONDS
        if age > _LIFETIME_SECONDS:
            raise Invalid("link address expired", kind="link_address_expired")

    def _token(self, repository: str, branch: str, path: str, address: str) -> str:
        text = json.dumps(
            {
                "Repository": repository,
                "Branch": branch,
                "Path": path,
                "PhysicalAddress": address,
            },
            ensure_ascii=False,
            separators=(",", ":"),
        )
        for plain, escaped in _GO_ESCAPES.items():
            text = text.replace(plain, escaped)
        signature = hmac.new(
            self._secret, text.encode("utf-8", "surrogateescape"), hashlib.sha256
        ).digest()
        return base64.urlsafe_b64encode(signature).decode().rstrip("=")


_GO_ESCAPES = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


def without_token(address: str) -> str:
    """Returns an address without its token, for logs."""
    return _TOKEN.sub("", address)


def _xid_seconds(address: str) -> int:
    """Returns the time, in seconds mod 2^32, of the xid that ends an address."""
    xid = address.rpartition("/")[2]
    try:
        raw = base64.b32hexdecode(xid.upper() + "=" * (-len(xid) % 8))
    except ValueError:
        raw = b""
    if len(xid) != _XID_LENGTH or not raw:
        raise Invalid("link address invalid", kind="link_address_invalid")
    return int.from_bytes(raw[:4])
