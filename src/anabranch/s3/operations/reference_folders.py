"""The folder that a reference is: `main/`, a key with no path.

Clients that think in folders (pyarrow, Hadoop) ask whether it is there, and make it before they
write into it. It is there as soon as the reference is, empty, and nothing is ever stored for it.
"""

from __future__ import annotations

import hashlib

from anabranch.model.entry import Entry
from anabranch.s3.addressing import Address
from anabranch.s3.answer import Answer
from anabranch.s3.call import Call
from anabranch.s3.errors import S3Error
from anabranch.s3.operations.object_headers import etag_of

__all__ = ["folder_of", "is_folder", "make_folder"]

_TYPE = "application/x-directory"
_EMPTY = hashlib.md5(b"", usedforsecurity=False).hexdigest()


def is_folder(address: Address) -> bool:
    """Returns whether a key is a reference and the slash after it."""
    return bool(address.ref) and address.key == address.ref + "/"


def folder_of(call: Call) -> Entry:
    """Returns the empty object that stands for a reference's folder, as old as its last commit.
    Raises what resolving the reference raises.
    """
    commit = call.services.catalog.commits.get(call.address.bucket, call.address.ref)
    return _folder(commit.creation_date)


def make_folder(call: Call) -> Answer:
    """Agrees to a branch's folder being made, which it is already. Raises S3Error: InvalidArgument
    for a body, which has nowhere to go, and NotFound for what is no branch.
    """
    payload = call.payload()
    if payload.length:
        raise S3Error(
            "InvalidArgument", "A key to write to has a branch, a slash and a path: main/a.txt"
        )
    payload.read(0)
    call.services.catalog.branches.get(call.address.bucket, call.address.ref)
    return Answer(200, headers=[("ETag", etag_of(_folder(0)))])


def _folder(mtime: int) -> Entry:
    return Entry(address="", size=0, mtime=mtime, checksum=_EMPTY, content_type=_TYPE)
