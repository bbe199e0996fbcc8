"""The source object of a copy, from the header `x-amz-copy-source`."""

from __future__ import annotations

from anabranch.model.tables.table_area import AREAS
from anabranch.s3.call import Call
from anabranch.s3.protocol.addressing import Address, parse_address
from anabranch.s3.protocol.errors import S3Error

__all__ = ["COPY_SOURCE", "copy_source"]

COPY_SOURCE = "x-amz-copy-source"


def copy_source(call: Call) -> Address:
    """Returns the address of a copy's source. The header is `/bucket/key`, percent-encoded, with
    an optional first slash; `+` means a space, as in lakeFS and S3.

    Raises S3Error: InvalidArgument if the header names no object, NoSuchVersion for a version.
    """
    path, question, version = call.header(COPY_SOURCE).partition("?")
    if question and version not in {"", "versionId=null"}:
        raise S3Error("NoSuchVersion")
    source = parse_address(path.replace("+", "%20"), "")
    if not source.bucket or not source.ref or not source.path:
        raise S3Error(
            "InvalidArgument",
            "Copy Source must mention the source bucket and key: sourcebucket/sourcekey",
            ArgumentName=COPY_SOURCE,
            ArgumentValue=call.header(COPY_SOURCE),
        )
    if source.ref == AREAS:
        raise S3Error("NotImplemented", "Files of tables are not copied: read and store them")
    return source
