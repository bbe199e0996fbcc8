"""Parsers for the addresses in a Lakefile: bases, sources and destinations.

Each function raises Invalid with a message that says what was expected; the parser adds the
position.
"""

from __future__ import annotations

import re

from anabranch.errors import Invalid
from anabranch.model.lakefile.instructions import Source
from anabranch.model.names import MAX_PATH_BYTES
from anabranch.model.references.expression import parse_expression
from anabranch.model.uri import SCHEME, LakeUri, parse_uri

__all__ = ["parse_base", "parse_destination", "parse_source"]

_EXTERNAL = re.compile(
    r"(?:s3|gs)://[^/]+/.*|https://[^/]+/[^/]+/.*|local:///.+", re.DOTALL | re.ASCII
)
_ROOT = ("", "/", ".", "./")
_SHAPES = (
    "lakefs://repository/reference/path, s3://bucket/path, gs://bucket/path, "
    "https://account/container/path or local:///folder/path"
)


def parse_base(text: str) -> LakeUri | None:
    """Returns the address of a FROM instruction, None for `scratch`."""
    if text == "scratch":
        return None
    uri = _lake(text)
    if uri.key:
        raise _expectation_error(
            "a whole reference as the base", text, "Take parts of a reference with ADD."
        )
    return uri


def parse_source(text: str) -> Source:
    """Returns the source of an ADD instruction."""
    if text.startswith("lakefs:"):
        return _lake(text)
    if not _EXTERNAL.fullmatch(text):
        raise _expectation_error(_SHAPES, text)
    return text


def parse_destination(text: str, source: Source) -> str:
    """Returns the path of an object in the image, or the prefix of the paths of many objects. As in
    a Dockerfile, an object that is added to a folder keeps its name.
    """
    address = source if isinstance(source, str) else f"/{source.key}"
    is_prefix = address.endswith("/")
    if text in _ROOT:
        path = ""
    elif text.startswith(("/", "./", "../")):
        hint = "Leave the slash at its beginning out; / alone is the whole image."
        raise _expectation_error("a path in the image, such as path/to/", text, hint)
    else:
        path = f"{text}/" if is_prefix and not text.endswith("/") else text
    if not is_prefix and (not path or path.endswith("/")):
        path += address.rpartition("/")[2]
    if len(path.encode()) > MAX_PATH_BYTES:
        raise Invalid(
            f"expected a path of at most {MAX_PATH_BYTES:,} bytes, found {len(path.encode()):,}"
        )
    return path


def _lake(text: str) -> LakeUri:
    if not text.startswith(SCHEME):
        raise _expectation_error(f"{SCHEME}repository/reference or scratch", text)
    uri = parse_uri(text)
    if not uri.ref:
        raise _expectation_error("a branch, tag or commit behind the repository", text)
    if parse_expression(uri.ref).view == "$":
        raise _expectation_error(
            "a reference without $", text, "What is not committed can be no part of an image."
        )
    return uri


def _expectation_error(what: str, found: str, hint: str = "") -> Invalid:
    shown = found if len(found) <= 80 else f"{found[:80]}…"  # noqa: PLR2004  fits on a line
    return Invalid(f"expected {what}, found {shown!r}", hint=hint)
