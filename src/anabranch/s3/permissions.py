"""The permissions that a call of S3 needs: those that its operation declares, on what it names.

What reads an image may be permitted as that, whatever the operation: an object of the image, a copy
of one, or a listing whose prefix names the image.
"""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.access.permissions import Action, Permission
from anabranch.model.uri import IMAGES
from anabranch.s3.addressing import Address
from anabranch.s3.call import Call
from anabranch.s3.operation import Need
from anabranch.s3.operations.copy_source import COPY_SOURCE, copy_source

__all__ = ["permissions_of"]


def permissions_of(needs: tuple[Need, ...], call: Call) -> Iterator[Permission]:
    """Yields the permissions that a call needs. Raises S3Error for a copy's source that is none."""
    for action, resource in needs:
        permission = Permission(action, resource(call))
        read = _read(action, call)
        if read.bucket == IMAGES:
            permission = call.services.catalog.images.readable(permission, read.bucket, read.ref)
        yield permission


def _read(action: str, call: Call) -> Address:
    """Returns what is read: the source of a copy, the prefix of a listing, or the key."""
    if action == Action.READ_OBJECT and call.header(COPY_SOURCE):
        return copy_source(call)
    if action == Action.LIST_OBJECTS:
        prefix = call.query.get("prefix", "")
        return Address.of(call.address.bucket, prefix if "/" in prefix else "")
    return call.address
