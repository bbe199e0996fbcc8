"""Parsers for S3's XML responses.

XML namespaces differ between S3-compatible stores, so element names are compared without them.
[AWS, "Amazon S3 API reference": ListObjectsV2, ListObjectVersions, ListParts]
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import NamedTuple
from urllib.parse import unquote_plus
from xml.etree import ElementTree as ET

from anabranch.blocks.cloud.client import ObjectInfo
from anabranch.errors import Busy
from anabranch.model.uploads.part import Part

__all__ = [
    "Listing",
    "PartListing",
    "Version",
    "VersionListing",
    "read_listing",
    "read_parts",
    "read_text",
    "read_versions",
]


class Listing(NamedTuple):
    """A page of a listing; `next_token` requests the next page, "" on the last."""

    objects: list[ObjectInfo]
    next_token: str


class PartListing(NamedTuple):
    """A page of an upload's parts; `next_marker` requests the next page, "" on the last."""

    parts: list[Part]
    next_marker: str


class Version(NamedTuple):
    """A version of a key, or a delete marker, which has no size; `mtime` in seconds since 1970."""

    key: str
    id: str
    is_marker: bool
    is_latest: bool
    size: int
    mtime: int


class VersionListing(NamedTuple):
    """A page of versions; the two markers request the next page, both are "" on the last."""

    versions: list[Version]
    next_key_marker: str
    next_version_marker: str


def read_listing(document: bytes) -> Listing:
    """Returns a response to ListObjectsV2 that was requested with encoded keys. Raises Busy for any
    other document.
    """
    with _document(document, "ListBucketResult") as root:
        objects = [
            ObjectInfo(
                unquote_plus(_text(item, "Key"), errors="surrogateescape"),
                _size(item),
                _time(item),
                _text(item, "ETag").strip('"'),
            )
            for item in _all(root, "Contents")
        ]
        return Listing(objects, _next_page(root, "NextContinuationToken"))


def read_parts(document: bytes) -> PartListing:
    """Returns a response to ListParts. Raises Busy for any other document."""
    with _document(document, "ListParts") as root:  # or ListPartsResponse
        parts = [
            Part(
                int(_text(item, "PartNumber")),
                _size(item),
                _text(item, "ETag").strip('"'),
                _time(item),
            )
            for item in _all(root, "Part")
        ]
        return PartListing(parts, _next_page(root, "NextPartNumberMarker"))


def read_versions(document: bytes) -> VersionListing:
    """Returns a response to ListObjectVersions that was requested with encoded keys. Raises Busy
    for any other document.
    """
    with _document(document, "ListVersionsResult") as root:
        versions = [
            Version(
                unquote_plus(_text(item, "Key"), errors="surrogateescape"),
                _text(item, "VersionId"),
                _name(item) == "DeleteMarker",
                _text(item, "IsLatest") == "true",
                _size(item, missing="0"),
                _time(item),
            )
            for item in root
            if _name(item) in {"Version", "DeleteMarker"}
        ]
        next_key = unquote_plus(_next_page(root, "NextKeyMarker"), errors="surrogateescape")
        return VersionListing(versions, next_key, _next_page(root, "NextVersionIdMarker"))


def read_text(document: bytes, root: str, name: str) -> str:
    """Returns the text of an element of a document. Raises Busy for another document."""
    with _document(document, root) as found:
        return _text(found, name)


@contextmanager
def _document(document: bytes, name: str) -> Iterator[ET.Element]:
    """Returns the root of a document whose name begins with `name`. Raises Busy for another
    document, and for one with values that cannot be read.
    """
    try:
        root = ET.fromstring(document)  # noqa: S314  the store is ours
        if not _name(root).startswith(name):
            raise _response_error(name)
        yield root
    # an unknown encoding is a LookupError
    except (ET.ParseError, ValueError, OverflowError, LookupError) as error:
        raise _response_error(name) from error


def _size(element: ET.Element, *, missing: str = "") -> int:
    size = int(_text(element, "Size") or missing)
    if size < 0:
        raise ValueError("a size is negative")
    return size


def _time(element: ET.Element) -> int:
    return int(datetime.fromisoformat(_text(element, "LastModified")).timestamp())


def _next_page(root: ET.Element, name: str) -> str:
    return _text(root, name) if _text(root, "IsTruncated") == "true" else ""


def _all(root: ET.Element, name: str) -> Iterator[ET.Element]:
    return (child for child in root if _name(child) == name)


def _text(element: ET.Element, name: str) -> str:
    return next((child.text or "" for child in _all(element, name)), "")


def _name(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def _response_error(name: str) -> Busy:
    return Busy(
        f"the object store's response is not a {name}",
        kind="storage_failed",
        hint="Check that the endpoint under blockstore is that of an object store.",
    )
