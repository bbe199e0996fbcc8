"""CompleteMultipartUpload: combines the parts of an upload into an object."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from anabranch.access.policies.permissions import Action
from anabranch.catalog.objects.multipart_completion import MIN_PART_BYTES, WantedPart
from anabranch.http.execution import BodyKind
from anabranch.http.response import Response
from anabranch.model.uploads.part import MAX_PARTS, Part
from anabranch.s3.call import Call
from anabranch.s3.headers.location import object_location
from anabranch.s3.headers.write_conditions import parse_condition
from anabranch.s3.operation import Level, Need, Operation
from anabranch.s3.operations.parameters import require_part_number
from anabranch.s3.operations.resources import on_object
from anabranch.s3.payloads.checksums import PREFIX
from anabranch.s3.payloads.part_checksums import NAMES, PartChecksums, element_name
from anabranch.s3.protocol.errors import S3Error
from anabranch.s3.protocol.xml_reader import Element
from anabranch.s3.protocol.xml_writer import document, leaf

__all__ = ["OPERATIONS", "check_part_sizes", "parse_parts"]

_OBJECT_HEADERS = (PREFIX, "x-amz-sdk-checksum-algorithm")
"""Prefixes of headers that describe the object and not the body of this request."""

_SIZE = "x-amz-mp-object-size"
_MAX_DIGITS = 18


def complete_upload(call: Call) -> Response:
    """Creates an object from the parts that the body lists."""
    if_absent, expecting = parse_condition(call)
    parts = parse_parts(call.document("CompleteMultipartUpload", ignored_headers=_OBJECT_HEADERS))
    checksums = PartChecksums(call.request.headers)
    address = call.address
    completed = call.services.catalog.completion.complete(
        address.bucket,
        address.ref,
        address.path,
        call.query["uploadId"],
        parts,
        size=_parse_size(call),
        combine_checksums=checksums.combine,
        if_absent=if_absent,
        precondition=expecting,
    )
    checksum_elements = ""
    if completed.checksum:
        checksum_elements = leaf(element_name(completed.checksum_algorithm), completed.checksum)
        checksum_elements += leaf("ChecksumType", completed.checksum_type)
    return Response(
        200,
        document(
            "CompleteMultipartUploadResult",
            leaf("Location", object_location(call)),
            leaf("Bucket", address.bucket),
            leaf("Key", address.key),
            leaf("ETag", f'"{completed.etag}"'),
            checksum_elements,
        ),
    )


def parse_parts(root: Element) -> list[WantedPart]:
    """Returns the parts in a document; the last of those with the same number. Raises S3Error:
    MalformedXML, InvalidArgument, InvalidPartOrder.
    """
    parts = [_parse_part(item) for item in root.all("Part")]
    if not 0 < len(parts) <= MAX_PARTS:
        raise S3Error("MalformedXML")
    if any(part.number > after.number for part, after in pairwise(parts)):
        raise S3Error("InvalidPartOrder")
    return list({part.number: part for part in parts}.values())


def check_part_sizes(stored: Sequence[Part], wanted: Sequence[WantedPart]) -> None:
    """Raises S3Error: EntityTooSmall for a part that is too small and not the last."""
    sizes = {part.number: part.size for part in stored}
    if any(sizes.get(part.number, MIN_PART_BYTES) < MIN_PART_BYTES for part in wanted[:-1]):
        raise S3Error("EntityTooSmall")


def _parse_part(item: Element) -> WantedPart:
    number, etag = (item.child_text("PartNumber") or "").strip(), item.child_text("ETag")
    if etag is None or not (number.isascii() and number.isdigit() and len(number) < _MAX_DIGITS):
        raise S3Error("MalformedXML")
    return WantedPart(
        require_part_number(int(number), number),
        etag.strip().strip('"').lower(),
        {
            name: text.strip()
            for name in NAMES
            if (text := item.child_text(element_name(name))) is not None
        },
    )


def _parse_size(call: Call) -> int | None:
    text = call.header(_SIZE)
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < _MAX_DIGITS):
        raise S3Error(
            "InvalidArgument",
            f"{_SIZE} must be a number of bytes",
            ArgumentName=_SIZE,
            ArgumentValue=text,
        )
    return int(text)


OPERATIONS = (
    Operation(
        id="CompleteMultipartUpload",
        method="POST",
        level=Level.OBJECT,
        on="uploadId",
        permission=(Need(Action.WRITE_OBJECT, on_object),),
        body=BodyKind.WHOLE,
        handler=complete_upload,
    ),
)
