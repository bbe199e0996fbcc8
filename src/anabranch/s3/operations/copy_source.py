"""The object that a copy is made of, as the header `x-amz-copy-source` names it."""

from __future__ import annotations

from anabranch.s3.addressing import Address, address_of
from anabranch.s3.call import Call
from anabranch.s3.errors import S3Error

__all__ = ["COPY_SOURCE", "copy_source"]

COPY_SOURCE = "x-amz-copy-source"


def copy_source(call: Call) -> Address:
    """Returns the bucket and the key that are copied from: `/bucket/key`, percent-encoded, the
    first slash being optional. In it `+` is a space, as lakeFS reads it and S3 does.

    Raises S3Error: InvalidArgument for what names no object, NoSuchVersion for a version.
    """
    path, question, version = call.header(COPY_SOURCE).partition("?")
    if question and version not in {"", "versionId=null"}:
        raise S3Error("NoSuchVersion")
    source = address_of(path.replace("+", "%20"), "")
    if not source.bucket or not source.path:
        raise S3Error(
            "InvalidArgument",
            "Copy Source must mention the source bucket and key: sourcebucket/sourcekey",
            ArgumentName=COPY_SOURCE,
            ArgumentValue=call.header(COPY_SOURCE),
        )
    return source
