"""The permissions that an S3 call needs: its operation's actions on the resources it names.

A permission to read an image also permits every call that reads from the image: reading an object,
copying one, or a listing whose prefix names the image.
"""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.access.policies.permissions import Action, Permission
from anabranch.model.uri import IMAGES
from anabranch.s3.call import Call
from anabranch.s3.headers.copy_source import COPY_SOURCE, copy_source
from anabranch.s3.operation import Need
from anabranch.s3.operations.table_files.addresses import area_id, on_table, table_permission
from anabranch.s3.protocol.addressing import Address

__all__ = ["required_permissions"]


def required_permissions(needs: tuple[Need, ...], call: Call) -> Iterator[Permission]:
    """Yields the permissions that a call needs. Raises S3Error for a malformed copy source."""
    for action, resource in needs:
        # a copy changes the branch of the key, not that of its source
        if resource is on_table:
            yield table_permission(call, action, area_id(call))
            continue
        permission = Permission(action, resource(call), branch=call.address.ref)
        read = _read_address(action, call)
        if read.bucket == IMAGES:
            permission = call.services.catalog.images.permission_for_reading(
                permission, read.bucket, read.ref
            )
        yield permission


def _read_address(action: str, call: Call) -> Address:
    """Returns the address that is read: a copy's source, a listing's prefix, or the key."""
    if action == Action.READ_OBJECT and call.header(COPY_SOURCE):
        return copy_source(call)
    if action == Action.LIST_OBJECTS:
        prefix = call.query.get("prefix", "")
        return Address.of(call.address.bucket, prefix if "/" in prefix else "")
    return call.address
