"""S3 requests below the REST API's base path, sent because the client's endpoint ends in it.

They name a bucket `api`. If it does not exist, the error explains the mistake, as in lakeFS.
"""

from __future__ import annotations

from anabranch.access.policies.permissions import Action
from anabranch.http.response import Response
from anabranch.s3.call import Call
from anabranch.s3.operation import Level, Need, Operation
from anabranch.s3.operations.resources import on_anything
from anabranch.s3.protocol.addressing import Address
from anabranch.s3.protocol.errors import S3Error
from anabranch.signing.request import Request

__all__ = ["is_misdirected", "refusal"]

_BUCKET, _VERSION = "api", "v1"


def is_misdirected(request: Request, address: Address) -> bool:
    """Returns whether a request's path begins with the base path of the REST API."""
    return not request.bucket and address.bucket == _BUCKET and address.ref == _VERSION


def refusal(error: S3Error) -> Operation:
    """Returns the operation for a misdirected request that matches no other: it raises NotFound if
    the bucket does not exist, else `error`.
    """

    def refuse(call: Call) -> Response:
        call.services.catalog.repositories.get(call.address.bucket)
        raise error

    return Operation(
        id="Misdirected",
        method="GET",
        level=Level.OBJECT,
        permission=(Need(Action.LIST_REPOSITORIES, on_anything),),
        handler=refuse,
    )
