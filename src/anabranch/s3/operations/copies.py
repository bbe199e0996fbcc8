"""CopyObject: copies an object within the server without sending the bytes to the client."""

from __future__ import annotations

from anabranch.access.policies.permissions import Action
from anabranch.catalog.objects.byte_copies import Sharing
from anabranch.http.etags import quote_etag
from anabranch.http.header_values import header_safe
from anabranch.http.response import Response
from anabranch.model.objects.entry import Entry
from anabranch.model.uploads.object_checksum import stored_checksum
from anabranch.s3.call import Call
from anabranch.s3.headers.conditions import require_copyable
from anabranch.s3.headers.copy_source import COPY_SOURCE, copy_source
from anabranch.s3.headers.object_checksums import checksum_elements, make_copy_checksum
from anabranch.s3.headers.object_headers import precise_time
from anabranch.s3.headers.tag_sets import TAGGING, parse_tag_header
from anabranch.s3.headers.user_metadata import parse_user_metadata
from anabranch.s3.headers.write_conditions import parse_condition
from anabranch.s3.operation import Level, Need, Operation
from anabranch.s3.operations.object_writes import require_path
from anabranch.s3.operations.resources import on_copied_object, on_object
from anabranch.s3.protocol.errors import S3Error
from anabranch.s3.protocol.xml_writer import document, leaf

__all__ = ["OPERATIONS"]


def copy_object(call: Call) -> Response:
    """Copies an object to a branch, with the source's metadata or the request's. The copy refers to
    the bytes of the source if its repository owns them; it has bytes of its own if they belong to
    another repository or were imported.
    """
    require_path(call)
    if_absent, expecting = parse_condition(call)
    source = copy_source(call)
    directive = _parse_directive(call, "x-amz-metadata-directive")
    tagging = _parse_directive(call, "x-amz-tagging-directive")
    address = call.address
    if source == address and directive == tagging == "COPY":
        raise S3Error(
            "InvalidRequest",
            "This copy request is illegal because it is trying to copy an object to itself without "
            "changing the object's metadata, storage class, website redirect location or "
            "encryption attributes.",
        )

    def described(entry: Entry) -> tuple[str, dict[str, str]]:
        require_copyable(call.request.headers, entry)
        content_type, metadata = entry.content_type, dict(entry.metadata)
        tags = {TAGGING: metadata.pop(TAGGING)} if TAGGING in metadata else {}
        if directive == "REPLACE":
            content_type = header_safe(call.header("content-type"))
            metadata = parse_user_metadata(call.request.headers)
        if tagging == "REPLACE":
            tags = parse_tag_header(call.header("x-amz-tagging"))
        return content_type, metadata | tags

    stat = call.services.catalog.objects.copy(
        address.bucket,
        address.ref,
        address.path,
        source_repository=source.bucket,
        source_ref=source.ref,
        source_path=source.path,
        transform_metadata=described,
        digest_source=make_copy_checksum(call),
        if_absent=if_absent,
        precondition=expecting,
        sharing=Sharing.OWN_BYTES,
    )
    return Response(
        200,
        document(
            "CopyObjectResult",
            leaf("LastModified", precise_time(stat.entry.mtime)),
            leaf("ETag", quote_etag(stat.entry.checksum)),
            checksum_elements(stored_checksum(stat.entry)),
        ),
    )


def _parse_directive(call: Call, header: str) -> str:
    directive = call.header(header) or "COPY"
    if directive not in {"COPY", "REPLACE"}:
        raise S3Error(
            "InvalidArgument",
            "Unknown metadata directive.",
            ArgumentName=header,
            ArgumentValue=directive,
        )
    return directive


OPERATIONS = (
    Operation(
        id="CopyObject",
        method="PUT",
        level=Level.OBJECT,
        on=COPY_SOURCE,
        permission=(
            Need(Action.READ_OBJECT, on_copied_object),
            Need(Action.WRITE_OBJECT, on_object),
        ),
        handler=copy_object,
    ),
)
