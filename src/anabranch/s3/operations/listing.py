"""Object listings: branches at the root of a bucket, objects below a reference.

A prefix without a slash lists the branches that begin with it, as in lakeFS. A page's marker or
token is its last key, so a client can continue from any key.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple
from urllib.parse import quote, unquote

from anabranch.access.actors.visible_items import visible_items
from anabranch.access.policies.permissions import Action, Permission, branch_arn
from anabranch.errors import Invalid, NotFound
from anabranch.http.response import Response
from anabranch.model.names import encode_path
from anabranch.s3.call import Call
from anabranch.s3.operation import Level, Need, Operation
from anabranch.s3.operations.buckets import OWNER
from anabranch.s3.operations.key_encoding import KeyWriter
from anabranch.s3.operations.parameters import parse_max_keys
from anabranch.s3.operations.resources import on_bucket
from anabranch.s3.protocol.errors import S3Error
from anabranch.s3.protocol.xml_writer import document, element, leaf

__all__ = ["OPERATIONS"]

_SLASH = "/"
_ENCODED_PREFIX = "%"  # the prefix of an encoded token: no reference begins with it
_VERSION = "Version"
_ONLY_VERSION = leaf("VersionId", "null") + leaf("IsLatest", "true")


class _Page(NamedTuple):
    """A page: the number of keys and common prefixes, their elements, and `last`, the key after
    which the next page begins, empty on the last page.
    """

    amount: int
    elements: str | bytes
    last: str


_EMPTY = _Page(0, "", "")


class _EntryFormat(KeyWriter):
    """The format of entries: the encoding of keys, the element's name, with or without owners."""

    def __init__(self, call: Call, *, owners: bool, name: str = "Contents") -> None:
        super().__init__(call)
        self.name = name
        self.after_key = _ONLY_VERSION if name == _VERSION else ""
        self.at_end = (OWNER if owners else "") + leaf("StorageClass", "STANDARD")


def list_objects(call: Call) -> Response:
    """Returns a page of ListObjects version 1, which begins after `marker`."""
    query = call.query
    entry_format = _EntryFormat(call, owners=True)
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    marker = query.get("marker", "")
    limit = parse_max_keys(call, "max-keys")
    page = _list_page(call, entry_format, prefix, marker, delimiter, limit)
    return Response(
        200,
        document(
            "ListBucketResult",
            leaf("Name", call.address.bucket),
            entry_format.key_element("Prefix", prefix),
            entry_format.key_element("Marker", marker),
            entry_format.key_element("NextMarker", page.last) if page.last else "",
            leaf("MaxKeys", str(limit)),
            entry_format.key_element("Delimiter", delimiter) if delimiter else "",
            *_page_elements(entry_format, page),
        ),
    )


def list_objects_v2(call: Call) -> Response:
    """Returns a page of version 2, which begins after a continuation token or `start-after`."""
    query = call.query
    if query["list-type"] != "2":
        raise S3Error("InvalidArgument", "Invalid List Type specified in Request")
    entry_format = _EntryFormat(call, owners=query.get("fetch-owner", "") == "true")
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    token, start = query.get("continuation-token"), query.get("start-after", "")
    after = _parse_token(token) if token else start
    if token and not after.startswith(prefix):
        raise S3Error("InvalidArgument", "The continuation token provided is incorrect")
    limit = parse_max_keys(call, "max-keys")
    page = _list_page(call, entry_format, prefix, after, delimiter, limit)
    return Response(
        200,
        document(
            "ListBucketResult",
            leaf("Name", call.address.bucket),
            entry_format.key_element("Prefix", prefix),
            leaf("ContinuationToken", token) if token is not None else "",
            leaf("NextContinuationToken", _to_token(page.last)) if page.last else "",
            entry_format.key_element("StartAfter", start) if start else "",
            leaf("KeyCount", str(page.amount)),
            leaf("MaxKeys", str(limit)),
            entry_format.key_element("Delimiter", delimiter) if delimiter else "",
            *_page_elements(entry_format, page),
        ),
    )


