"""Requests that arrive below the REST API's base path, because a client's endpoint ends in it.

They name a bucket `api`. Where there is none, the error says what is wrong, as lakeFS's does.
"""

from __future__ import annotations

from anabranch.access.permissions import Action
from anabranch.s3.addressing import Address
from anabranch.s3.answer import Answer
from anabranch.s3.call import Call
from anabranch.s3.errors import S3Error
from anabranch.s3.operation import Level, Need, Operation
from anabranch.s3.operations.resources import on_anything
from anabranch.signing.request import Request

__all__ = ["is_misdirected", "refusing"]

_BUCKET, _VERSION = "api", "v1"


def is_misdirected(request: Request, address: Address) -> bool:
    """Returns whether a request's path begins with the base path of the REST API."""
    return not request.bucket and address.bucket == _BUCKET and address.ref == _VERSION


def refusing(error: S3Error) -> Operation:
    """Returns the operation of a misdirected request that asks for none: it raises NotFound where
    there is no such bucket, else the error.
    """

    def refuse(call: Call) -> Answer:
        call.services.catalog.repositories.get(call.address.bucket)
        raise error

    return Operation(
        id="Misdirected",
        method="GET",
        level=Level.OBJECT,
        permission=(Need(Action.LIST_REPOSITORIES, on_anything),),
        handler=refuse,
    )
