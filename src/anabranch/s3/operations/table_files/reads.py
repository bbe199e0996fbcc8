"""Reading of files of tables: their bytes, a range of them, their headers."""

from __future__ import annotations

import hashlib

from anabranch.access.policies.permissions import Action
from anabranch.http.response import Response
from anabranch.model.objects.entry import Entry
from anabranch.s3.call import Call
from anabranch.s3.operation import Level, Need, Operation
from anabranch.s3.operations.object_reads import build_head
from anabranch.s3.operations.table_files.addresses import area_of, file_of, on_table

__all__ = ["OPERATIONS", "file_etag"]

_NOT_MODIFIED = 304


def file_etag(area: str, path: str) -> str:
    """Returns the ETag of a file, without quotes. What is written once is identified by its name;
    the dash tells clients that this is no MD5.
    """
    return hashlib.md5(f"{area}/{path}".encode(), usedforsecurity=False).hexdigest() + "-1"


def get_file(call: Call) -> Response:
    """Returns the bytes of a file or a range of them."""
    area, path = area_of(call), file_of(call.address)
    answer, part = build_head(call, _entry(call))
    start, length = (0, answer.length) if part is None else (part.start, part.length)
    if answer.status != _NOT_MODIFIED and length:
        answer.pieces = call.services.catalog.table_areas.get(area, path, start, length)
    return answer


def head_file(call: Call) -> Response:
    """Returns the headers of a file."""
    return build_head(call, _entry(call))[0]


def _entry(call: Call) -> Entry:
    area, path = area_of(call), file_of(call.address)
    info = call.services.catalog.table_areas.stat(area, path)
    etag = file_etag(area.id, path)
    return Entry(address="", size=info.size, mtime=info.mtime, checksum=etag)


OPERATIONS = (
    Operation(
        id="GetTableFile",
        method="GET",
        level=Level.OBJECT,
        permission=(Need(Action.READ_OBJECT, on_table),),
        handler=get_file,
    ),
    Operation(
        id="HeadTableFile",
        method="HEAD",
        level=Level.OBJECT,
        permission=(Need(Action.READ_OBJECT, on_table),),
        handler=head_file,
    ),
)
