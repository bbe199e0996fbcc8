"""Multipart uploads: create, list, abort."""

from __future__ import annotations

from anabranch.access.policies.permissions import Action
from anabranch.catalog.objects.uploads import UploadPage
from anabranch.http.header_values import header_safe
from anabranch.http.response import Response
from anabranch.model.objects.stat import CommonPrefix
from anabranch.model.uploads.upload import Upload
from anabranch.s3.call import Call
from anabranch.s3.headers.object_headers import precise_time
from anabranch.s3.headers.tag_sets import parse_tag_header
from anabranch.s3.headers.user_metadata import parse_user_metadata
from anabranch.s3.operation import Level, Need, Operation
from anabranch.s3.operations.buckets import OWNER
from anabranch.s3.operations.key_encoding import KeyWriter
from anabranch.s3.operations.object_writes import require_path
from anabranch.s3.operations.parameters import parse_max_keys
from anabranch.s3.operations.resources import on_bucket, on_object
from anabranch.s3.payloads.checksums import PREFIX
from anabranch.s3.payloads.part_checksums import ChecksumKind, parse_checksum_kind
from anabranch.s3.protocol.xml_writer import document, element, leaf

__all__ = ["INITIATOR", "OPERATIONS"]

INITIATOR = element("Initiator", leaf("ID", "anabranch"), leaf("DisplayName", "anabranch"))

_EMPTY_PAGE = UploadPage([], None)


def create_upload(call: Call) -> Response:
    """Creates an upload, with the metadata and the content type of the future object."""
    require_path(call)
    kind = parse_checksum_kind(
        call.header("x-amz-checksum-algorithm"), call.header("x-amz-checksum-type")
    )
    address = call.address
    upload = call.services.catalog.uploads.create(
        address.bucket,
        address.ref,
        address.path,
        content_type=header_safe(call.header("content-type")),
        metadata=parse_user_metadata(call.request.headers)
        | parse_tag_header(call.header("x-amz-tagging")),
        checksum_algorithm=kind.algorithm,
        checksum_type=kind.type,
    )
    return Response(
        200,
        document(
            "InitiateMultipartUploadResult",
            leaf("Bucket", address.bucket),
            leaf("Key", address.key),
            leaf("UploadId", upload.id),
        ),
        headers=_kind_headers(kind),
    )


def abort_upload(call: Call) -> Response:
    """Aborts an upload and discards its parts."""
    address = call.address
    call.services.catalog.uploads.abort(
        address.bucket, address.ref, address.path, call.query["uploadId"]
    )
    return Response(204)


def list_uploads(call: Call) -> Response:
    """Returns a page of the uploads in progress."""
    query, writer = call.query, KeyWriter(call)
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    key_marker = query.get("key-marker", "")
    id_marker = query.get("upload-id-marker", "") if key_marker else ""
    limit = parse_max_keys(call, "max-uploads")
    call.services.catalog.repositories.get(call.address.bucket)
    page = _EMPTY_PAGE
    if limit:
        page = call.services.catalog.uploads.list(
            call.address.bucket,
            prefix=prefix,
            delimiter=delimiter,
            after_key=key_marker,
            after_id=id_marker,
            amount=limit,
            readable=call.services.catalog.images.readable_paths(
                call.actor, call.address.bucket, "", ""
            ),
        )
    next_markers = ""
    if page.last:
        next_markers = writer.key_element("NextKeyMarker", page.last[0])
        next_markers += leaf("NextUploadIdMarker", page.last[1])
    return Response(
        200,
        document(
            "ListMultipartUploadsResult",
            leaf("Bucket", call.address.bucket),
            writer.key_element("KeyMarker", key_marker),
            leaf("UploadIdMarker", id_marker),
            next_markers,
            writer.key_element("Prefix", prefix),
            writer.key_element("Delimiter", delimiter) if delimiter else "",
            leaf("MaxUploads", str(limit)),
            leaf("EncodingType", "url") if writer.encoded else "",
            leaf("IsTruncated", "true" if page.last else "false"),
            *(_upload_element(writer, item) for item in page.items),
        ),
    )


def _upload_element(writer: KeyWriter, item: Upload | CommonPrefix) -> str:
    if isinstance(item, CommonPrefix):
        return element("CommonPrefixes", writer.key_element("Prefix", item.path))
    return element(
        "Upload",
        writer.key_element("Key", item.key),
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
