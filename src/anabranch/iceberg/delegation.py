"""What a client needs to read and write the files of a table: the S3 gateway's address, and keys,
or where its requests are signed.

Keys are given to clients that ask for them, for one table alone and for an hour. Those of a caller
who may not write, or of a reference that cannot be written to, read only. Clients that keep no keys
send each request to the catalog first, which signs it with keys of this kind.
"""

from __future__ import annotations

from urllib.parse import quote

from anabranch.access.credentials.table_keys import IssuedTableKeys, TableGrant
from anabranch.access.policies.permissions import Action
from anabranch.catalog.tables.iceberg.areas import Area
from anabranch.catalog.tables.iceberg.identifiers import identifier_at
from anabranch.iceberg.call import Call
from anabranch.iceberg.scopes import BASE_PATH

__all__ = ["KEY_SECONDS", "file_settings", "files_endpoint", "issue_keys", "signing_settings"]
__all__ += ["table_keys", "wants_keys", "wants_signing"]

KEY_SECONDS = 3600
_HEADER = "x-iceberg-access-delegation"
_VENDED, _SIGNED = "vended-credentials", "remote-signing"


def wants_keys(call: Call) -> bool:
    """Returns whether a client asks for keys."""
    return _VENDED in _asked(call)


def wants_signing(call: Call) -> bool:
    """Returns whether a client asks for its requests to be signed, and not for keys."""
    asked = _asked(call)
    return _SIGNED in asked and _VENDED not in asked


def _asked(call: Call) -> list[str]:
    return [each.strip() for each in call.header(_HEADER).split(",")]


def files_endpoint(call: Call) -> str:
    """Returns the address of the S3 gateway, as the client has called this server."""
    return f"{call.head.scheme}://{call.header('host')}"


def signing_settings(call: Call, path: str) -> dict[str, str]:
    """Returns the settings by which requests for the files of the table with a record at a path are
    signed: Java's names of several versions, and pyiceberg's.
    """
    repository, reference = call.place
    identifier = identifier_at(path)
    if identifier is None:  # no address names it
        return {}
    namespace = quote("\x1f".join(identifier.namespace), safe="")
    table = quote(identifier.name, safe="")
    uri = f"{files_endpoint(call)}{BASE_PATH}"
    endpoint = (
        f"v1/{repository}/{quote(reference, safe='')}/namespaces/{namespace}/tables/{table}/sign"
    )
    return {
        "s3.remote-signing-enabled": "true",
        "s3.signer": "S3V4RestSigner",
        "s3.signer.uri": uri,
        "s3.signer.endpoint": endpoint,
        "signer.uri": uri,
        "signer.endpoint": endpoint,
    }


def file_settings(call: Call) -> dict[str, str]:
    """Returns the settings by which clients reach the files of all tables."""
    return {
        "s3.endpoint": files_endpoint(call),
        "s3.path-style-access": "true",
        "s3.region": call.services.region,
        "client.region": call.services.region,
    }


def table_keys(call: Call, area: Area, path: str) -> dict[str, str]:
    """Returns the settings with keys for the files of the table with a record at a path."""
    keys = issue_keys(call, area, path, KEY_SECONDS)
    return {
        "s3.access-key-id": keys.access_key_id,
        "s3.secret-access-key": keys.secret.reveal(),
        "expiration-time": str(keys.expires_at * 1000),
    }


def issue_keys(call: Call, area: Area, path: str, seconds: int) -> IssuedTableKeys:
    """Returns keys for the files of the table with a record at a path. The caller has the right to
    read both the path and the one that the area was made for.
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
        expires_at=int(call.services.clock()) + seconds,
        binding=actor.binding,
    )
    return call.services.access.table_keys.issue(grant)
