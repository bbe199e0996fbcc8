"""Tags of objects: read, set, removed. They are metadata, so commits and merges carry them."""

from __future__ import annotations

from anabranch.access.permissions import Action
from anabranch.s3.answer import Answer
from anabranch.s3.call import Call
from anabranch.s3.operation import BodyKind, Level, Need, Operation
from anabranch.s3.operations.resources import on_object
from anabranch.s3.operations.tag_sets import TAGGING, tag_text, tags_in, tags_of_document
from anabranch.s3.xml_writer import document, element, leaf

__all__ = ["OPERATIONS"]


def get_tagging(call: Call) -> Answer:
    """Returns an object's tags, in order of their keys, as S3 does."""
    address = call.address
    stat = call.services.catalog.objects.stat(address.bucket, address.ref, address.path)
    tags = (
        element("Tag", leaf("Key", name), leaf("Value", value))
        for name, value in sorted(tags_in(stat.entry.metadata))
    )
    return Answer(200, document("Tagging", element("TagSet", *tags)))


def put_tagging(call: Call) -> Answer:
    """Replaces an object's tags."""
    _keep(call, tag_text(tags_of_document(call.document("Tagging"))))
    return Answer(200)


def delete_tagging(call: Call) -> Answer:
    """Removes an object's tags."""
    _keep(call, "")
    return Answer(204)


def _keep(call: Call, text: str) -> None:
    def changed(metadata: dict[str, str]) -> dict[str, str]:
        kept = {name: value for name, value in metadata.items() if name != TAGGING}
        return kept | {TAGGING: text} if text else kept

    address = call.address
    call.services.catalog.objects.change_user_metadata(
        address.bucket, address.ref, address.path, changed
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
