"""UploadPartCopy: a part copied from another object without sending the bytes to the client."""

from __future__ import annotations

import re

from anabranch.access.policies.permissions import Action
from anabranch.catalog.objects.open_object import OpenObject
from anabranch.http.response import Response
from anabranch.model.objects.entry import Entry
from anabranch.s3.call import Call
from anabranch.s3.headers.conditions import require_copyable
from anabranch.s3.headers.copy_source import COPY_SOURCE, copy_source
from anabranch.s3.headers.object_checksums import compute_checksum, full_object_checksum
from anabranch.s3.headers.object_headers import precise_time
from anabranch.s3.operation import Level, Need, Operation
from anabranch.s3.operations.parameters import parse_part_number
from anabranch.s3.operations.resources import on_copied_object, on_object
from anabranch.s3.payloads.part_checksums import element_name
from anabranch.s3.protocol.errors import S3Error
from anabranch.s3.protocol.xml_writer import document, leaf

__all__ = ["OPERATIONS"]

_RANGE_HEADER = "x-amz-copy-source-range"
_RANGE = re.compile(r"bytes=([0-9]{1,18})-([0-9]{1,18})")


def copy_part(call: Call) -> Response:
    """Stores a range of another object, or all of it, as a part."""
    number, source, address = parse_part_number(call), copy_source(call), call.address
    range_header = call.header(_RANGE_HEADER)

    def select(entry: Entry) -> tuple[int, int]:
        require_copyable(call.request.headers, entry)
        return _parse_range(range_header, entry.size) if range_header else (0, entry.size)

    def digested(algorithm: str, source: OpenObject, start: int, length: int) -> str:
        known = (
            full_object_checksum(source.entry, algorithm) if length == source.entry.size else None
        )
        return (
            compute_checksum(algorithm, source.chunks(start, length))
            if known is None
            else known.value
        )

    part, checksum = call.services.catalog.uploads.copy_part(
        address.bucket,
        address.ref,
        address.path,
        call.query["uploadId"],
        number,
        source_repository=source.bucket,
        source_ref=source.ref,
        source_path=source.path,
        select=select,
        digest=digested,
    )
    return Response(
        200,
        document(
            "CopyPartResult",
            leaf("LastModified", precise_time(part.mtime)),
            leaf("ETag", f'"{part.checksum}"'),
            "" if checksum is None else leaf(element_name(checksum[0]), checksum[1]),
        ),
    )


def _parse_range(header: str, size: int) -> tuple[int, int]:
    match = _RANGE.fullmatch(header)
    if match is None or int(match[2]) < int(match[1]):
        message = (
            f"The {_RANGE_HEADER} value must be of the form bytes=first-last where first and last "
            "are the zero-based offsets of the first and last bytes to copy"
        )
    elif int(match[2]) >= size:
        raise S3Error(
            "InvalidRange",
            f"Range specified is not valid for source object of size: {size}",
            RangeRequested=header,
            ActualObjectSize=str(size),
        )
    else:
        return int(match[1]), int(match[2]) - int(match[1]) + 1
    raise S3Error("InvalidArgument", message, ArgumentName=_RANGE_HEADER, ArgumentValue=header)


OPERATIONS = (
    Operation(
        id="UploadPartCopy",
        method="PUT",
        level=Level.OBJECT,
        on=f"uploadId {COPY_SOURCE}",
        permission=(
            Need(Action.READ_OBJECT, on_copied_object),
            Need(Action.WRITE_OBJECT, on_object),
        ),
        handler=copy_part,
    ),
)
