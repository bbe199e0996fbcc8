"""Reads of many objects by one request."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from anabranch.access.policies.permissions import Action
from anabranch.http.response import Response
from anabranch.model.objects.batch import MAX_BATCH_BYTES, MAX_BATCH_OBJECTS
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import AtRef
from anabranch.rest.protocol.resources import on_objects
from anabranch.rest.protocol.responses import BYTES

__all__ = ["OPERATIONS"]


class ObjectPaths(Body, frozen=True, kw_only=True):
    """The objects to read."""

    paths: Annotated[
        list[str],
        Meta(
            min_length=1,
            max_length=MAX_BATCH_OBJECTS,
            description=f"paths of objects that have at most {MAX_BATCH_BYTES:,} bytes together",
        ),
    ]


def read_objects(call: Call[AtRef, ObjectPaths]) -> Response:
    """Returns the objects as frames."""
    params = call.params
    batch = call.services.catalog.batch_reads.open(params.repository, params.ref, call.body.paths)
    return Response(200, content_type=BYTES, pieces=batch.chunks(), length=batch.byte_count)


OPERATIONS = (
    Operation(
        id="readObjects",
        tag="objects",
        method="POST",
        path="/repositories/{repository}/refs/{ref}/objects/contents",
        summary="read several objects at one moment of the reference: for each path, in order, a "
        "byte (0 content, 1 no such object, 2 its bytes are lost), the length in 8 bytes, the "
        "highest first, and as many bytes",
        permission=(Need(Action.READ_OBJECT, on_objects),),
        params=AtRef,
        body=ObjectPaths,
        response=bytes,
        media_type=BYTES,
        handler=read_objects,
    ),
)
