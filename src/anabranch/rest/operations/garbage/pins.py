"""Pins: what keeps the objects of commits from garbage collection while a job reads them. lakeFS
does not have these operations.

A user who may read commits may pin them: for an hour at most, unless the pin is renewed.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from anabranch.access.policies.permissions import Action
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import InRepository
from anabranch.rest.protocol.resources import on_repository
from anabranch.versioning.garbage.pins import PIN_SECONDS

__all__ = ["OPERATIONS"]


class AtPin(InRepository, frozen=True, kw_only=True):
    """Parameters of a pin: a name that the user chooses."""

    pin: str


class RenewPin(AtPin, frozen=True, kw_only=True):
    """Parameters of renewPin."""

    seconds: Annotated[int, Meta(description="seconds from now")] = PIN_SECONDS


class PinCreation(Body, frozen=True):
    """Commits, by their full ids, and the seconds from now for which they are pinned."""

    commits: list[str]
    seconds: int = PIN_SECONDS


def put_pin(call: Call[AtPin, PinCreation]) -> None:
    """Pins commits."""
    params, body = call.params, call.body
    call.services.catalog.pins.put(
        params.repository, _user(call), params.pin, body.commits, body.seconds
    )


def renew_pin(call: Call[RenewPin, None]) -> None:
    """Renews a pin."""
    params = call.params
    call.services.catalog.pins.renew(params.repository, _user(call), params.pin, params.seconds)


def delete_pin(call: Call[AtPin, None]) -> None:
    """Releases a pin."""
    params = call.params
    call.services.catalog.pins.release(params.repository, _user(call), params.pin)


def _user(call: Call[Any, Any]) -> str:
    return "" if call.actor is None else call.actor.username


_PIN = "/repositories/{repository}/gc/pins/{pin}"
_MAY = (Need(Action.READ_COMMIT, on_repository),)

OPERATIONS = (
    Operation(
        id="putPin",
        tag="internal",
        method="PUT",
        path=_PIN,
        summary="keep the objects of commits from garbage collection for a time",
        permission=_MAY,
        params=AtPin,
        body=PinCreation,
        status=204,
        handler=put_pin,
    ),
    Operation(
        id="renewPin",
        tag="internal",
        method="POST",
        path=_PIN + "/renew",
        summary="renew a pin",
        permission=_MAY,
        params=RenewPin,
        status=204,
        handler=renew_pin,
    ),
    Operation(
        id="deletePin",
        tag="internal",
        method="DELETE",
        path=_PIN,
        summary="release a pin",
        permission=_MAY,
        params=AtPin,
        status=204,
        handler=delete_pin,
    ),
)
