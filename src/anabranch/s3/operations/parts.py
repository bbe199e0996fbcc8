"""UploadPart and ListParts."""

from __future__ import annotations

from anabranch.access.policies.permissions import Action
from anabranch.catalog.objects.uploads import StoredPart
from anabranch.http.execution import BodyKind, Execution
from anabranch.http.response import Response
from anabranch.model.uploads.part import MAX_PARTS, Part
from anabranch.s3.call import Call
from anabranch.s3.headers.object_headers import precise_time
from anabranch.s3.operation import Level, Need, Operation
from anabranch.s3.operations.buckets import OWNER
from anabranch.s3.operations.key_encoding import KeyWriter
from anabranch.s3.operations.parameters import parse_max_keys, parse_number, parse_part_number
from anabranch.s3.operations.resources import on_bucket, on_object
from anabranch.s3.operations.uploads import INITIATOR
from anabranch.s3.payloads.checksums import PREFIX
from anabranch.s3.payloads.part_checksums import ChecksumKind, element_name
from anabranch.s3.payloads.payload import Payload
from anabranch.s3.protocol.xml_writer import document, element, leaf

__all__ = ["OPERATIONS", "part_response"]


def upload_part(call: Call) -> Response:
    """Stores a part of an upload."""
    number = parse_part_number(call)
    payload = call.delimited_payload(defer_md5=True)
    expected_md5, address = payload.declaration.md5, call.address
    part = call.services.catalog.uploads.put_part(
        address.bucket,
        address.ref,
        address.path,
        call.query["uploadId"],
        number,
        payload,
        md5=None if expected_md5 is None else expected_md5.hex(),
        checksum=lambda: payload.checksum,
    )
    return part_response(part, payload)


def part_response(part: Part, payload: Payload) -> Response:
    """Returns the response to a part that was stored, with the checksum that it was sent with."""
    headers = [("ETag", f'"{part.checksum}"')]
    if payload.checksum is not None:
        headers.append((PREFIX + payload.checksum[0], payload.checksum[1]))
    return Response(200, headers=headers)


def list_parts(call: Call) -> Response:
    """Returns a page of an upload's parts in the order of their numbers."""
    writer, address = KeyWriter(call), call.address
    limit = parse_max_keys(call, "max-parts")
    marker = parse_number(call, "part-number-marker", 0)
    upload, parts = call.services.catalog.uploads.parts(
        address.bucket, address.ref, address.path, call.query["uploadId"]
    )
    remaining = [held for held in parts if held.part.number > marker]
    page = remaining[:limit]
    has_more = limit > 0 and len(remaining) > limit
    last = page[-1].part.number if page else min(marker, MAX_PARTS)
    return Response(
        200,
        document(
            "ListPartsResult",
            leaf("Bucket", address.bucket),
            writer.key_element("Key", address.key),
            leaf("UploadId", upload.id),
            INITIATOR,
            OWNER,
            leaf("StorageClass", "STANDARD"),
            leaf("PartNumberMarker", str(marker)),
            leaf("NextPartNumberMarker", str(last)),
            leaf("MaxParts", str(limit)),
            leaf("EncodingType", "url") if writer.encoded else "",
            leaf("IsTruncated", "true" if has_more else "false"),
            *ChecksumKind(upload.checksum_algorithm, upload.checksum_type).elements(),
            *(_part_element(held) for held in page),
        ),
    )


def _part_element(held: StoredPart) -> str:
    part, checksum = held
    return element(
        "Part",
        leaf("PartNumber", str(part.number)),
        leaf("LastModified", precise_time(part.mtime)),
        leaf("ETag", f'"{part.checksum}"'),
        leaf("Size", str(part.size)),
        leaf(element_name(checksum[0]), checksum[1]) if checksum is not None else "",
    )


OPERATIONS = (
    Operation(
        id="UploadPart",
        method="PUT",
        level=Level.OBJECT,
        on="uploadId",
        permission=(Need(Action.WRITE_OBJECT, on_object),),
        body=BodyKind.STREAM,
        execution=Execution.STREAMED,
        handler=upload_part,
    ),
    Operation(
        id="ListParts",
        method="GET",
        level=Level.OBJECT,
        on="uploadId",
        permission=(Need(Action.LIST_OBJECTS, on_bucket),),
        handler=list_parts,
    ),
)
