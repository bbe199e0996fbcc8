"""Where a commit's tables lie, for clients that read them themselves."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import field

from anabranch.access.permissions import Action
from anabranch.rest.operation import Need, Operation
from anabranch.rest.parameters import InRepository
from anabranch.rest.resources import on_repository

__all__ = ["OPERATIONS"]

_READS = (Need(Action.LIST_OBJECTS, on_repository), Need(Action.READ_REPOSITORY, on_repository))


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


OPERATIONS: tuple[Operation[Any, Any], ...] = (
    Operation(
        id="getMetaRange",
        tag="metadata",
        method="GET",
        path="/repositories/{repository}/metadata/meta_range/{meta_range}",
        summary="return URI to a meta-range file",
        permission=_READS,
        params=GetMetaRange,
        response=StorageURI,
    ),
    Operation(
        id="getRange",
        tag="metadata",
        method="GET",
        path="/repositories/{repository}/metadata/range/{range}",
        summary="return URI to a range file",
        permission=_READS,
        params=GetRange,
        response=StorageURI,
    ),
    Operation(
        id="getMetadataObject",
        tag="internal",
        method="GET",
        path="/repositories/{repository}/metadata/object/{type}/{object_id}",
        summary="return a lakeFS metadata object by ID",
        permission=_READS,
        params=GetMetadataObject,
        response=bytes,
        media_type="application/octet-stream",
    ),
)
