"""The directory marker of a reference: `main/`, a key without a path.

Clients with directories (pyarrow, Hadoop) check that it exists, and create it before they write
below it. It exists, empty, if the reference exists, and is never stored.
"""

from __future__ import annotations

import hashlib

from anabranch.http.etags import quote_etag
from anabranch.http.response import Response
from anabranch.model.objects.entry import Entry
from anabranch.s3.call import Call
from anabranch.s3.protocol.addressing import Address
from anabranch.s3.protocol.errors import S3Error

__all__ = ["create_folder", "is_folder", "stat_folder"]

_TYPE = "application/x-directory"
_EMPTY = hashlib.md5(b"", usedforsecurity=False).hexdigest()


def is_folder(address: Address) -> bool:
    """Returns whether a key is a reference followed by a slash."""
    return bool(address.ref) and address.key == address.ref + "/"


def stat_folder(call: Call) -> Entry:
    """Returns the entry of a reference's directory marker, with the time of the reference's last
    commit. Raises what resolving the reference raises.
    """
    commit = call.services.catalog.commits.get(call.address.bucket, call.address.ref)
    return _folder_entry(commit.creation_date)


def create_folder(call: Call) -> Response:
    """Returns success for the directory marker of a branch, which always exists. Raises S3Error:
    InvalidArgument for a body, which cannot be stored, and NotFound if there is no such branch.
    """
    payload = call.payload()
    if payload.length:
        raise S3Error(
            "InvalidArgument", "A key for a write consists of branch, slash and path: main/a.txt"
        )
    payload.read(0)
    call.services.catalog.branches.get(call.address.bucket, call.address.ref)
    return Response(200, headers=[("ETag", quote_etag(_folder_entry(0).checksum))])


def _folder_entry(mtime: int) -> Entry:
    return Entry(address="", size=0, mtime=mtime, checksum=_EMPTY, content_type=_TYPE)
