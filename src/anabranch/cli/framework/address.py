"""Addresses on the command line: `lakefs://repository`, `…/ref` or `…/ref/path`.

There is one function for each kind of address, so that a branch in place of an object is rejected
before any request is sent.
"""

from __future__ import annotations

from anabranch.cli.errors import Usage
from anabranch.cli.output.format import printable
from anabranch.errors import AnabranchError
from anabranch.model.uri import IMAGES, LakeUri, parse_uri

__all__ = [
    "address",
    "image_tag",
    "object_address",
    "prefix_address",
    "ref_address",
    "ref_or_name",
    "repository_address",
    "same_repository",
]

_EXAMPLES = {
    "repository": "lakefs://my-repository",
    "ref": "lakefs://my-repository/main",
    "image": "lakefs://image:v1",
    "object": "lakefs://my-repository/main/folder/file.parquet",
}


def address(repository: str, ref: str = "", key: str = "") -> str:
    """Returns the address as users write it, safe to print."""
    text = f"lakefs://{repository}"
    if ref:
        text += f"/{ref}"
    if key:
        text += f"/{key}"
    return printable(text)


def repository_address(text: str) -> LakeUri:
    """Returns the address of a repository; raises Usage for anything else."""
    uri = _parse(text, "repository")
    if uri.ref or uri.key:
        raise _wrong(text, "repository", "names more than a repository")
    return uri


def ref_address(text: str) -> LakeUri:
    """Returns the address of a branch, tag, commit or expression; raises Usage."""
    uri = _parse(text, "ref")
    if not uri.ref:
        raise _wrong(text, "ref", "names no branch, tag or commit")
    if uri.key:
        raise _wrong(text, "ref", "names an object")
    return uri


def object_address(text: str) -> LakeUri:
    """Returns the address of an object; raises Usage for anything else."""
    uri = prefix_address(text)
    if not uri.key:
        raise _wrong(text, "object", "names no object")
    return uri


def prefix_address(text: str) -> LakeUri:
    """Returns the address of an object or of a prefix; the prefix may be empty."""
    uri = _parse(text, "object")
    if not uri.ref:
        raise _wrong(text, "object", "names no branch, tag or commit")
    return uri


def image_tag(text: str) -> str:
    """Returns the tag of an image, given as a tag or as an address; raises Usage."""
    if "://" not in text:
        text = f"lakefs://{IMAGES}:{text}"
    uri = ref_address(text)
    if uri.repository != IMAGES:
        raise _wrong(text, "image", "names no image")
    return uri.ref


def ref_or_name(text: str) -> str | LakeUri:
    """Returns the address of a ref, or its name if no address was given."""
    return ref_address(text) if "://" in text else text


def same_repository(repository: str, other: str | LakeUri) -> str:
    """Returns the ref of `other`; raises Usage if it is in another repository."""
    if isinstance(other, str):
        return other
    if other.repository != repository:
        raise Usage(
            f"{other.repository} and {repository} are different repositories",
            hint="Both addresses must be in the same repository.",
        )
    return other.ref


def _parse(text: str, wanted: str) -> LakeUri:
    try:
        uri = parse_uri(text)
    except AnabranchError as error:
        raise Usage(error.message, kind=error.kind, hint=error.hint) from error
    # these would refer to another path of the API
    if uri.ref in (".", ".."):
        raise _wrong(text, wanted, f"{uri.ref!r} is not a valid ref")
    return uri


def _wrong(text: str, wanted: str, reason: str) -> Usage:
    return Usage(f"{text!r} {reason}", hint=f"Write it like {_EXAMPLES[wanted]}")
