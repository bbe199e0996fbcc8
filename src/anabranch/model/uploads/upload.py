"""Multipart uploads: the address and metadata of the future object."""

from __future__ import annotations

import msgspec

from anabranch.model.objects.entry import DEFAULT_CONTENT_TYPE

__all__ = ["Finish", "Upload"]


class Upload(msgspec.Struct, frozen=True, kw_only=True):
    """An upload in progress. `partition` is its repository's, `address` is relative to the
    repository and `block` is the full address; `creation_date` is in seconds since 1970.
    `checksum_algorithm` and `checksum_type` describe the additional checksum that the client
    expects in the response to the completion.
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
    """The end of an upload at `time`, in seconds since 1970: completed to an object with this ETag,
    or, without one, aborted.
    """

    upload: Upload
    time: int
    etag: str = ""
    checksum: str = ""
