"""Staging: get an address to store an object's bytes at, and link the stored bytes."""

from __future__ import annotations

from msgspec import UNSET, UnsetType, field

from anabranch.access.policies.permissions import Action
from anabranch.errors import Invalid
from anabranch.http.execution import Execution
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.conditional_writes import ConditionalWrite
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import AtBranch, ObjectPath, Seconds, Size
from anabranch.rest.protocol.presigning import presigned_store
from anabranch.rest.protocol.resources import on_linked_source, on_object
from anabranch.rest.schemas.object_stats import ObjectStats, object_stats

__all__ = ["OPERATIONS"]


class StagingLocation(Body, frozen=True):
    """The address to store an object's bytes at; `presigned_url` may be null, never missing."""

    physical_address: str | None = None
    presigned_url: str | None = None
    presigned_url_expiry: int | UnsetType = UNSET


class StagingMetadata(Body, frozen=True, kw_only=True):
    """Properties of the bytes that were stored at an address."""

    staging: StagingLocation
    checksum: str
    size_bytes: Size
    user_metadata: dict[str, str] = field(default_factory=dict)
    content_type: str = ""
    mtime: Seconds | UnsetType = UNSET
    force: bool = False


class GetPhysicalAddress(AtBranch, frozen=True, kw_only=True):
    """Parameters of getPhysicalAddress."""

    path: ObjectPath
    presign: bool = False


def get_physical_address(call: Call[GetPhysicalAddress, None]) -> StagingLocation:
    """Returns an address for an object's bytes."""
    params = call.params
    address = call.services.catalog.staging.new_address(
        params.repository, params.branch, params.path
    )
    if not params.presign:
        return StagingLocation(address)
    url = presigned_store(call, address)
    return StagingLocation(address, url.url, url.expires)


def link_physical_address(call: Call[ConditionalWrite, StagingMetadata]) -> ObjectStats:
    """Stages an entry for the bytes that were stored at an address."""
    body = call.body
    if not body.staging.physical_address:
        raise Invalid("physical_address is required", kind="physical_address_required")
    stat = call.services.catalog.staging.link(
        call.params.repository,
        call.params.branch,
        call.params.path,
        address=body.staging.physical_address,
        checksum=body.checksum,
        size=body.size_bytes,
        mtime=None if body.mtime is UNSET else body.mtime,
        metadata=body.user_metadata,
        content_type=body.content_type,
        if_absent=call.params.if_absent,
        force=body.force,
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
        execution=Execution.BATCHED,
        handler=get_physical_address,
    ),
    Operation(
        id="linkPhysicalAddress",
        tag="staging",
        method="PUT",
        path=_BACKING,
        summary="associate staging on this physical address with a path",
        permission=(
            Need(Action.WRITE_OBJECT, on_object),
            Need(Action.IMPORT_FROM_STORAGE, on_linked_source),
        ),
        params=ConditionalWrite,
        body=StagingMetadata,
        response=ObjectStats,
        execution=Execution.BATCHED,
        handler=link_physical_address,
    ),
)
