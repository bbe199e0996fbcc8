"""Sweeps of garbage collection by collectors that work through a server. lakeFS does not have these
operations.
"""

from __future__ import annotations

import msgspec

from anabranch.access.permissions import Action
from anabranch.rest.call import Call
from anabranch.rest.operation import Need, Operation
from anabranch.rest.parameters import InRepository
from anabranch.rest.resources import on_repository

__all__ = ["OPERATIONS"]


class AtSweep(InRepository, frozen=True, kw_only=True):
    """Parameters of a sweep: the id of the run that sweeps."""

    sweep: str


class PutSweep(AtSweep, frozen=True, kw_only=True):
    """Parameters of putSweep: `renew` only renews the lease of a sweep that is under way."""

    renew: bool = False


class Tombstones(msgspec.Struct, frozen=True):
    """Full addresses of objects that are to be removed, at most 1,000."""

    addresses: list[str]


def put_sweep(call: Call[PutSweep, None]) -> None:
    """Begins a sweep, or renews its lease."""
    asked, sweeps = call.params, call.services.catalog.sweeps
    change = sweeps.renew if asked.renew else sweeps.begin
    change(asked.repository, asked.sweep)


def delete_sweep(call: Call[AtSweep, None]) -> None:
    """Ends a sweep."""
    call.services.catalog.sweeps.end(call.params.repository, call.params.sweep)


def add_tombstones(call: Call[AtSweep, Tombstones]) -> None:
    """Keeps objects from being referred to anew."""
    asked = call.params
    call.services.catalog.sweeps.condemn(asked.repository, asked.sweep, call.body.addresses)


def delete_tombstones(call: Call[AtSweep, None]) -> None:
    """Removes all tombstones of a sweep."""
    call.services.catalog.sweeps.spare(call.params.repository, call.params.sweep)


_SWEEP = "/repositories/{repository}/gc/sweeps/{sweep}"
_MAY = (Need(Action.PREPARE_GARBAGE_COLLECTION_COMMITS, on_repository),)

OPERATIONS = (
    Operation(
        id="putSweep",
        tag="internal",
        method="PUT",
        path=_SWEEP,
        summary="begin a sweep, or renew its lease",
        permission=_MAY,
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
        permission=_MAY,
        params=AtSweep,
        status=204,
        handler=delete_sweep,
    ),
    Operation(
        id="addTombstones",
        tag="internal",
        method="POST",
        path=_SWEEP + "/tombstones",
        summary="keep objects from being referred to anew",
        permission=_MAY,
        params=AtSweep,
        body=Tombstones,
        status=204,
        handler=add_tombstones,
    ),
    Operation(
        id="deleteTombstones",
        tag="internal",
        method="DELETE",
        path=_SWEEP + "/tombstones",
        summary="remove the tombstones of a sweep",
        permission=_MAY,
        params=AtSweep,
        status=204,
        handler=delete_tombstones,
    ),
)
