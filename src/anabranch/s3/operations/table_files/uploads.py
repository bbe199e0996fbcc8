"""Multipart uploads of files of tables."""

from __future__ import annotations

from contextlib import suppress

from anabranch.access.policies.permissions import Action
from anabranch.errors import NotFound
from anabranch.http.execution import BodyKind, Execution
from anabranch.http.response import Response
from anabranch.s3.call import Call
from anabranch.s3.headers.location import object_location
from anabranch.s3.headers.object_headers import precise_time
from anabranch.s3.operation import Level, Need, Operation
from anabranch.s3.operations.buckets import OWNER
from anabranch.s3.operations.completion import check_part_sizes, parse_parts
from anabranch.s3.operations.key_encoding import KeyWriter
from anabranch.s3.operations.parameters import parse_max_keys, parse_number, parse_part_number
from anabranch.s3.operations.parts import part_response
from anabranch.s3.operations.table_files.addresses import area_of, file_of, on_table
from anabranch.s3.operations.uploads import INITIATOR
from anabranch.s3.payloads.checksums import PREFIX
from anabranch.s3.protocol.xml_writer import document, element, leaf

__all__ = ["OPERATIONS"]

_OBJECT_HEADERS = (PREFIX, "x-amz-sdk-checksum-algorithm")


def create_upload(call: Call) -> Response:
    """Creates an upload."""
    address = call.address
    upload = call.services.catalog.table_areas.open_upload(area_of(call), file_of(address))
    return Response(
        200,
        document(
            "InitiateMultipartUploadResult",
            leaf("Bucket", address.bucket),
            leaf("Key", address.key),
            leaf("UploadId", upload),
        ),
    )


def upload_part(call: Call) -> Response:
    """Stores a part of an upload."""
    number = parse_part_number(call)
    payload = call.delimited_payload()
    part = call.services.catalog.table_areas.put_part(
        area_of(call), file_of(call.address), call.query["uploadId"], number, payload
    )
    return part_response(part, payload)


def list_parts(call: Call) -> Response:
    """Returns a page of an upload's parts in the order of their numbers."""
    writer, address = KeyWriter(call), call.address
    limit = parse_max_keys(call, "max-parts")
    marker = parse_number(call, "part-number-marker", 0)
    upload = call.query["uploadId"]
    parts = call.services.catalog.table_areas.parts(area_of(call), file_of(address), upload)
    remaining = [part for part in parts if part.number > marker]
    page = remaining[:limit]
    last = page[-1].number if page else marker
    return Response(
        200,
        document(
            "ListPartsResult",
            leaf("Bucket", address.bucket),
            writer.key_element("Key", address.key),
            leaf("UploadId", upload),
            INITIATOR,
            OWNER,
            leaf("StorageClass", "STANDARD"),
            leaf("PartNumberMarker", str(marker)),
            leaf("NextPartNumberMarker", str(last)),
            leaf("MaxParts", str(limit)),
            leaf("EncodingType", "url") if writer.encoded else "",
            leaf("IsTruncated", "true" if 0 < limit < len(remaining) else "false"),
            *(
                element(
                    "Part",
                    leaf("PartNumber", str(part.number)),
                    leaf("LastModified", precise_time(part.mtime)),
                    leaf("ETag", f'"{part.checksum}"'),
                    leaf("Size", str(part.size)),
                )
                for part in page
            ),
        ),
    )


def complete_upload(call: Call) -> Response:
    """Makes a file of the parts that the body lists."""
    root = call.document("CompleteMultipartUpload", ignored_headers=_OBJECT_HEADERS)
    wanted = parse_parts(root)
    address, areas, upload = call.address, call.services.catalog.table_areas, call.query["uploadId"]
    area, path = area_of(call), file_of(address)
    with suppress(NotFound):  # an upload that was completed; its file tells whether it was
        check_part_sizes(areas.parts(area, path, upload), wanted)
    etag = areas.complete_upload(area, path, upload, [(part.number, part.md5) for part in wanted])
    return Response(
        200,
        document(
            "CompleteMultipartUploadResult",
            leaf("Location", object_location(call)),
            leaf("Bucket", address.bucket),
            leaf("Key", address.key),
            leaf("ETag", f'"{etag}"'),
        ),
    )


def abort_upload(call: Call) -> Response:
    """Aborts an upload and discards its parts."""
    call.services.catalog.table_areas.abort_upload(
        area_of(call), file_of(call.address), call.query["uploadId"]
    )
    return Response(204)


_WRITING = (Need(Action.WRITE_OBJECT, on_table),)

OPERATIONS = (
    Operation(
        id="CreateTableFileUpload",
        method="POST",
        level=Level.OBJECT,
        on="uploads",
        permission=_WRITING,
        handler=create_upload,
    ),
    Operation(
        id="UploadTableFilePart",
        method="PUT",
        level=Level.OBJECT,
        on="uploadId",
        permission=_WRITING,
        body=BodyKind.STREAM,
        execution=Execution.STREAMED,
        handler=upload_part,
    ),
    Operation(
        id="ListTableFileParts",
        method="GET",
        level=Level.OBJECT,
        on="uploadId",
        permission=(Need(Action.READ_OBJECT, on_table),),
        handler=list_parts,
    ),
    Operation(
        id="CompleteTableFileUpload",
        method="POST",
        level=Level.OBJECT,
        on="uploadId",
        permission=_WRITING,
        body=BodyKind.WHOLE,
        handler=complete_upload,
    ),
    Operation(
        id="AbortTableFileUpload",
        method="DELETE",
        level=Level.OBJECT,
        on="uploadId",
        permission=_WRITING,
        handler=abort_upload,
    ),
)
