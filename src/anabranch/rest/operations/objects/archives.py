"""Downloads of several objects as one TAR archive."""

from __future__ import annotations

import re
from typing import Annotated, Any

from msgspec import Meta

from anabranch.access.policies.permissions import Action, object_arn
from anabranch.http.response import Response
from anabranch.model.names import is_prefix
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.object_headers import CONTENT_SECURITY
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import AtRef
from anabranch.rest.protocol.resources import on_repository

__all__ = ["OPERATIONS"]

TAR = "application/x-tar"


class GetArchive(AtRef, frozen=True, kw_only=True):
    """Parameters of getArchive."""

    path: Annotated[
        tuple[str, ...],
        Meta(
            min_length=1,
            description="an object, or all objects below a folder, whose path ends in a slash",
        ),
    ]


def get_archive(call: Call[GetArchive, None]) -> Response:
    """Returns the objects, of those below folders the ones that the actor may read."""
    params = call.params
    readable = {
        path: call.readable_paths(params.ref, path) if is_prefix(path) else None
        for path in params.path
    }
    archive = call.services.catalog.archives.make(params.repository, params.ref, readable)
    name = re.sub(r"[^\w.-]", "-", f"{params.repository}-{params.ref}", flags=re.ASCII)
    return Response(
        200,
        content_type=TAR,
        headers=[
            ("Content-Disposition", f'attachment; filename="{name}.tar"'),
            *CONTENT_SECURITY,
        ],
        pieces=archive.chunks(),
        length=archive.byte_count,
    )


def _on_named_objects(call: Call[Any, Any]) -> list[str]:
    """The objects that are named; what is below folders is filtered."""
    repository = call.params.repository
    return [object_arn(repository, path) for path in call.params.path if not is_prefix(path)]


OPERATIONS = (
    Operation(
        id="getArchive",
        tag="objects",
        method="GET",
        path="/repositories/{repository}/refs/{ref}/objects/archive",
        summary="download several objects as one TAR archive",
        permission=(
            Need(Action.LIST_OBJECTS, on_repository),
            Need(Action.READ_OBJECT, _on_named_objects),
        ),
        params=GetArchive,
        response=bytes,
        media_type=TAR,
        handler=get_archive,
    ),
)
