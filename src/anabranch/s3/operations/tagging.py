"""Object tagging: get, put, delete. Tags are metadata, so commits and merges preserve them."""

from __future__ import annotations

from anabranch.access.policies.permissions import Action
from anabranch.http.execution import BodyKind
from anabranch.http.response import Response
from anabranch.s3.call import Call
from anabranch.s3.headers.tag_sets import (
    TAGGING,
    parse_stored_tags,
    parse_tag_document,
    to_tag_text,
)
from anabranch.s3.operation import Level, Need, Operation
from anabranch.s3.operations.resources import on_object
from anabranch.s3.protocol.xml_writer import document, element, leaf

__all__ = ["OPERATIONS"]


def get_tagging(call: Call) -> Response:
    """Returns an object's tags in the order of their keys, as in S3."""
    address = call.address
    stat = call.services.catalog.objects.stat(address.bucket, address.ref, address.path)
    tags = (
        element("Tag", leaf("Key", name), leaf("Value", value))
        for name, value in sorted(parse_stored_tags(stat.entry.metadata))
    )
    return Response(200, document("Tagging", element("TagSet", *tags)))


def put_tagging(call: Call) -> Response:
    """Replaces an object's tags."""
    _store_tags(call, to_tag_text(parse_tag_document(call.document("Tagging"))))
    return Response(200)


def delete_tagging(call: Call) -> Response:
    """Removes an object's tags."""
    _store_tags(call, "")
    return Response(204)


def _store_tags(call: Call, text: str) -> None:
    def with_tags(metadata: dict[str, str]) -> dict[str, str]:
        others = {name: value for name, value in metadata.items() if name != TAGGING}
        return others | {TAGGING: text} if text else others

    address = call.address
    call.services.catalog.objects.change_user_metadata(
        address.bucket, address.ref, address.path, with_tags
    )


OPERATIONS = (
    Operation(
        id="GetObjectTagging",
        method="GET",
        level=Level.OBJECT,
        on="tagging",
        permission=(Need(Action.READ_OBJECT, on_object),),
        handler=get_tagging,
    ),
    Operation(
        id="PutObjectTagging",
        method="PUT",
        level=Level.OBJECT,
        on="tagging",
        permission=(Need(Action.WRITE_OBJECT, on_object),),
        body=BodyKind.WHOLE,
        handler=put_tagging,
    ),
    Operation(
        id="DeleteObjectTagging",
        method="DELETE",
        level=Level.OBJECT,
        on="tagging",
        permission=(Need(Action.WRITE_OBJECT, on_object),),
        handler=delete_tagging,
    ),
)
