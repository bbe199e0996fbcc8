"""Attributes of an object, as many as the client asks for, in one document.

Parts and checksums are attributes that no object has here: an object is known as one piece, and
checksums are verified on the way in and not kept.
"""

from __future__ import annotations

from anabranch.access.permissions import Action
from anabranch.model.entry import Entry
from anabranch.s3.answer import Answer
from anabranch.s3.call import Call
from anabranch.s3.errors import S3Error
from anabranch.s3.operation import Level, Need, Operation
from anabranch.s3.operations.object_headers import etag_of, http_date
from anabranch.s3.operations.resources import on_object
from anabranch.s3.xml_writer import document, leaf

__all__ = ["OPERATIONS"]

_WANTED = "x-amz-object-attributes"
_KNOWN = ("ETag", "Checksum", "ObjectParts", "StorageClass", "ObjectSize")


def get_object_attributes(call: Call) -> Answer:
    """Returns the attributes that the request names."""
    wanted = _wanted(call)
    address = call.address
    entry = call.services.catalog.objects.stat(address.bucket, address.ref, address.path).entry
    attributes = _attributes(entry)
    body = document(
        "GetObjectAttributesResponse",
        *(leaf(name, attributes[name]) for name in _KNOWN if name in wanted and name in attributes),
    )
    return Answer(200, body, headers=[("Last-Modified", http_date(entry.mtime))])


def _attributes(entry: Entry) -> dict[str, str]:
    return {
        "ETag": etag_of(entry).strip('"'),
        "StorageClass": "STANDARD",
        "ObjectSize": str(entry.size),
    }


def _wanted(call: Call) -> set[str]:
    """Returns the names of attributes. Raises S3Error: InvalidRequest, InvalidArgument."""
    wanted = {name.strip() for name in call.header(_WANTED).split(",")} - {""}
    if not wanted:
        raise S3Error("InvalidRequest", f"The {_WANTED} header is missing or empty")
    for name in wanted.difference(_KNOWN):
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
