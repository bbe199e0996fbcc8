"""GetObjectAttributes: the requested attributes of an object in one document.

The checksum and the parts are those of the object's upload. If the checksums of the parts are not
stored, only the number of parts is returned, as in S3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from anabranch.access.policies.permissions import Action
from anabranch.http.dates import format_http_date
from anabranch.http.etags import quote_etag
from anabranch.http.response import Response
from anabranch.model.objects.entry import Entry
from anabranch.model.page import MAX_AMOUNT
from anabranch.model.uploads.object_checksum import stored_checksum
from anabranch.model.uploads.object_parts import stored_parts
from anabranch.s3.call import Call
from anabranch.s3.headers.object_checksums import checksum_elements
from anabranch.s3.operation import Level, Need, Operation
from anabranch.s3.operations.parameters import parse_integer
from anabranch.s3.operations.resources import on_object
from anabranch.s3.payloads.part_checksums import element_name
from anabranch.s3.protocol.errors import S3Error
from anabranch.s3.protocol.xml_writer import document, element, leaf

__all__ = ["OPERATIONS"]

_ATTRIBUTES_HEADER = "x-amz-object-attributes"
_MAX_PARTS, _MARKER = "x-amz-max-parts", "x-amz-part-number-marker"


def get_object_attributes(call: Call) -> Response:
    """Returns the attributes of an object that the request names."""
    wanted = _parse_attribute_names(call)
    address = call.address
    entry = call.services.catalog.objects.stat(address.bucket, address.ref, address.path).entry
    body = document(
        "GetObjectAttributesResponse",
        *(_ATTRIBUTES[name](call, entry) for name in _ATTRIBUTES if name in wanted),
    )
    return Response(200, body, headers=[("Last-Modified", format_http_date(entry.mtime))])


def _checksum_element(_: Call, entry: Entry) -> str:
    elements = checksum_elements(stored_checksum(entry))
    return element("Checksum", elements) if elements else ""


def _parts_element(call: Call, entry: Entry) -> str:
    """Returns a page of an object's parts, an empty string for an object without parts."""
    limit = min(parse_integer(_MAX_PARTS, call.header(_MAX_PARTS), MAX_AMOUNT), MAX_AMOUNT)
    marker = parse_integer(_MARKER, call.header(_MARKER), 0)
    parts = stored_parts(entry)
    if parts is None:
        return ""
    count = len(parts.sizes)
    count_element = leaf("PartsCount", str(count))
    if not parts.algorithm:
        return element("ObjectParts", count_element)
    page = range(marker + 1, min(marker + limit, count) + 1)
    last = page[-1] if page else min(marker, count)
    return element(
        "ObjectParts",
        count_element,
        leaf("PartNumberMarker", str(marker)),
        leaf("NextPartNumberMarker", str(last)),
        leaf("MaxParts", str(limit)),
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
        "ETag": lambda _, entry: leaf("ETag", quote_etag(entry.checksum).strip('"')),
        "Checksum": _checksum_element,
        "ObjectParts": _parts_element,
        "StorageClass": lambda _call, _entry: leaf("StorageClass", "STANDARD"),
        "ObjectSize": lambda _, entry: leaf("ObjectSize", str(entry.size)),
    }
)
"""The writer of each attribute, in the order of S3's documents."""


def _parse_attribute_names(call: Call) -> set[str]:
    """Returns the requested attributes. Raises S3Error: InvalidRequest, InvalidArgument."""
    wanted = {name.strip() for name in call.header(_ATTRIBUTES_HEADER).split(",")} - {""}
    if not wanted:
        raise S3Error("InvalidRequest", f"The {_ATTRIBUTES_HEADER} header is missing or empty")
    for name in wanted.difference(_ATTRIBUTES):
        raise S3Error(
            "InvalidArgument",
            "Invalid attribute name specified.",
            ArgumentName=_ATTRIBUTES_HEADER,
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
