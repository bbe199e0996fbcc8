"""Uploads in parts, completed: parts become an object, on condition if wanted."""

from __future__ import annotations

from itertools import pairwise

from anabranch.access.permissions import Action
from anabranch.catalog.completion import WantedPart
from anabranch.model.part import MAX_PARTS
from anabranch.s3.answer import Answer
from anabranch.s3.call import Call
from anabranch.s3.errors import S3Error
from anabranch.s3.operation import BodyKind, Level, Need, Operation
from anabranch.s3.operations.location import location_of
from anabranch.s3.operations.part_numbers import checked_number
from anabranch.s3.operations.resources import on_object
from anabranch.s3.operations.write_conditions import condition_of
from anabranch.s3.payloads.checksums import PREFIX
from anabranch.s3.payloads.part_checksums import NAMES, PartChecksums, element_name
from anabranch.s3.xml_reader import Element
from anabranch.s3.xml_writer import document, leaf

__all__ = ["OPERATIONS"]

_OF_THE_OBJECT = (PREFIX, "x-amz-sdk-checksum-algorithm")
"""How headers begin that say nothing of the body of this request."""

_SIZE = "x-amz-mp-object-size"
_MOST_DIGITS = 18


def complete_upload(call: Call) -> Answer:
    """Makes an object of the parts that the body lists."""
    if_absent, expecting = condition_of(call)
    parts = _parts(call.document("CompleteMultipartUpload", unsaid=_OF_THE_OBJECT))
    checksums = PartChecksums(call.request.headers)
    address = call.address
    done = call.services.catalog.completion.complete(
        address.bucket,
        address.ref,
        address.path,
        call.query["uploadId"],
        parts,
        size=_size(call),
        combined=checksums.combined,
        if_absent=if_absent,
        expecting=expecting,
    )
    told = ""
    if done.checksum:
        told = leaf(element_name(done.checksum_algorithm), done.checksum)
        told += leaf("ChecksumType", done.checksum_type)
    return Answer(
        200,
        document(
            "CompleteMultipartUploadResult",
            leaf("Location", location_of(call)),
            leaf("Bucket", address.bucket),
            leaf("Key", address.key),
            leaf("ETag", f'"{done.etag}"'),
            told,
        ),
    )


def _parts(root: Element) -> list[WantedPart]:
    """Returns the parts that a document lists; of a number that it lists twice the last. Raises
    S3Error: MalformedXML, InvalidArgument, InvalidPartOrder.
    """
    parts = [_part(item) for item in root.all("Part")]
    if not 0 < len(parts) <= MAX_PARTS:
        raise S3Error("MalformedXML")
    if any(part.number > after.number for part, after in pairwise(parts)):
        raise S3Error("InvalidPartOrder")
    return list({part.number: part for part in parts}.values())


def _part(item: Element) -> WantedPart:
    number, etag = (item.text_of("PartNumber") or "").strip(), item.text_of("ETag")
    if etag is None or not (number.isascii() and number.isdigit() and len(number) < _MOST_DIGITS):
        raise S3Error("MalformedXML")
    return WantedPart(
        checked_number(int(number), number),
        etag.strip().strip('"').lower(),
        {
            name: text.strip()
            for name in NAMES
            if (text := item.text_of(element_name(name))) is not None
        },
    )


def _size(call: Call) -> int | None:
    text = call.header(_SIZE)
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < _MOST_DIGITS):
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
