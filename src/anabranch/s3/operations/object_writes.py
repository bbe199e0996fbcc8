"""Objects, written: stored whole, on condition if wanted."""

from __future__ import annotations

from collections.abc import Callable

from anabranch.access.permissions import Action
from anabranch.blocks.contract import Stored
from anabranch.model.entry import DEFAULT_CONTENT_TYPE, Entry
from anabranch.model.object_checksum import checksum_metadata
from anabranch.model.stat import Stat
from anabranch.s3.answer import Answer, header_safe
from anabranch.s3.call import Call
from anabranch.s3.errors import S3Error
from anabranch.s3.operation import BodyKind, Level, Need, Operation
from anabranch.s3.operations.object_checksums import checksum_headers
from anabranch.s3.operations.object_headers import etag_of
from anabranch.s3.operations.reference_folders import is_folder, make_folder
from anabranch.s3.operations.resources import on_object
from anabranch.s3.operations.tag_sets import tags_of_header
from anabranch.s3.operations.user_metadata import metadata_of
from anabranch.s3.operations.write_conditions import condition_of
from anabranch.s3.payloads.payload import Payload

__all__ = ["OPERATIONS", "require_path", "store_object"]


def put_object(call: Call) -> Answer:
    """Stores an object on a branch."""
    if is_folder(call.address):
        return make_folder(call)
    require_path(call)
    if "partNumber" in call.query:
        raise S3Error("InvalidArgument", "A part needs the uploadId of its upload")
    if_absent, expecting = condition_of(call)
    payload = call.delimited_payload(md5_elsewhere=True)
    metadata = metadata_of(call.request.headers) | tags_of_header(call.header("x-amz-tagging"))
    stat = store_object(
        call,
        payload,
        content_type=header_safe(call.header("content-type")),
        metadata=metadata,
        if_absent=if_absent,
        expecting=expecting,
    )
    headers = [("ETag", etag_of(stat.entry)), *checksum_headers(payload.checksum)]
    return Answer(200, headers=headers)


def require_path(call: Call) -> None:
    """Raises S3Error: InvalidArgument for a key that is no more than a reference."""
    if not call.address.path:
        raise S3Error(
            "InvalidArgument", "A key to write to has a branch, a slash and a path: main/a.txt"
        )


def store_object(
    call: Call,
    payload: Payload,
    *,
    content_type: str,
    metadata: dict[str, str],
    if_absent: bool = False,
    expecting: Callable[[Entry | None], None] | None = None,
) -> Stat:
    """Stores a payload as the object that a call names, with the checksum that it came with."""
    address = call.address

    def accept(stored: Stored) -> dict[str, str]:
        payload.check_md5(stored.checksum)
        return checksum_metadata(stored.checksum, payload.checksum)

    return call.services.catalog.objects.upload(
        address.bucket,
        address.ref,
        address.path,
        payload,
        content_type=content_type or DEFAULT_CONTENT_TYPE,
        metadata=metadata,
        if_absent=if_absent,
        expecting=expecting,
        accept=accept,
    )


OPERATIONS = (
    Operation(
        id="PutObject",
        method="PUT",
        level=Level.OBJECT,
        permission=(Need(Action.WRITE_OBJECT, on_object),),
        body=BodyKind.STREAM,
        brief=True,
        handler=put_object,
    ),
)
