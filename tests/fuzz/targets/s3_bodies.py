"""XML: the documents of requests to the S3 gateway, and the responses of cloud stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree as ET

from fuzz.shapes import XML
from fuzz.target import Refused, Target, outcome, refusals

from anabranch.blocks.azure.block_list import Block, read_blocks
from anabranch.blocks.cloud.xml_responses import (
    read_listing,
    read_parts,
    read_text,
    read_versions,
)
from anabranch.errors import Busy
from anabranch.s3.headers.deletion_conditions import DeletionCondition
from anabranch.s3.headers.tag_sets import parse_tag_document, to_tag_text
from anabranch.s3.operations.completion import parse_parts
from anabranch.s3.protocol.xml_reader import Element, read_xml
from anabranch.s3.protocol.xml_writer import document, element, leaf

__all__ = ["TARGETS"]

_ROOTS: dict[str, Callable[[Element], Any]] = {
    "Delete": lambda root: [DeletionCondition.from_element(each) for each in root.all("Object")],
    "CompleteMultipartUpload": parse_parts,
    "Tagging": lambda root: to_tag_text(parse_tag_document(root)),
}


def check_request(data: bytes) -> None:
    for root, meaning in _ROOTS.items():
        found = outcome(read_xml, data, root)
        if isinstance(found, Refused):
            continue
        assert _written(found) == _written(read_xml(document(root, _inner(found)), root))
        assert _written(found) == _of_library(ET.fromstring(data))  # noqa: S314  a document type was refused
        with refusals():
            meaning(found)


def _inner(given: Element) -> str:
    return "".join(element(child.name, _inner(child)) for child in given.children) or leaf(
        "x", given.text
    ).removeprefix("<x>").removesuffix("</x>")


def _written(given: Element) -> tuple[Any, ...]:
    text = "" if given.children else given.text.replace("\r\n", "\n").replace("\r", "\n")
    return given.name, text, tuple(map(_written, given.children))


def _of_library(given: ET.Element) -> tuple[Any, ...]:
    # what stands around comments and the like is one text here, as in what readers of S3 expect
    text = "" if len(given) else (given.text or "").replace("\r\n", "\n").replace("\r", "\n")
    return given.tag.rpartition("}")[2], text, tuple(map(_of_library, given))


def check_response(data: bytes) -> None:
    """What is not the expected document is a failure of the store, and nothing else."""
    readers: tuple[Callable[[bytes], Any], ...] = (
        *(read_listing, read_parts, read_versions, read_blocks),
        lambda given: read_text(given, "InitiateMultipartUploadResult", "UploadId"),
    )
    for read in readers:
        try:
            found = read(data)
        except Busy as error:
            if error.kind == "storage_failed":
                continue
            raise
        assert len(repr(found)) < 100 * len(data) + 1000


_BLOCK = Block(bytes(16), 1, 2, bytes(16), 7)
_TIME = leaf("LastModified", "2026-01-02T03:04:05.000Z")

TARGETS = (
    Target(
        "s3_xml",
        check_request,
        lambda: (
            document(
                "Delete",
                element("Object", leaf("Key", "main/a & b"), leaf("ETag", '"abc"')),
                element("Object", leaf("Key", "main/é\x07"), leaf("Size", "10")),
                element("Object", leaf("Key", "x"), leaf("LastModifiedTime", "Mon, 05 Jan 2026")),
                leaf("Quiet", "true"),
            ),
            document(
                "CompleteMultipartUpload",
                element("Part", leaf("PartNumber", "1"), leaf("ETag", '"a"')),
                element("Part", leaf("PartNumber", "2"), leaf("ChecksumCRC32", "AAAAAA==")),
                namespace="",
            ),
            document(
                "Tagging", element("TagSet", element("Tag", leaf("Key", "a"), leaf("Value", "b")))
            ),
        ),
        (
            *(b"<Key>", b"</Key>", b"<!-- -->", b"<![CDATA[a]]>", b"<?pi?>", b"&amp;", b"&#0;"),
            *(b"&#xD;", b"&#x1F600;", b"<!DOCTYPE a>", b"&a;", b' xmlns="b"', b"<a/>", b"\r\n"),
            *(b'<?xml version="1.0" encoding="utf-16"?>', b' encoding="x"', b"Object", b"Part"),
        ),
        XML,
    ),
    Target(
        "cloud_xml",
        check_response,
        lambda: (
            document(
                "ListBucketResult",
                element(
                    "Contents",
                    *(leaf("Key", "a%20b%FF"), leaf("Size", "7"), _TIME, leaf("ETag", '"e"')),
                ),
                *(leaf("IsTruncated", "true"), leaf("NextContinuationToken", "t")),
            ),
            document(
                "ListPartsResult",
                element(
                    "Part",
                    *(leaf("PartNumber", "1"), leaf("Size", "7"), leaf("ETag", '"e"'), _TIME),
                ),
                *(leaf("IsTruncated", "true"), leaf("NextPartNumberMarker", "1")),
            ),
            document(
                "ListVersionsResult",
                element(
                    "Version",
                    *(leaf("Key", "a"), leaf("VersionId", "v"), leaf("IsLatest", "true")),
                    *(leaf("Size", "7"), _TIME),
                ),
                element("DeleteMarker", leaf("Key", "b"), leaf("VersionId", "w"), _TIME),
                *(leaf("IsTruncated", "true"), leaf("NextKeyMarker", "b%20")),
                leaf("NextVersionIdMarker", "w"),
            ),
            document("InitiateMultipartUploadResult", leaf("UploadId", "id")),
            document(
                "BlockList",
                element(
                    "UncommittedBlocks",
                    element("Block", leaf("Name", _BLOCK.name), leaf("Size", "7")),
                    element("Block", leaf("Name", "é"), leaf("Size", "1")),
                ),
                namespace="",
            ),
        ),
        (
            *(b"<!DOCTYPE a>", b"&a;", b"<!-- -->", b"<![CDATA[a]]>", b"+", b"%", b"-1", b"1e3"),
            *(b"0001-01-01T00:00:00Z", b"9999-12-31T23:59:59-23:59", b"+00:00", b"2026", b"true"),
            *(b'<?xml version="1.0" encoding="x"?>', b'<?xml version="1.0" encoding="utf-7"?>'),
        ),
        XML,
    ),
)
