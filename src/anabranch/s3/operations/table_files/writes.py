"""Writing of files of tables in one request, and their deletion, which removes nothing.

Engines delete files of expired snapshots and of tables that were dropped. Another branch, a tag, a
commit or an undo may need these, which only garbage collection can tell.
"""

from __future__ import annotations

from anabranch.access.actors.authorize import authorize
from anabranch.access.actors.table_actor import TableActor
from anabranch.access.policies.permissions import Action
from anabranch.http.etags import quote_etag
from anabranch.http.execution import BodyKind, Execution
from anabranch.http.response import Response
from anabranch.s3.call import Call
from anabranch.s3.headers.object_checksums import checksum_headers
from anabranch.s3.operation import Level, Need, Operation
from anabranch.s3.operations.table_files.addresses import (
    area_of,
    file_of,
    on_table,
    table_permission,
)
from anabranch.s3.protocol.addressing import Address
from anabranch.s3.protocol.errors import S3Error

__all__ = ["OPERATIONS", "keep_table_file"]


_EMPTY = "d41d8cd98f00b204e9800998ecf8427e"


def put_file(call: Call) -> Response:
    """Stores a file; the same bytes may be stored again, others not. The empty object by which
    clients mark a folder is acknowledged: areas have no folders.
    """
    payload = call.delimited_payload()
    if call.address.path.endswith("/"):
        if payload.read(1):
            raise S3Error("InvalidArgument", "A file's name does not end in a slash")
        return Response(200, headers=[("ETag", quote_etag(_EMPTY))])
    stored = call.services.catalog.table_areas.put(area_of(call), file_of(call.address), payload)
    headers = [("ETag", quote_etag(stored.checksum)), *checksum_headers(payload.checksum)]
    return Response(200, headers=headers)


def delete_file(_: Call) -> Response:
    """Returns the response to a deletion; the file stays."""
    return Response(204)


def keep_table_file(call: Call, address: Address) -> None:
    """Raises unless the caller may delete a file of a table, which stays nevertheless."""
    area = address.path.partition("/")[0]
    actor = call.actor
    if isinstance(actor, TableActor):
        actor = actor.admit(address.bucket, area)
    authorize(actor, [table_permission(call, Action.DELETE_OBJECT, area)])


OPERATIONS = (
    Operation(
        id="PutTableFile",
        method="PUT",
        level=Level.OBJECT,
        permission=(Need(Action.WRITE_OBJECT, on_table),),
        body=BodyKind.STREAM,
        execution=Execution.STREAMED,
        handler=put_file,
    ),
    Operation(
        id="DeleteTableFile",
        method="DELETE",
        level=Level.OBJECT,
        permission=(Need(Action.DELETE_OBJECT, on_table),),
        handler=delete_file,
    ),
)
