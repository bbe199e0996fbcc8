"""Writes keys into listings as the client wants them: as they are, or percent-encoded."""

from __future__ import annotations

from urllib.parse import quote

from anabranch.s3.call import Call
from anabranch.s3.errors import S3Error
from anabranch.s3.xml_writer import escaped

__all__ = ["KeyWriter"]


class KeyWriter:
    """Writes the keys of one answer. Raises S3Error: InvalidArgument for an encoding that S3 does
    not know.
    """

    def __init__(self, call: Call) -> None:
        encoding = call.query.get("encoding-type", "")
        if encoding not in {"", "url"}:
            raise S3Error("InvalidArgument", "Invalid Encoding Method specified in Request")
        self.encoded = bool(encoding)

    def key(self, key: str) -> str:
        """Returns a key as it stands between tags."""
        if self.encoded:
            return quote(key, safe="/", errors="surrogateescape")
        return escaped(key)

    def named(self, name: str, key: str) -> str:
        """Returns an element that holds a key."""
        return f"<{name}>{self.key(key)}</{name}>"
