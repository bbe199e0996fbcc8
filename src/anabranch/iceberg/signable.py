"""Requests to S3 that the catalog signs for a client: about the files of one table, and no others.

A request is compared as it will be sent. What could be read in more than one way is refused: bytes
that need no encoding and have one, parts of a path that clients resolve, a parameter that is given
twice. The S3 gateway decides again, by keys that reach the same table alone.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple
from urllib.parse import parse_qsl, urlsplit
from xml.etree import ElementTree as ET

import msgspec

from anabranch.access.policies.permissions import Action
from anabranch.errors import Denied, Invalid
from anabranch.model.tables.table_area import AREA_ID, AREAS

__all__ = ["SignRequest", "Signable", "signable"]

_TARGET = re.compile(r"[\x21\x23-\x5b\x5d\x5f\x61-\x7a\x7e]+")
"""What a path and a query are made of: printable, without quotes, backslashes and braces."""
_AMBIGUOUS = re.compile(r"%(?:2[Ff]|5[Cc]|2[Ee]|[01][0-9A-Fa-f]|7[Ff]|(?![0-9A-Fa-f]{2}))")
"""An encoded slash, backslash, dot or control character, or a percent sign that encodes nothing."""
_REGION = re.compile(r"[a-z0-9-]{1,32}")
_REFUSED = ("x-amz-copy-source", "x-amz-security-token", "x-amz-acl", "x-amz-grant-")
_LISTING = frozenset(
    {
        *("list-type", "prefix", "delimiter", "max-keys", "encoding-type", "fetch-owner"),
        *("continuation-token", "start-after", "marker", "x-id"),
    }
)
_OF_OBJECTS: dict[tuple[str, frozenset[str]], Action] = {
    ("GET", frozenset()): Action.READ_OBJECT,
    ("GET", frozenset({"uploadId"})): Action.READ_OBJECT,
    ("HEAD", frozenset()): Action.READ_OBJECT,
    ("PUT", frozenset()): Action.WRITE_OBJECT,
    ("PUT", frozenset({"partNumber", "uploadId"})): Action.WRITE_OBJECT,
    ("POST", frozenset({"uploads"})): Action.WRITE_OBJECT,
    ("POST", frozenset({"uploadId"})): Action.WRITE_OBJECT,
    ("DELETE", frozenset({"uploadId"})): Action.WRITE_OBJECT,
    ("DELETE", frozenset()): Action.DELETE_OBJECT,
}
"""What may be done with a file, by method and parameters."""


class SignRequest(msgspec.Struct, frozen=True):
    """What a client wants to send to S3, as the specification has it."""

    region: str
    uri: str
    method: Literal["GET", "HEAD", "PUT", "POST", "DELETE"]
    headers: dict[str, list[str]]
    body: str | None = None
    provider: str | None = None


class Signable(NamedTuple):
    """What a request does: an action on the files of the area of a repository."""

    area: str
    action: Action


def signable(request: SignRequest, endpoint: str, repository: str) -> Signable:
    """Returns what a request does. `endpoint` is the gateway's address, without a slash at its end.
    Raises Invalid for a malformed request, Denied for one that is not about files of one table.
    """
    if request.provider not in {None, "s3"} or not _REGION.fullmatch(request.region):
        raise Invalid("only requests to S3 are signed", kind="invalid_signing_request")
    target = _target(request.uri, endpoint)
    for name in request.headers:
        if name.lower().startswith(_REFUSED):
            raise _refused(f"a request with {name}")
    path, _, query = target.partition("?")
    names = _parameters(query)
    if path.rstrip("/") == f"/{repository}":
        return _on_bucket(request, names, repository)
    root = f"/{repository}/{AREAS}/"
    area, _, file = path.removeprefix(root).partition("/")
    if not path.startswith(root) or not AREA_ID.fullmatch(area):
        raise _refused("another address than that of a table's file")
    if _AMBIGUOUS.search(path) or not all(part not in {"", ".", ".."} for part in file.split("/")):
        raise _refused("a path that can be read in two ways")
    action = _OF_OBJECTS.get((request.method, frozenset(names) - {"x-id"}))
    if action is None:
        raise _refused(f"{request.method} with {', '.join(names) or 'no parameter'}")
    return Signable(area, action)


def _target(uri: str, endpoint: str) -> str:
    """Returns the path and the query of an address at the gateway."""
    parts = urlsplit(uri)
    found, wanted = f"{parts.scheme}://{parts.netloc}".lower(), urlsplit(endpoint)
    if found not in {
        f"{wanted.scheme}://{wanted.netloc}".lower(),
        f"{wanted.scheme}://{wanted.hostname}:{_port(wanted.scheme)}".lower(),
    }:
        raise _refused("another host")
    target = uri[len(found) :]
    if "#" in target or not _TARGET.fullmatch(target):
        raise _refused("an address that is not encoded")
    return target


def _port(scheme: str) -> int:
    return 443 if scheme == "https" else 80


def _parameters(query: str) -> dict[str, str]:
    pairs = parse_qsl(query, keep_blank_values=True)
    names = dict(pairs)
    if len(names) != len(pairs) or ";" in query:
        raise _refused("a parameter that is given twice")
    return names


def _on_bucket(request: SignRequest, names: dict[str, str], repository: str) -> Signable:
    """Returns what a request to a bucket does: a listing, or a deletion of several files."""
    if request.method == "GET" and frozenset(names) <= _LISTING and "prefix" in names:
        return Signable(_area_of_key(names["prefix"]), Action.READ_OBJECT)
    if request.method == "POST" and frozenset(names) - {"x-id"} == {"delete"}:
        areas = {_area_of_key(key) for key in _deleted(request.body or "")}
        if len(areas) == 1:
            return Signable(areas.pop(), Action.DELETE_OBJECT)
    raise _refused(f"{request.method} on the bucket {repository}")


def _area_of_key(key: str) -> str:
    root, _, rest = key.partition("/")
    area, slash, _ = rest.partition("/")
    if root != AREAS or not slash or not AREA_ID.fullmatch(area):
        raise _refused("another address than that of a table's file")
    return area


def _deleted(body: str) -> list[str]:
    """Returns the keys that a DeleteObjects request names."""
    if "<!" in body or "<?" in body.removeprefix("<?xml"):
        raise _refused("a document with declarations")
    try:
        root = ET.fromstring(body)  # noqa: S314  it has no declarations
    except ET.ParseError:
        raise Invalid("the body is no document", kind="invalid_signing_request") from None
    return [each.text or "" for each in root.iter() if each.tag.rpartition("}")[2] == "Key"]


def _refused(what: str) -> Denied:
    return Denied(
        f"{what} is not signed",
        kind="outside_table",
        hint="Requests are signed that read, store or delete files of one table.",
    )
