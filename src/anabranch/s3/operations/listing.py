"""Listings of keys: at the bucket's root its branches, beneath a reference its objects.

A prefix without a slash may still become any reference, and so lists branches, as lakeFS does.
Where a page ends is said by the last key itself, so that a client may go on from any key.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote, unquote

from anabranch.access.permissions import Action
from anabranch.errors import Invalid, NotFound
from anabranch.model.names import key_of
from anabranch.s3.answer import Answer
from anabranch.s3.call import Call
from anabranch.s3.errors import S3Error
from anabranch.s3.operation import Level, Need, Operation
from anabranch.s3.operations.buckets import OWNER
from anabranch.s3.operations.key_writer import KeyWriter
from anabranch.s3.operations.page_sizes import most_of
from anabranch.s3.operations.resources import on_bucket
from anabranch.s3.xml_writer import document, element, leaf

__all__ = ["OPERATIONS"]

_SLASH = "/"
_ENCODED = "%"  # no reference begins so
_VERSION = "Version"
_ONLY_VERSION = leaf("VersionId", "null") + leaf("IsLatest", "true")


class _Page(NamedTuple):
    """So many keys and common prefixes, as elements; `last` is where the next page goes on, empty
    at the end.
    """

    amount: int
    elements: str | bytes
    last: str


_EMPTY = _Page(0, "", "")


class _Form(KeyWriter):
    """How the client wants the answer: keys as they are, or percent-encoded; owners or none."""

    def __init__(self, call: Call, *, owners: bool, name: str = "Contents") -> None:
        super().__init__(call)
        self.name = name
        self.after_key = _ONLY_VERSION if name == _VERSION else ""
        self.at_end = (OWNER if owners else "") + leaf("StorageClass", "STANDARD")


def list_objects(call: Call) -> Answer:
    """Returns a page, in the first form: it goes on after `marker`."""
    query = call.query
    form = _Form(call, owners=True)
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    marker = query.get("marker", "")
    most = most_of(call, "max-keys")
    page = _page(call, form, prefix, marker, delimiter, most)
    return Answer(
        200,
        document(
            "ListBucketResult",
            leaf("Name", call.address.bucket),
            form.named("Prefix", prefix),
            form.named("Marker", marker),
            form.named("NextMarker", page.last) if page.last else "",
            leaf("MaxKeys", str(most)),
            form.named("Delimiter", delimiter) if delimiter else "",
            *_ending(form, page),
        ),
    )


def list_objects_v2(call: Call) -> Answer:
    """Returns a page, in the second form: it goes on after a token, or after `start-after`."""
    query = call.query
    if query["list-type"] != "2":
        raise S3Error("InvalidArgument", "Invalid List Type specified in Request")
    form = _Form(call, owners=query.get("fetch-owner", "") == "true")
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    token, start = query.get("continuation-token"), query.get("start-after", "")
    after = _key_of_token(token) if token else start
    if token and not after.startswith(prefix):
        raise S3Error("InvalidArgument", "The continuation token provided is incorrect")
    most = most_of(call, "max-keys")
    page = _page(call, form, prefix, after, delimiter, most)
    return Answer(
        200,
        document(
            "ListBucketResult",
            leaf("Name", call.address.bucket),
            form.named("Prefix", prefix),
            leaf("ContinuationToken", token) if token is not None else "",
            leaf("NextContinuationToken", _token_of(page.last)) if page.last else "",
            form.named("StartAfter", start) if start else "",
            leaf("KeyCount", str(page.amount)),
            leaf("MaxKeys", str(most)),
            form.named("Delimiter", delimiter) if delimiter else "",
            *_ending(form, page),
        ),
    )


def list_versions(call: Call) -> Answer:
    """Returns a page of versions: of each object the only one, which S3 calls `null`. What a
    repository keeps of the past is read at its commits.
    """
    query = call.query
    form = _Form(call, owners=True, name=_VERSION)
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    marker, version = query.get("key-marker", ""), query.get("version-id-marker", "")
    if version and not marker:
        raise S3Error(
            "InvalidArgument", "A version-id marker cannot be specified without a key marker."
        )
    if version not in {"", "null"}:
        raise S3Error("InvalidArgument", "Invalid version id specified")
    most = most_of(call, "max-keys")
    page = _page(call, form, prefix, marker, delimiter, most)
    return Answer(
        200,
        document(
            "ListVersionsResult",
            leaf("Name", call.address.bucket),
            form.named("Prefix", prefix),
            form.named("KeyMarker", marker),
            leaf("VersionIdMarker", version),
            form.named("NextKeyMarker", page.last) if page.last else "",
            leaf("NextVersionIdMarker", "null") if page.last else "",
            leaf("MaxKeys", str(most)),
            form.named("Delimiter", delimiter) if delimiter else "",
            *_ending(form, page),
        ),
    )


def _ending(form: _Form, page: _Page) -> list[str | bytes]:
    encoding = leaf("EncodingType", "url") if form.encoded else ""
    return [encoding, leaf("IsTruncated", "true" if page.last else "false"), page.elements]


def _token_of(key: str) -> str:
    """Returns the token of a key, which is the key itself unless that might not come back from XML
    as it is. Tokens are never encoded as keys are, whatever the client asks for.
    """
    if key.isprintable() and not key.endswith(" "):
        return key
    return _ENCODED + quote(key, safe=_SLASH, errors="surrogateescape")


def _key_of_token(token: str) -> str:
    if not token.startswith(_ENCODED):
        return token
    return unquote(token.removeprefix(_ENCODED), errors="surrogateescape")


def _page(call: Call, form: _Form, prefix: str, after: str, delimiter: str, most: int) -> _Page:
    if not most:
        call.services.catalog.repositories.get(call.address.bucket)
        return _EMPTY
    if _SLASH in prefix:
        return _objects(call, form, prefix, after, delimiter, most)
    return _branches(call, form, prefix, after, most)


def _branches(call: Call, form: _Form, prefix: str, after: str, most: int) -> _Page:
    page = call.services.catalog.branches.list(
        call.address.bucket, prefix=prefix, after=after.partition(_SLASH)[0], amount=most
    )
    keys = [branch.id + _SLASH for branch in page.items]
    elements = [element("CommonPrefixes", form.named("Prefix", key)) for key in keys]
    return _Page(len(keys), "".join(elements), keys[-1] if page.has_more else "")


def _objects(call: Call, form: _Form, prefix: str, after: str, delimiter: str, most: int) -> _Page:
    ref, _, path = prefix.partition(_SLASH)
    root = ref + _SLASH
    inside = after.startswith(root)
    if not inside and key_of(after) > key_of(root):
        return _EMPTY
    try:
        page = call.services.catalog.objects.listing(
            call.address.bucket,
            ref,
            prefix=path,
            after=after[len(root) :] if inside else "",
            delimiter=delimiter,
            amount=most,
        )
    except (NotFound, Invalid) as error:
        if error.kind in {"reference_not_found", "invalid_reference"}:
            return _EMPTY  # no key begins so
        raise
    elements = page.s3_elements(
        root, name=form.name, after_key=form.after_key, at_end=form.at_end, encoded=form.encoded
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
