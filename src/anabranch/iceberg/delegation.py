"""What a client needs to read and write the files of a table: the S3 gateway's address and keys.

Keys are given to clients that ask for them, for one table alone and for an hour. Those of a caller
who may not write, or of a reference that cannot be written to, read only.
"""

from __future__ import annotations

from anabranch.access.credentials.table_keys import TableGrant
from anabranch.access.policies.permissions import Action
from anabranch.catalog.tables.iceberg.areas import Area
from anabranch.iceberg.call import Call

__all__ = ["KEY_SECONDS", "file_settings", "table_keys", "wants_keys"]

KEY_SECONDS = 3600
_HEADER = "x-iceberg-access-delegation"
_VENDED = "vended-credentials"


def wants_keys(call: Call) -> bool:
    """Returns whether a client asks for keys."""
    return _VENDED in [each.strip() for each in call.header(_HEADER).split(",")]


def file_settings(call: Call) -> dict[str, str]:
    """Returns the settings by which clients reach the files of all tables."""
    host = call.header("host")
    return {
        "s3.endpoint": f"{call.head.scheme}://{host}",
        "s3.path-style-access": "true",
        "s3.region": call.services.region,
        "client.region": call.services.region,
    }


def table_keys(call: Call, area: Area, path: str) -> dict[str, str]:
    """Returns the settings with keys for the files of the table with a record at a path. The caller
    has the right to read both the path and the one that the area was made for.
    """
    place, actor = call.place, call.actor
    grant = TableGrant(
        username=actor.username,
        created_at=actor.created_at,
        record_id=actor.record_id,
        repository=area.repository.id,
        area=area.id,
        path=area.path,
        branch=place.reference,
        write=all(actor.may(call.on_path(Action.WRITE_OBJECT, each)) for each in {path, area.path})
        and call.services.catalog.iceberg.changes.is_branch(place),
        expires_at=int(call.services.clock()) + KEY_SECONDS,
        binding=actor.binding,
    )
    keys = call.services.access.table_keys.issue(grant)
    return {
        "s3.access-key-id": keys.access_key_id,
        "s3.secret-access-key": keys.secret.reveal(),
        "expiration-time": str(keys.expires_at * 1000),
    }
