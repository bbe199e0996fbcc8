"""The tags of an object, kept in its metadata as one text: `name=value&name=value`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import parse_qsl, urlencode

from anabranch.s3.errors import S3Error
from anabranch.s3.xml_reader import Element

__all__ = ["TAGGING", "Tags", "tag_text", "tags_in", "tags_of_document", "tags_of_header"]

TAGGING = "X-Amz-Tagging"
"""The tags' place in the metadata."""

Tags = list[tuple[str, str]]

_MOST_TAGS, _LONGEST_NAME, _LONGEST_VALUE = 10, 128, 256


def tags_in(metadata: Mapping[str, str]) -> Tags:
    """Returns the tags that an object's metadata holds."""
    return parse_qsl(metadata.get(TAGGING, ""), keep_blank_values=True)


def tags_of_header(header: str) -> dict[str, str]:
    """Returns the metadata that the header `x-amz-tagging` gives. Raises S3Error: InvalidTag,
    BadRequest.
    """
    if not header:
        return {}
    return {TAGGING: tag_text(parse_qsl(header, keep_blank_values=True))}


def tags_of_document(root: Element) -> Tags:
    """Returns the tags of a document `Tagging`. Raises S3Error: MalformedXML."""
    sets = list(root.all("TagSet"))
    if len(sets) != 1:
        raise S3Error("MalformedXML")
    tags: Tags = []
    for tag in sets[0].children:
        name, value = tag.text_of("Key"), tag.text_of("Value")
        if tag.name != "Tag" or name is None or value is None:
            raise S3Error("MalformedXML")
        tags.append((name, value))
    return tags


def tag_text(tags: Iterable[tuple[str, str]]) -> str:
    """Returns tags as they are kept. Raises S3Error: InvalidTag, BadRequest for more than S3
    takes.
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
