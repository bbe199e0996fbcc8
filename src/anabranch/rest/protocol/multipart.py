"""The part of a multipart form that holds the content of an upload."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from anabranch.http.multipart import FormParts, invalid_form, parse_boundary, part_name

__all__ = ["content_part"]

_PART_NAME = "content"
_MAX_PARTS = 100


def content_part(content_type: str, chunks: Iterable[bytes]) -> tuple[str, Iterator[bytes]]:
    """Returns the content type of the form's first part named `content`, empty without one, and an
    iterator over its bytes, in chunks.

    The iterator yields the last chunk when the whole form has arrived. The call or the iterator
    raises Invalid for an invalid form and for a form without this part.
    """
    parts = FormParts(parse_boundary(content_type), chunks)
    for _ in range(_MAX_PARTS):
        for _skipped in parts.until_delimiter():
            pass
        headers = parts.headers()
        if headers is None:
            break
        if part_name(headers.get("content-disposition", "")) == _PART_NAME:
            return headers.get("content-type", ""), parts.last()
    raise invalid_form(f"no part named {_PART_NAME}")
