"""Parts of uploads: stored and listed."""

from __future__ import annotations

from anabranch.access.permissions import Action
from anabranch.catalog.uploads import HeldPart
from anabranch.model.part import MAX_PARTS
from anabranch.s3.answer import Answer
from anabranch.s3.call import Call
from anabranch.s3.operation import BodyKind, Level, Need, Operation
from anabranch.s3.operations.buckets import OWNER
from anabranch.s3.operations.key_writer import KeyWriter
from anabranch.s3.operations.object_headers import precise_time
from anabranch.s3.operations.page_sizes import most_of, number_of
from anabranch.s3.operations.part_numbers import part_number
from anabranch.s3.operations.resources import on_bucket, on_object
from anabranch.s3.operations.uploads import INITIATOR
from anabranch.s3.payloads.checksums import PREFIX
from anabranch.s3.payloads.part_checksums import ChecksumKind, element_name
from anabranch.s3.xml_writer import document, element, leaf

__all__ = ["OPERATIONS"]


def upload_part(call: Call) -> Answer:
    """Stores a part."""
    number = part_number(call)
    payload = call.delimited_payload(md5_elsewhere=True)
    said, address = payload.claims.md5, call.address
    part = call.services.catalog.uploads.put_part(
        address.bucket,
        address.ref,
        address.path,
        call.query["uploadId"],
        number,
        payload,
        md5=None if said is None else said.hex(),
        checksum=lambda: payload.checksum,
    )
    headers = [("ETag", f'"{part.checksum}"')]
    if payload.checksum is not None:
        headers.append((PREFIX + payload.checksum[0], payload.checksum[1]))
    return Answer(200, headers=headers)


def list_parts(call: Call) -> Answer:
    """Returns a page of an upload's parts, by number."""
    writer, address = KeyWriter(call), call.address
    most = most_of(call, "max-parts")
    marker = number_of(call, "part-number-marker", 0)
    upload, parts = call.services.catalog.uploads.parts(
        address.bucket, address.ref, address.path, call.query["uploadId"]
    )
    later = [held for held in parts if held.part.number > marker]
    page = later[:most]
    more = most > 0 and len(later) > most
    last = page[-1].part.number if page else min(marker, MAX_PARTS)
    return Answer(
        200,
        document(
            "ListPartsResult",
            leaf("Bucket", address.bucket),
            writer.named("Key", address.key),
            leaf("UploadId", upload.id),
            INITIATOR,
            OWNER,
            leaf("StorageClass", "STANDARD"),
            leaf("PartNumberMarker", str(marker)),
            leaf("NextPartNumberMarker", str(last)),
            leaf("MaxParts", str(most)),
            leaf("EncodingType", "url") if writer.encoded else "",
            leaf("IsTruncated", "true" if more else "false"),
            *ChecksumKind(upload.checksum_algorithm, upload.checksum_type).elements(),
            *(_part(held) for held in page),
        ),
    )


def _part(held: HeldPart) -> str:
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
