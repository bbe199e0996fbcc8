"""The area, the file and the resource of a request about files of tables."""

from __future__ import annotations

from anabranch.access.actors.table_actor import TableActor
from anabranch.access.policies.permissions import Action, Permission, object_arn
from anabranch.access.policies.table_permissions import record_permission
from anabranch.catalog.tables.iceberg.areas import Area
from anabranch.s3.call import Call
from anabranch.s3.protocol.addressing import Address

__all__ = ["TABLE_FILE_OPERATIONS", "area_id", "area_of", "file_of", "on_table"]
__all__ += ["table_permission"]

TABLE_FILE_OPERATIONS = frozenset(
    {
        "GetTableFile",
        "HeadTableFile",
        "PutTableFile",
        "DeleteTableFile",
        "CreateTableFileUpload",
        "AbortTableFileUpload",
        "UploadTableFilePart",
        "ListTableFileParts",
        "CompleteTableFileUpload",
        "ListTableFiles",
        "ListTableFilesV2",
    }
)
"""The operations that keys of a table may perform on its area."""


def area_id(call: Call) -> str:
    """Returns the area that a request names, by its key or by the prefix of a listing."""
    path = call.address.path or call.query.get("prefix", "").partition("/")[2]
    return path.partition("/")[0]


def file_of(address: Address) -> str:
    """Returns the path of a file in its area."""
    return address.path.partition("/")[2]


def area_of(call: Call) -> Area:
    """Returns the area of a request. Raises NotFound."""
    return call.services.catalog.table_areas.find_by_address(call.address.bucket, area_id(call))


def on_table(call: Call) -> str:
    """Returns the ARN of the record for which the area of a call was made."""
    return object_arn(*_owner(call, area_id(call)))


def table_permission(call: Call, action: Action, area: str) -> Permission:
    """Returns the permission to read, write or delete files of an area, which is one on the table
    for which it was made; for keys of a table, for which they were made. Files of tables belong to
    no branch, so no right that depends on one gives them. Raises NotFound.
    """
    return record_permission(action, *_owner(call, area), "")


def _owner(call: Call, area: str) -> tuple[str, str]:
    if isinstance(call.actor, TableActor):
        return call.actor.grant.repository, call.actor.grant.path
    found = call.services.catalog.table_areas.find_by_address(call.address.bucket, area)
    return found.repository.id, found.path
