"""An upload in parts: where what it becomes will lie, and with what."""

from __future__ import annotations

import msgspec

from anabranch.model.entry import DEFAULT_CONTENT_TYPE

__all__ = ["Finish", "Upload"]


class Upload(msgspec.Struct, frozen=True, kw_only=True):
    """An upload that has begun. `partition` is its repository's, `address` is relative to the
    repository and `block` the same in full; `creation_date` is in seconds since 1970. A checksum
    beside the MD5 is one that the client wants to be told of at the end.
    """

    id: str
    partition: str
    branch: str
    path: str
    address: str
    block: str
    creation_date: int
    metadata: dict[str, str] = {}
    content_type: str = DEFAULT_CONTENT_TYPE
    checksum_algorithm: str = ""
    checksum_type: str = ""

    @property
    def key(self) -> str:
        """The branch and the path, as clients of S3 write them."""
        return f"{self.branch}/{self.path}"


class Finish(msgspec.Struct, frozen=True, kw_only=True):
    """How an upload ended, at `time` in seconds since 1970: completed to what has this ETag, or,
    without one, aborted.
    """

    upload: Upload
    time: int
    etag: str = ""
    checksum: str = ""