def list_versions(call: Call) -> Response:
    """Returns a page of object versions: each object has one, `null` in S3. Earlier contents are
    read through commits instead.
    """
    query = call.query
    entry_format = _EntryFormat(call, owners=True, name=_VERSION)
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    marker, version = query.get("key-marker", ""), query.get("version-id-marker", "")
    if version and not marker:
        raise S3Error(
            "InvalidArgument", "A version-id marker cannot be specified without a key marker."
        )
    if version not in {"", "null"}:
        raise S3Error("InvalidArgument", "Invalid version id specified")
    limit = parse_max_keys(call, "max-keys")
    page = _list_page(call, entry_format, prefix, marker, delimiter, limit)
    return Response(
        200,
        document(
            "ListVersionsResult",
            leaf("Name", call.address.bucket),
            entry_format.key_element("Prefix", prefix),
            entry_format.key_element("KeyMarker", marker),
            leaf("VersionIdMarker", version),
            entry_format.key_element("NextKeyMarker", page.last) if page.last else "",
            leaf("NextVersionIdMarker", "null") if page.last else "",
            leaf("MaxKeys", str(limit)),
            entry_format.key_element("Delimiter", delimiter) if delimiter else "",
            *_page_elements(entry_format, page),
        ),
    )


def _page_elements(entry_format: _EntryFormat, page: _Page) -> list[str | bytes]:
    encoding = leaf("EncodingType", "url") if entry_format.encoded else ""
    return [encoding, leaf("IsTruncated", "true" if page.last else "false"), page.elements]


def _to_token(key: str) -> str:
    """Returns the token of a key: the key itself unless XML might change it. The encoding type that
    the client requests does not apply to tokens.
    """
    if key.isprintable() and not key.endswith(" "):
        return key
    return _ENCODED_PREFIX + quote(key, safe=_SLASH, errors="surrogateescape")


def _parse_token(token: str) -> str:
    if not token.startswith(_ENCODED_PREFIX):
        return token
    return unquote(token.removeprefix(_ENCODED_PREFIX), errors="surrogateescape")


def _list_page(
    call: Call, entry_format: _EntryFormat, prefix: str, after: str, delimiter: str, limit: int
) -> _Page:
    if not limit:
        call.services.catalog.repositories.get(call.address.bucket)
        return _EMPTY
    if _SLASH in prefix:
        return _list_objects(call, entry_format, prefix, after, delimiter, limit)
    return _list_branches(call, entry_format, prefix, after, limit)


def _list_branches(
    call: Call, entry_format: _EntryFormat, prefix: str, after: str, limit: int
) -> _Page:
    bucket = call.address.bucket
    page = visible_items(
        partial(call.services.catalog.branches.list, bucket, prefix=prefix),
        call.actor,
        lambda branch: branch.id,
        lambda name: Permission(Action.READ_BRANCH, branch_arn(bucket, name)),
        after=after.partition(_SLASH)[0],
        amount=limit,
    )
    keys = [branch.id + _SLASH for branch in page.items]
    elements = [element("CommonPrefixes", entry_format.key_element("Prefix", key)) for key in keys]
    return _Page(len(keys), "".join(elements), keys[-1] if page.has_more else "")


def _list_objects(
    call: Call, entry_format: _EntryFormat, prefix: str, after: str, delimiter: str, limit: int
) -> _Page:
    ref, _, path = prefix.partition(_SLASH)
    root = ref + _SLASH
    starts_inside = after.startswith(root)
    if not starts_inside and encode_path(after) > encode_path(root):
        return _EMPTY
    try:
        page = call.services.catalog.objects.listing(
            call.address.bucket,
            ref,
            prefix=path,
            after=after[len(root) :] if starts_inside else "",
            delimiter=delimiter,
            amount=limit,
            readable=call.services.catalog.images.readable_paths(
                call.actor, call.address.bucket, ref, path
            ),
        )
    except (NotFound, Invalid) as error:
        if error.kind in {"reference_not_found", "invalid_reference"}:
            return _EMPTY  # no key has this prefix
        raise
    elements = page.s3_elements(
        root,
        name=entry_format.name,
        after_key=entry_format.after_key,
        at_end=entry_format.at_end,
        encoded=entry_format.encoded,
    )
    return _Page(len(page), elements, root + page.next_offset if page.has_more else "")


OPERATIONS = (
    Operation(
        id="ListObjects",
        method="GET",
        level=Level.BUCKET,
        permission=(Need(Action.LIST_OBJECTS, on_bucket),),
        handler=list_objects,
    ),
    Operation(
        id="ListObjectsV2",
        method="GET",
        level=Level.BUCKET,
        on="list-type",
        permission=(Need(Action.LIST_OBJECTS, on_bucket),),
        handler=list_objects_v2,
    ),
    Operation(
        id="ListObjectVersions",
        method="GET",
        level=Level.BUCKET,
        on="versions",
        permission=(Need(Action.LIST_OBJECTS, on_bucket),),
        handler=list_versions,
    ),
)
