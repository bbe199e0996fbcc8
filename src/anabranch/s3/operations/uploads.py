"""Uploads in parts: begun, listed, aborted."""

from __future__ import annotations

from anabranch.access.permissions import Action
from anabranch.catalog.uploads import UploadPage
from anabranch.model.stat import CommonPrefix
from anabranch.model.upload import Upload
from anabranch.s3.answer import Answer, header_safe
from anabranch.s3.call import Call
from anabranch.s3.operation import Level, Need, Operation
from anabranch.s3.operations.buckets import OWNER
from anabranch.s3.operations.key_writer import KeyWriter
from anabranch.s3.operations.object_headers import precise_time
from anabranch.s3.operations.object_writes import require_path
from anabranch.s3.operations.page_sizes import most_of
from anabranch.s3.operations.resources import on_bucket, on_object
from anabranch.s3.operations.tag_sets import tags_of_header
from anabranch.s3.operations.user_metadata import metadata_of
from anabranch.s3.payloads.checksums import PREFIX
from anabranch.s3.payloads.part_checksums import ChecksumKind, wanted_kind
from anabranch.s3.xml_writer import document, element, leaf

__all__ = ["INITIATOR", "OPERATIONS"]

INITIATOR = element("Initiator", leaf("ID", "anabranch"), leaf("DisplayName", "anabranch"))

_NONE = UploadPage([], None)


def create_upload(call: Call) -> Answer:
    """Begins an upload; what the object shall have beside its bytes is said now."""
    require_path(call)
    kind = wanted_kind(call.header("x-amz-checksum-algorithm"), call.header("x-amz-checksum-type"))
    address = call.address
    upload = call.services.catalog.uploads.create(
        address.bucket,
        address.ref,
        address.path,
        content_type=header_safe(call.header("content-type")),
        metadata=metadata_of(call.request.headers) | tags_of_header(call.header("x-amz-tagging")),
        checksum_algorithm=kind.algorithm,
        checksum_type=kind.type,
    )
    return Answer(
        200,
        document(
            "InitiateMultipartUploadResult",
            leaf("Bucket", address.bucket),
            leaf("Key", address.key),
            leaf("UploadId", upload.id),
        ),
        headers=_kind_headers(kind),
    )


def abort_upload(call: Call) -> Answer:
    """Ends an upload, of which nothing stays."""
    address = call.address
    call.services.catalog.uploads.abort(
        address.bucket, address.ref, address.path, call.query["uploadId"]
    )
    return Answer(204)


def list_uploads(call: Call) -> Answer:
    """Returns a page of the uploads that have begun and not ended."""
    query, writer = call.query, KeyWriter(call)
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    key_marker = query.get("key-marker", "")
    id_marker = query.get("upload-id-marker", "") if key_marker else ""
    most = most_of(call, "max-uploads")
    call.services.catalog.repositories.get(call.address.bucket)
    page = _NONE
    if most:
        page = call.services.catalog.uploads.list(
            call.address.bucket,
            prefix=prefix,
            delimiter=delimiter,
            after_key=key_marker,
            after_id=id_marker,
            amount=most,
        )
    next_markers = ""
    if page.last:
        next_markers = writer.named("NextKeyMarker", page.last[0])
        next_markers += leaf("NextUploadIdMarker", page.last[1])
    return Answer(
        200,
        document(
            "ListMultipartUploadsResult",
            leaf("Bucket", call.address.bucket),
            writer.named("KeyMarker", key_marker),
            leaf("UploadIdMarker", id_marker),
            next_markers,
            writer.named("Prefix", prefix),
            writer.named("Delimiter", delimiter) if delimiter else "",
            leaf("MaxUploads", str(most)),
            leaf("EncodingType", "url") if writer.encoded else "",
            leaf("IsTruncated", "true" if page.last else "false"),
            *(_item(writer, item) for item in page.items),
        ),
    )


def _item(writer: KeyWriter, item: Upload | CommonPrefix) -> str:
    if isinstance(item, CommonPrefix):
        return element("CommonPrefixes", writer.named("Prefix", item.path))
    return element(
        "Upload",
        writer.named("Key", item.key),
        leaf("UploadId", item.id),
        INITIATOR,
        OWNER,
        leaf("StorageClass", "STANDARD"),
        leaf("Initiated", precise_time(item.creation_date)),
        *ChecksumKind(item.checksum_algorithm, item.checksum_type).elements(),
    )


def _kind_headers(kind: ChecksumKind) -> list[tuple[str, str]]:
    if not kind.algorithm:
        return []
    return [(f"{PREFIX}algorithm", kind.algorithm.upper()), (f"{PREFIX}type", kind.type)]


OPERATIONS = (
    Operation(
        id="CreateMultipartUpload",
        method="POST",
        level=Level.OBJECT,
        on="uploads",
        permission=(Need(Action.WRITE_OBJECT, on_object),),
        handler=create_upload,
    ),
    Operation(
        id="AbortMultipartUpload",
        method="DELETE",
        level=Level.OBJECT,
        on="uploadId",
        permission=(Need(Action.WRITE_OBJECT, on_object),),
        handler=abort_upload,
    ),
    Operation(
        id="ListMultipartUploads",
        method="GET",
        level=Level.BUCKET,
        on="uploads",
        permission=(Need(Action.LIST_OBJECTS, on_bucket),),
        handler=list_uploads,
    ),
)
