"""Encoding of keys in listings: plain, or percent-encoded if the client requests it."""

from __future__ import annotations

from urllib.parse import quote

from anabranch.s3.call import Call
from anabranch.s3.protocol.errors import S3Error
from anabranch.s3.protocol.xml_writer import escape

__all__ = ["KeyWriter"]


class KeyWriter:
    """Writer of keys in one response. Raises S3Error: InvalidArgument for an unknown encoding."""

    def __init__(self, call: Call) -> None:
        encoding = call.query.get("encoding-type", "")
        if encoding not in {"", "url"}:
            raise S3Error("InvalidArgument", "Invalid Encoding Method specified in Request")
        self.encoded = bool(encoding)

    def key(self, key: str) -> str:
        """Returns a key as element content."""
        if self.encoded:
            return quote(key, safe="/", errors="surrogateescape")
        return escape(key)

    def key_element(self, name: str, key: str) -> str:
        """Returns an element with a key."""
        return f"<{name}>{self.key(key)}</{name}>"
