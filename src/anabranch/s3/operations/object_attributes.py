"""Attributes of an object, as many as the client asks for, in one document.

An object has the checksum and the parts that it was uploaded with; of parts whose checksums are
not kept only the number is shown, as in S3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from anabranch.access.permissions import Action
from anabranch.model.entry import Entry
from anabranch.model.object_checksum import kept_checksum
from anabranch.model.object_parts import kept_parts
from anabranch.model.page import MAX_AMOUNT
from anabranch.s3.answer import Answer
from anabranch.s3.call import Call
from anabranch.s3.errors import S3Error
from anabranch.s3.operation import Level, Need, Operation
from anabranch.s3.operations.object_checksums import checksum_elements
from anabranch.s3.operations.object_headers import etag_of, http_date
from anabranch.s3.operations.page_sizes import number_in
from anabranch.s3.operations.resources import on_object
from anabranch.s3.payloads.part_checksums import element_name
from anabranch.s3.xml_writer import document, element, leaf

__all__ = ["OPERATIONS"]

_WANTED = "x-amz-object-attributes"
_MAX_PARTS, _MARKER = "x-amz-max-parts", "x-amz-part-number-marker"


def get_object_attributes(call: Call) -> Answer:
    """Returns the attributes that the request names."""
    wanted = _wanted(call)
    address = call.address
    entry = call.services.catalog.objects.stat(address.bucket, address.ref, address.path).entry
    body = document(
        "GetObjectAttributesResponse",
        *(_ATTRIBUTES[name](call, entry) for name in _ATTRIBUTES if name in wanted),
    )
    return Answer(200, body, headers=[("Last-Modified", http_date(entry.mtime))])


def _checksum(_: Call, entry: Entry) -> str:
    elements = checksum_elements(kept_checksum(entry))
    return element("Checksum", elements) if elements else ""


def _parts(call: Call, entry: Entry) -> str:
    """Returns a page of an object's parts, nothing for an object that has none."""
    most = min(number_in(_MAX_PARTS, call.header(_MAX_PARTS), MAX_AMOUNT), MAX_AMOUNT)
    marker = number_in(_MARKER, call.header(_MARKER), 0)
    parts = kept_parts(entry)
    if parts is None:
        return ""
    count = len(parts.sizes)
    told = leaf("PartsCount", str(count))
    if not parts.algorithm:
        return element("ObjectParts", told)
    page = range(marker + 1, min(marker + most, count) + 1)
    last = page[-1] if page else min(marker, count)
    return element(
        "ObjectParts",
        told,
        leaf("PartNumberMarker", str(marker)),
        leaf("NextPartNumberMarker", str(last)),
        leaf("MaxParts", str(most)),
        leaf("IsTruncated", "true" if page and last < count else "false"),
        *(
            element(
                "Part",
                leaf("PartNumber", str(number)),
                leaf("Size", str(parts.sizes[number - 1])),
                leaf(element_name(parts.algorithm), parts.checksum(number)),
            )
            for number in page
        ),
    )


_ATTRIBUTES: Mapping[str, Callable[[Call, Entry], str]] = MappingProxyType(
    {
        "ETag": lambda _, entry: leaf("ETag", etag_of(entry).strip('"')),
        "Checksum": _checksum,
        "ObjectParts": _parts,
        "StorageClass": lambda _call, _entry: leaf("StorageClass", "STANDARD"),
        "ObjectSize": lambda _, entry: leaf("ObjectSize", str(entry.size)),
    }
)
"""How each attribute is written, in the order of S3's documents."""


def _wanted(call: Call) -> set[str]:
    """Returns the names of attributes. Raises S3Error: InvalidRequest, InvalidArgument."""
    wanted = {name.strip() for name in call.header(_WANTED).split(",")} - {""}
    if not wanted:
        raise S3Error("InvalidRequest", f"The {_WANTED} header is missing or empty")
    for name in wanted.difference(_ATTRIBUTES):
        raise S3Error(
            "InvalidArgument",
            "Invalid attribute name specified.",
            ArgumentName=_WANTED,
            ArgumentValue=name,
        )
    return wanted


OPERATIONS = (
    Operation(
        id="GetObjectAttributes",
        method="GET",
        level=Level.OBJECT,
        on="attributes",
        permission=(Need(Action.READ_OBJECT, on_object),),
        handler=get_object_attributes,
    ),
)
