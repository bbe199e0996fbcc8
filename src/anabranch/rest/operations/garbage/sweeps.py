"""Sweeps of garbage collectors that work through a server, and their number, which imports need.
lakeFS does not have these operations.
"""

from __future__ import annotations

import msgspec

from anabranch.access.policies.permissions import Action
from anabranch.catalog.garbage.sweeps import Sweep
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import InRepository
from anabranch.rest.protocol.resources import on_repository

__all__ = ["OPERATIONS"]


class AtSweep(InRepository, frozen=True, kw_only=True):
    """Parameters of a sweep: the id of the run that sweeps."""

    sweep: str


class PutSweep(AtSweep, frozen=True, kw_only=True):
    """Parameters of putSweep: `renew` only renews the lease of a sweep that is under way, and
    `expired` also records the commits that have expired, before objects of them are removed.
    """

    renew: bool = False
    expired: bool = False


class Tombstones(Body, frozen=True):
    """Full addresses of objects to delete, at most 1,000."""

    addresses: list[str]


class RemovedObjects(Body, frozen=True):
    """Full addresses of objects that the sweep has found and removed, at most 1,000."""

    addresses: list[str]


class Claims(msgspec.Struct, frozen=True):
    """For each address whether the sweep counts its object. Another one counts the others."""

    counted: list[bool]


class Sweeps(msgspec.Struct, frozen=True):
    """The number of sweeps of all repositories that have begun, without those that are under way. A
    commit with this number fails if a sweep ran meanwhile that has removed one of its objects.
    `repository_begun` is the number for the repository, `repository_running` of those that
    are running, or were killed at most four and a half hours ago. `tables_swept` tells whether it
    is on record that a sweep may have removed files of tables.
    """

    begun: int
    repository_begun: int
    repository_running: int
    tables_swept: bool


def get_sweeps(call: Call[InRepository, None]) -> Sweeps:
    """Returns the number of sweeps that have begun."""
    repository, sweeps = call.params.repository, call.services.catalog.sweeps
    return Sweeps(
        *(sweeps.ended_count(repository), *sweeps.of_repository(repository)), sweeps.tables_swept()
    )


def put_sweep(call: Call[PutSweep, None]) -> None:
    """Begins a sweep, or renews its lease."""
    sweep = _sweep(call)
    if call.params.renew or call.params.expired:
        sweep.renew()
    else:
        sweep.begin()
    if call.params.expired:
        sweep.record_expired()


def delete_sweep(call: Call[AtSweep, None]) -> None:
    """Ends a sweep."""
    _sweep(call).end()


def add_tombstones(call: Call[AtSweep, Tombstones]) -> None:
    """Prevents new references to objects."""
    params = call.params
    call.services.catalog.sweeps.add_tombstones(
        params.repository, params.sweep, call.body.addresses
    )


def claim_removed_objects(call: Call[AtSweep, RemovedObjects]) -> Claims:
    """Returns which of the objects that several sweeps have removed this one counts."""
    params = call.params
    sweeps = call.services.catalog.sweeps
    return Claims(sweeps.claim(params.repository, params.sweep, call.body.addresses))


def delete_tombstones(call: Call[AtSweep, None]) -> None:
    """Removes all tombstones of a sweep."""
    _sweep(call).remove_tombstones()


def _sweep(call: Call[AtSweep, None] | Call[PutSweep, None]) -> Sweep:
    return call.services.catalog.sweeps.sweep(call.params.repository, call.params.sweep)


_SWEEPS = "/repositories/{repository}/gc/sweeps"
_SWEEP = _SWEEPS + "/{sweep}"
_PERMISSION = (Need(Action.PREPARE_GARBAGE_COLLECTION_COMMITS, on_repository),)

OPERATIONS = (
    Operation(
        id="getSweeps",
        tag="internal",
        method="GET",
        path=_SWEEPS,
        summary="get the number of sweeps that have begun",
        permission=(Need(Action.READ_COMMIT, on_repository),),
        params=InRepository,
        response=Sweeps,
        handler=get_sweeps,
    ),
    Operation(
        id="putSweep",
        tag="internal",
        method="PUT",
        path=_SWEEP,
        summary="begin a sweep, or renew its lease",
        permission=_PERMISSION,
        params=PutSweep,
        status=204,
        handler=put_sweep,
    ),
    Operation(
        id="deleteSweep",
        tag="internal",
        method="DELETE",
        path=_SWEEP,
        summary="end a sweep",
        permission=_PERMISSION,
        params=AtSweep,
        status=204,
        handler=delete_sweep,
    ),
    Operation(
        id="addTombstones",
        tag="internal",
        method="POST",
        path=_SWEEP + "/tombstones",
        summary="prevent new references to objects",
        permission=_PERMISSION,
        params=AtSweep,
        body=Tombstones,
        status=204,
        handler=add_tombstones,
    ),
    Operation(
        id="claimRemovedObjects",
        tag="internal",
        method="POST",
        path=_SWEEP + "/removed",
        summary="get which of the removed objects a sweep counts",
        permission=_PERMISSION,
        params=AtSweep,
        body=RemovedObjects,
        response=Claims,
        handler=claim_removed_objects,
    ),
    Operation(
        id="deleteTombstones",
        tag="internal",
        method="DELETE",
        path=_SWEEP + "/tombstones",
        summary="remove the tombstones of a sweep",
        permission=_PERMISSION,
        params=AtSweep,
        status=204,
        handler=delete_tombstones,
    ),
)
