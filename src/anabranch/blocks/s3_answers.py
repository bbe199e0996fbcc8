"""What S3's documents say: listings of blocks and of parts.

Namespaces differ between makers of stores, so names are compared without them. [AWS, "Amazon S3
API reference": ListObjectsV2, ListParts]
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple
from urllib.parse import unquote_plus
from xml.etree import ElementTree as ET

from anabranch.blocks.objects import Listed
from anabranch.errors import Busy
from anabranch.model.part import Part

__all__ = [
    "Listing",
    "PartListing",
    "http_seconds",
    "read_listing",
    "read_nested",
    "read_parts",
    "read_text",
]


class Listing(NamedTuple):
    """A page of a listing; `more` asks for the next one, "" at the end."""

    found: list[Listed]
    more: str


class PartListing(NamedTuple):
    """A page of an upload's parts; `more` is the number to go on after, "" at the end."""

    parts: list[Part]
    more: str


def read_listing(document: bytes) -> Listing:
    """Returns what ListObjectsV2 answers, whose keys were asked for encoded. Raises Busy for
    something else.
    """
    root = _read(document, "ListBucketResult")
    found = [
        Listed(
            unquote_plus(_text(item, "Key"), errors="surrogateescape"),
            int(_text(item, "Size")),
            int(datetime.fromisoformat(_text(item, "LastModified")).timestamp()),
            _text(item, "ETag").strip('"'),
        )
        for item in _all(root, "Contents")
    ]
    return Listing(found, _more(root, "NextContinuationToken"))


def read_parts(document: bytes) -> PartListing:
    """Returns what ListParts answers. Raises Busy for something else."""
    root = _read(document, "ListParts")  # some call it a response
    parts = [
        Part(
            int(_text(item, "PartNumber")),
            int(_text(item, "Size")),
            _text(item, "ETag").strip('"'),
            int(datetime.fromisoformat(_text(item, "LastModified")).timestamp()),
        )
        for item in _all(root, "Part")
    ]
    return PartListing(parts, _more(root, "NextPartNumberMarker"))


def http_seconds(header: str) -> int:
    """Returns the time of a header such as Last-Modified; 0 for what is none."""
    try:
        return int(parsedate_to_datetime(header).timestamp())
    except ValueError:
        return 0


def read_text(document: bytes, root: str, name: str) -> str:
    """Returns the text of an element of a document. Raises Busy for another document."""
    return _text(_read(document, root), name)


def read_nested(document: bytes, name: str) -> dict[str, str]:
    """Returns the texts in the first element of that name, wherever it stands. Raises Busy."""
    for element in _read(document, "").iter():
        if _name(element) == name:
            return {_name(child): child.text or "" for child in element}
    raise _odd(name)


def _read(document: bytes, name: str) -> ET.Element:
    try:
        root = ET.fromstring(document)  # noqa: S314  the store is ours
    except ET.ParseError as error:
        raise _odd(name) from error
    if not _name(root).startswith(name):
        raise _odd(name)
    return root


def _more(root: ET.Element, name: str) -> str:
    return _text(root, name) if _text(root, "IsTruncated") == "true" else ""


def _all(root: ET.Element, name: str) -> Iterator[ET.Element]:
    return (child for child in root if _name(child) == name)


def _text(element: ET.Element, name: str) -> str:
    return next((child.text or "" for child in _all(element, name)), "")


def _name(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def _odd(name: str) -> Busy:
    return Busy(
        f"the object store answered something else than a {name}",
        kind="storage_failed",
        hint="Look whether blockstore's endpoint is an object store's.",
    )
