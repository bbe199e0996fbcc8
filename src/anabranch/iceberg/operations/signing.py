"""signRequest: the signature of one request to S3, for clients that keep no keys."""

from __future__ import annotations

import hashlib

import msgspec

from anabranch.access.policies.permissions import Action, Permission
from anabranch.catalog.tables.iceberg.identifiers import record_path
from anabranch.errors import Denied
from anabranch.http.response import Response
from anabranch.iceberg.answers import json_response
from anabranch.iceberg.call import Call
from anabranch.iceberg.delegation import files_endpoint, issue_keys
from anabranch.iceberg.operation import Operation
from anabranch.iceberg.signable import Signable, SignRequest, signable
from anabranch.signing.canonical_v4 import UNSIGNED
from anabranch.signing.sign import SigningCredentials, sign_request

__all__ = ["OPERATIONS"]

_SECONDS = 900
"""How long a signature is good for: as long as the gateway accepts its date."""
_TRAILER = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
_DIGEST = "x-amz-content-sha256"
_NOT_SENT = frozenset({"x-amz-date", "x-amz-security-token", _DIGEST})

_request = msgspec.json.Decoder(SignRequest)


def sign(call: Call) -> Response:
    """Returns the headers that sign a request for a file of a table. Raises Denied for a file that
    is none of this table, and for a change on a reference that is no branch.
    """
    request, place = call.body(_request), call.place
    wanted = _wanted(call)
    tables, path = call.services.catalog.iceberg.tables, record_path(call.identifier)
    found = tables.find_record(place, call.identifier)
    area = call.services.catalog.table_areas.find_by_address(place.repository, wanted.area)
    # a table that is being created has no record yet: its area was made for its path
    if area.path != path and (found is None or found.area.id != area.id):
        raise Denied(
            "the file is of another table", kind="outside_table", hint="Ask for that table."
        )
    if area.registered:
        raise Denied(
            "files of a table that was registered are not signed",
            kind="outside_table",
            hint="Read them with keys of your own.",
        )
    if area.path != path:
        call.authorize_at(place, area.path, *_needed(wanted))
    is_change = wanted.action != Action.READ_OBJECT
    if is_change and not call.services.catalog.iceberg.changes.is_branch(place):
        raise Denied(
            f"{place.reference} is no branch: it is read only",
            kind="read_only_reference",
            hint="Name a branch in the warehouse.",
        )
    keys = issue_keys(call, area, path, _SECONDS)
    signer = SigningCredentials(keys.access_key_id, keys.secret, request.region)
    given = {name.lower(): ", ".join(values) for name, values in request.headers.items()}
    kept = {
        name: text
        for name, text in given.items()
        if name.startswith("x-amz-") and name not in _NOT_SENT
    }
    signed = sign_request(
        *(signer, request.method, request.uri, kept),
        time=call.services.clock(),
        payload=_payload(request, given),
    )
    new = {name: [text] for name, text in signed.headers.items() if name.lower() not in kept}
    new.pop("Host")
    if given.get(_DIGEST) == signed.headers["X-Amz-Content-Sha256"]:
        new.pop("X-Amz-Content-Sha256")
    return json_response({"uri": request.uri, "headers": new})


def _payload(request: SignRequest, given: dict[str, str]) -> str:
    """Returns what stands for the body: its digest where the catalog has looked at it, else what
    the client says.
    """
    if request.method == "POST" and request.body:
        return hashlib.sha256(request.body.encode()).hexdigest()
    return given.get(_DIGEST) or (_TRAILER if "x-amz-trailer" in given else UNSIGNED)


def _wanted(call: Call) -> Signable:
    return signable(call.body(_request), files_endpoint(call), call.place.repository)


def _needed(wanted: Signable) -> list[Action]:
    return list(dict.fromkeys((Action.READ_OBJECT, wanted.action)))


def _to_sign(call: Call) -> list[Permission]:
    return [call.on_table(action) for action in _needed(_wanted(call))]


OPERATIONS = (
    Operation(
        id="iceberg signRequest",
        method="POST",
        route="/v1/{prefix}/namespaces/{namespace}/tables/{table}/sign",
        needs=_to_sign,
        handler=sign,
    ),
)
