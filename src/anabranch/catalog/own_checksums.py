"""Which entries tell the MD5 of their bytes as this server, or lakeFS, computed it.

Only these can show that bytes are damaged. Other checksums are the ETag of a multipart upload
(`…-3`), what a store says of an imported object, or what a client claims of bytes that it staged
by address. An entry's address tells: clients stage at addresses that end in a token, after a comma,
at addresses of their own choice, or at full ones.
"""

from __future__ import annotations

import re

from anabranch.model.entry import AddressType, Entry

__all__ = ["claimed_address", "own_md5"]

_MD5_LENGTH = 32
_ADDRESS_LENGTH = 46
_ADDRESS = re.compile(r"data/[0-9a-v]{20}/[0-9a-v]{20}")
_TOKEN_LENGTH = 43
_CLAIMED = "," + "claimed".ljust(_TOKEN_LENGTH, "_")
"""Of the length of a token, by which garbage collection recognises addresses of ours."""


def own_md5(entry: Entry) -> str:
    """Returns the hex MD5 of an entry's bytes as it was computed when they were stored, "" where
    the entry does not tell.
    """
    if (
        len(entry.checksum) == _MD5_LENGTH
        and len(entry.address) == _ADDRESS_LENGTH
        and entry.address_type == AddressType.RELATIVE
        and _ADDRESS.fullmatch(entry.address)
    ):
        return entry.checksum
    return ""


def claimed_address(address: str) -> str:
    """Returns a form of a new address that says that its checksum was not computed."""
    return address + _CLAIMED
