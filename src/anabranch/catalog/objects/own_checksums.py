"""Entries whose checksum is the MD5 of their bytes as computed by Anabranch.

Only such a checksum proves that bytes are damaged. Other checksums are the ETag of a multipart
upload (`…-3`), also in lakeFS's form, which looks like an MD5, the store's ETag of an imported
object, or a client's claim about bytes that it staged by address. The address distinguishes them:
that of our own bytes is relative and proves that Anabranch generated it (`model.data_address`);
clients stage at addresses that end in a token after a comma, or at addresses of their own.
"""

from __future__ import annotations

from anabranch.model.objects.data_address import is_generated
from anabranch.model.objects.entry import AddressType, Entry

__all__ = ["own_md5", "unverified_address"]

_MD5_LENGTH = 32
_ADDRESS_LENGTH = 46
_TOKEN_LENGTH = 43
_UNVERIFIED = "," + "claimed".ljust(_TOKEN_LENGTH, "_")
"""As long as a token, since garbage collection recognises our addresses by that length."""


def own_md5(entry: Entry) -> str:
    """Returns the hex MD5 of an entry's bytes, computed when they were stored; "" if unknown."""
    if (
        len(entry.checksum) == _MD5_LENGTH
        and len(entry.address) == _ADDRESS_LENGTH
        and entry.address_type == AddressType.RELATIVE
        and is_generated(entry.address)
    ):
        return entry.checksum
    return ""


def unverified_address(address: str) -> str:
    """Returns a new address in the form that marks its checksum as not computed by a server."""
    return address + _UNVERIFIED
