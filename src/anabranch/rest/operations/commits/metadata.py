"""Where a commit's tables and objects are stored, for programs that read them themselves."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, field

from anabranch.access.policies.permissions import Action
from anabranch.http.response import Response
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation, OtherResponse
from anabranch.rest.protocol.parameters import AtBranch, InRepository
from anabranch.rest.protocol.presigning import presigned_location, presigned_read
from anabranch.rest.protocol.resources import on_all_objects, on_repository
from anabranch.rest.protocol.responses import BYTES

__all__ = ["OPERATIONS", "TABLE_READS"]

TABLE_READS = (
    Need(Action.LIST_OBJECTS, on_repository),
    Need(Action.READ_REPOSITORY, on_repository),
    Need(Action.READ_OBJECT, on_all_objects),
)
"""Tables name the paths and addresses of all objects, so all of them must be readable."""


class StorageURI(msgspec.Struct, frozen=True):
    """An address in the store."""

    location: str


class GetMetaRange(InRepository, frozen=True, kw_only=True):
    """Parameters of getMetaRange."""

    id: str = field(name="meta_range")


class GetRange(InRepository, frozen=True, kw_only=True):
    """Parameters of getRange."""

    id: str = field(name="range")


class GetMetadataObject(InRepository, frozen=True, kw_only=True):
    """Parameters of getMetadataObject."""

    type: Literal["range", "meta_range"]
    object_id: str
    presign: bool = False


class CreateSymlinks(AtBranch, frozen=True, kw_only=True):
    """Parameters of createSymlinkFile."""

    location: Annotated[str, Meta(description="prefix of the objects' paths")] = ""


def get_table_location(call: Call[GetMetaRange, None] | Call[GetRange, None]) -> StorageURI:
    """Returns the address of a table's file."""
    return StorageURI(call.services.catalog.tables.location(call.params.repository, call.params.id))


def get_metadata_object(call: Call[GetMetadataObject, None]) -> Response:
    """Returns a table's file."""
    params = call.params
    if params.presign:
        location = call.services.catalog.tables.location(params.repository, params.object_id)
        return presigned_location(presigned_read(call, location).url)
    size, pieces = call.services.catalog.tables.read(params.repository, params.object_id)
    return Response(200, content_type=BYTES, pieces=pieces, length=size)


def create_symlinks(call: Call[CreateSymlinks, None]) -> StorageURI:
    """Writes symlink manifests, by which Hive reads a branch's objects in the store."""
    params = call.params
    return StorageURI(
        call.services.catalog.symlinks.write(params.repository, params.branch, params.location)
    )


OPERATIONS = (
    Operation(
        id="createSymlinkFile",
        tag="internal",
        method="POST",
        path="/repositories/{repository}/refs/{branch}/symlink",
        summary="creates symlink files corresponding to the given directory",
        permission=(Need(Action.WRITE_OBJECT, on_repository),),
        params=CreateSymlinks,
        status=201,
        response=StorageURI,
        handler=create_symlinks,
    ),
    Operation(
        id="getMetaRange",
        tag="metadata",
        method="GET",
        path="/repositories/{repository}/metadata/meta_range/{meta_range}",
        summary="return URI to a meta-range file",
        permission=TABLE_READS,
        params=GetMetaRange,
        response=StorageURI,
        handler=get_table_location,
    ),
    Operation(
        id="getRange",
        tag="metadata",
        method="GET",
        path="/repositories/{repository}/metadata/range/{range}",
        summary="return URI to a range file",
        permission=TABLE_READS,
        params=GetRange,
        response=StorageURI,
        handler=get_table_location,
    ),
    Operation(
        id="getMetadataObject",
        tag="internal",
        method="GET",
        path="/repositories/{repository}/metadata/object/{type}/{object_id}",
        summary="return a lakeFS metadata object by ID",
        permission=TABLE_READS,
        params=GetMetadataObject,
        response=bytes,
        media_type=BYTES,
        others=(OtherResponse(status=302, description="where it is, presigned"),),
        handler=get_metadata_object,
    ),
)
