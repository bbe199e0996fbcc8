"""PutObject, and the storing of an object that form uploads share."""

from __future__ import annotations

from collections.abc import Callable

from anabranch.access.policies.permissions import Action
from anabranch.blocks.contract import Stored
from anabranch.http.etags import quote_etag
from anabranch.http.execution import BodyKind, Execution
from anabranch.http.header_values import header_safe
from anabranch.http.response import Response
from anabranch.model.objects.entry import DEFAULT_CONTENT_TYPE, Entry
from anabranch.model.objects.stat import Stat
from anabranch.model.uploads.object_checksum import checksum_metadata
from anabranch.s3.call import Call
from anabranch.s3.headers.object_checksums import checksum_headers
from anabranch.s3.headers.tag_sets import parse_tag_header
from anabranch.s3.headers.user_metadata import parse_user_metadata
from anabranch.s3.headers.write_conditions import parse_condition
from anabranch.s3.operation import Level, Need, Operation
from anabranch.s3.operations.directory_markers import create_folder, is_folder
from anabranch.s3.operations.resources import on_object
from anabranch.s3.payloads.payload import Payload
from anabranch.s3.protocol.errors import S3Error

__all__ = ["OPERATIONS", "require_path", "store_object"]


def put_object(call: Call) -> Response:
    """Stores an object on a branch."""
    if is_folder(call.address):
        return create_folder(call)
    require_path(call)
    if "partNumber" in call.query:
        raise S3Error("InvalidArgument", "The query parameter partNumber requires uploadId")
    if_absent, expecting = parse_condition(call)
    payload = call.delimited_payload(defer_md5=True)
    metadata = parse_user_metadata(call.request.headers) | parse_tag_header(
        call.header("x-amz-tagging")
    )
    stat = store_object(
        call,
        payload,
        content_type=header_safe(call.header("content-type")),
        metadata=metadata,
        if_absent=if_absent,
        expecting=expecting,
    )
    headers = [("ETag", quote_etag(stat.entry.checksum)), *checksum_headers(payload.checksum)]
    return Response(200, headers=headers)


def require_path(call: Call) -> None:
    """Raises S3Error: InvalidArgument for a key without a path."""
    if not call.address.path:
        raise S3Error(
            "InvalidArgument", "A key for a write consists of branch, slash and path: main/a.txt"
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
    """Stores a payload, with the checksum that was sent for it, as the object of a call and returns
    its stat.
    """
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
        precondition=expecting,
        verify=accept,
    )


OPERATIONS = (
    Operation(
        id="PutObject",
        method="PUT",
        level=Level.OBJECT,
        permission=(Need(Action.WRITE_OBJECT, on_object),),
        body=BodyKind.STREAM,
        execution=Execution.BATCHED,
        handler=put_object,
    ),
)
