"""Staging: an address to store an object's bytes at, and linking what was stored there."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from anabranch.access.permissions import Action
from anabranch.errors import Invalid
from anabranch.rest.call import Call
from anabranch.rest.conditions import ConditionalWrite
from anabranch.rest.object_stats import ObjectStats, object_stats
from anabranch.rest.operation import Need, Operation
from anabranch.rest.parameters import AtBranch, ObjectPath, Seconds, Size
from anabranch.rest.presigning import presigned_store
from anabranch.rest.resources import on_object

__all__ = ["OPERATIONS"]


class StagingLocation(msgspec.Struct, frozen=True):
    """Where to store an object's bytes; `presigned_url` is null without one, never left out."""

    physical_address: str | None = None
    presigned_url: str | None = None
    presigned_url_expiry: int | UnsetType = UNSET


class StagingMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """What was stored at an address."""

    staging: StagingLocation
    checksum: str
    size_bytes: Size
    user_metadata: dict[str, str] = {}
    content_type: str = ""
    mtime: Seconds | UnsetType = UNSET
    force: bool = False


class GetPhysicalAddress(AtBranch, frozen=True, kw_only=True):
    """Parameters of getPhysicalAddress."""

    path: ObjectPath
    presign: bool = False


def get_physical_address(call: Call[GetPhysicalAddress, None]) -> StagingLocation:
    """Returns an address for an object's bytes."""
    asked = call.params
    address = call.services.catalog.staging.new_address(asked.repository, asked.branch, asked.path)
    if not asked.presign:
        return StagingLocation(address)
    url = presigned_store(call, address)
    return StagingLocation(address, url.url, url.expires)


def link_physical_address(call: Call[ConditionalWrite, StagingMetadata]) -> ObjectStats:
    """Makes an entry for what was stored at an address."""
    asked = call.body
    if not asked.staging.physical_address:
        raise Invalid("physical_address is required", kind="physical_address_required")
    stat = call.services.catalog.staging.link(
        call.params.repository,
        call.params.branch,
        call.params.path,
        address=asked.staging.physical_address,
        checksum=asked.checksum,
        size=asked.size_bytes,
        mtime=None if asked.mtime is UNSET else asked.mtime,
        metadata=asked.user_metadata,
        content_type=asked.content_type,
        if_absent=call.params.if_absent,
        force=asked.force,
    )
    return object_stats(stat)


_BACKING = "/repositories/{repository}/branches/{branch}/staging/backing"

OPERATIONS = (
    Operation(
        id="getPhysicalAddress",
        tag="staging",
        method="GET",
        path=_BACKING,
        summary="generate an address to which the client can upload an object",
        permission=(Need(Action.WRITE_OBJECT, on_object),),
        params=GetPhysicalAddress,
        response=StagingLocation,
        brief=True,
        handler=get_physical_address,
    ),
    Operation(
        id="linkPhysicalAddress",
        tag="staging",
        method="PUT",
        path=_BACKING,
        summary="associate staging on this physical address with a path",
        permission=(Need(Action.WRITE_OBJECT, on_object),),
        params=ConditionalWrite,
        body=StagingMetadata,
        response=ObjectStats,
        brief=True,
        handler=link_physical_address,
    ),
)
