"""Object tags, stored in the user metadata as one text: `name=value&name=value`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import parse_qsl, urlencode

from anabranch.s3.protocol.errors import S3Error
from anabranch.s3.protocol.xml_reader import Element

__all__ = [
    "TAGGING",
    "Tags",
    "parse_stored_tags",
    "parse_tag_document",
    "parse_tag_header",
    "to_tag_text",
]

TAGGING = "X-Amz-Tagging"
"""The metadata key that holds the tags."""

Tags = list[tuple[str, str]]

_MOST_TAGS, _LONGEST_NAME, _LONGEST_VALUE = 10, 128, 256


def parse_stored_tags(metadata: Mapping[str, str]) -> Tags:
    """Returns the tags in an object's metadata."""
    return parse_qsl(metadata.get(TAGGING, ""), keep_blank_values=True)


def parse_tag_header(header: str) -> dict[str, str]:
    """Returns the metadata for a header `x-amz-tagging`, empty for an empty one. Raises S3Error:
    InvalidTag, BadRequest.
    """
    if not header:
        return {}
    return {TAGGING: to_tag_text(parse_qsl(header, keep_blank_values=True))}


def parse_tag_document(root: Element) -> Tags:
    """Returns the tags in a `Tagging` document. Raises S3Error: MalformedXML."""
    sets = list(root.all("TagSet"))
    if len(sets) != 1:
        raise S3Error("MalformedXML")
    tags: Tags = []
    for tag in sets[0].children:
        name, value = tag.child_text("Key"), tag.child_text("Value")
        if tag.name != "Tag" or name is None or value is None:
            raise S3Error("MalformedXML")
        tags.append((name, value))
    return tags


def to_tag_text(tags: Iterable[tuple[str, str]]) -> str:
    """Returns tags in their stored form. Raises S3Error: InvalidTag, and BadRequest for more tags
    than S3 allows.
    """
    checked: dict[str, str] = {}
    for name, value in tags:
        if not 0 < len(name) <= _LONGEST_NAME or len(value) > _LONGEST_VALUE:
            raise S3Error("InvalidTag")
        if name in checked:
            raise S3Error("InvalidTag", "Cannot provide multiple Tags with the same key")
        checked[name] = value
    if len(checked) > _MOST_TAGS:
        raise S3Error("BadRequest", f"Object tags cannot be greater than {_MOST_TAGS}")
    return urlencode(checked)
