"""Objects, copied within the installation: the bytes go from store to store, not to the client."""

from __future__ import annotations

from anabranch.access.permissions import Action
from anabranch.model.entry import Entry
from anabranch.model.object_checksum import kept_checksum
from anabranch.s3.answer import Answer, header_safe
from anabranch.s3.call import Call
from anabranch.s3.errors import S3Error
from anabranch.s3.operation import Level, Need, Operation
from anabranch.s3.operations.conditions import require_copyable
from anabranch.s3.operations.copy_source import COPY_SOURCE, copy_source
from anabranch.s3.operations.object_checksums import checksum_elements, copied_checksum
from anabranch.s3.operations.object_headers import etag_of, precise_time
from anabranch.s3.operations.object_writes import require_path
from anabranch.s3.operations.resources import on_copied_object, on_object
from anabranch.s3.operations.tag_sets import TAGGING, tags_of_header
from anabranch.s3.operations.user_metadata import metadata_of
from anabranch.s3.operations.write_conditions import condition_of
from anabranch.s3.xml_writer import document, leaf

__all__ = ["OPERATIONS"]


def copy_object(call: Call) -> Answer:
    """Copies an object to a branch, with its metadata or with what the request gives instead."""
    require_path(call)
    if_absent, expecting = condition_of(call)
    source = copy_source(call)
    directive = _directive(call, "x-amz-metadata-directive")
    tagging = _directive(call, "x-amz-tagging-directive")
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
            metadata = metadata_of(call.request.headers)
        if tagging == "REPLACE":
            tags = tags_of_header(call.header("x-amz-tagging"))
        return content_type, metadata | tags

    stat = call.services.catalog.objects.copy(
        address.bucket,
        address.ref,
        address.path,
        source_repository=source.bucket,
        source_ref=source.ref,
        source_path=source.path,
        described=described,
        digested=copied_checksum(call),
        if_absent=if_absent,
        expecting=expecting,
    )
    return Answer(
        200,
        document(
            "CopyObjectResult",
            leaf("LastModified", precise_time(stat.entry.mtime)),
            leaf("ETag", etag_of(stat.entry)),
            checksum_elements(kept_checksum(stat.entry)),
        ),
    )


def _directive(call: Call, header: str) -> str:
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
