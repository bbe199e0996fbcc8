"""Which names and paths are allowed, by lakeFS's rules; branch and tag names may also hold `:`."""

from __future__ import annotations

import re

from anabranch.errors import Invalid

__all__ = [
    "MAX_NAMESPACE_BYTES",
    "MAX_NAMESPACE_FOLDERS",
    "MAX_PATH_BYTES",
    "check_branch",
    "check_path",
    "check_repository",
    "check_storage_namespace",
    "check_tag",
    "key_of",
    "path_of",
]

MAX_PATH_BYTES = 1024
MAX_NAMESPACE_BYTES = 900
"""An object store's keys have 1,024 bytes; what stands below a namespace takes up to 100."""
MAX_NAMESPACE_FOLDERS = 64
"""A local store makes and syncs each folder, some milliseconds for each."""

_REPOSITORY = re.compile(r"[a-z0-9][a-z0-9-]{2,62}", re.ASCII)
_BRANCH = re.compile(r"\w[-\w]*", re.ASCII)
# git's own branch names hold dots, and so does the example dev:jane-before-v2.3-merge
_SCOPED_BRANCH = re.compile(r"\w[-\w]*(:\w[-.\w]*)+", re.ASCII)
_TAG_REFUSED = re.compile(r"[\x00-\x20^?*\[/`\x7f]|\.\.|@\{")


def check_repository(name: str) -> None:
    """Raises Invalid unless `name` can name a repository."""
    if not _REPOSITORY.fullmatch(name):
        raise Invalid(
            "argument repository: invalid repository name: validation error",
            kind="invalid_repository_name",
            hint="3 to 63 lower-case letters, digits and dashes, beginning with no dash.",
        )


def check_branch(name: str) -> None:
    """Raises Invalid unless `name` can name a branch."""
    if not (_BRANCH.fullmatch(name) or _SCOPED_BRANCH.fullmatch(name)):
        raise Invalid(
            "argument branch: branch id: invalid value: validation error: branch id must consist "
            "of letters, digits, underscores and dashes, and cannot start with a dash",
            kind="invalid_branch_name",
            hint="Letters, digits, underscores and dashes; a scope may stand before a colon: "
            "dev:fix-1.",
        )


def check_tag(name: str) -> None:
    """Raises Invalid unless `name` can name a tag."""
    if not name:
        raise Invalid("argument tagID: required value: validation error", kind="invalid_tag_name")
    if (
        name == "@"
        or name.startswith(":")
        or name.endswith((".", ".lock", ":"))
        or "::" in name
        or _TAG_REFUSED.search(name)
    ):
        raise Invalid(
            "argument tagID: tag id: invalid value: validation error",
            kind="invalid_tag_name",
            hint="No spaces, slashes, `..`, `@{` or any of ^ ? * [ `, and no dot at the end.",
        )


def check_path(path: str) -> None:
    """Raises Invalid unless `path` can be an object's path: 1 to 1,024 bytes of UTF-8."""
    if not path:
        raise Invalid(
            "argument path: missing path: required value: validation error", kind="missing_path"
        )
    try:
        length = len(path.encode())
    except UnicodeEncodeError:
        raise Invalid(
            "argument path: not UTF-8: invalid value: validation error", kind="invalid_path"
        ) from None
    if length > MAX_PATH_BYTES:
        raise Invalid(
            f"argument path: invalid value: validation error: {length} is above maximum length "
            f"({MAX_PATH_BYTES})",
            kind="invalid_path",
            hint=f"A path has at most {MAX_PATH_BYTES} bytes of UTF-8.",
        )


def check_storage_namespace(namespace: str) -> None:
    """Raises Invalid for a storage namespace that is too long or too deep. Others may be invalid
    for a store.
    """
    length = len(namespace.encode("utf-8", "surrogatepass"))
    if length > MAX_NAMESPACE_BYTES:
        raise _invalid_namespace(f"{length:,} bytes, at most {MAX_NAMESPACE_BYTES:,}")
    folders = len([name for name in namespace.partition("://")[2].split("/") if name])
    if folders > MAX_NAMESPACE_FOLDERS:
        raise _invalid_namespace(f"{folders:,} nested folders, at most {MAX_NAMESPACE_FOLDERS}")


def _invalid_namespace(reason: str) -> Invalid:
    return Invalid(
        f"storage namespace of {reason}: invalid namespace",
        kind="invalid_storage_namespace",
        hint="Choose a shorter one.",
    )


def key_of(path: str) -> bytes:
    """Returns a path's key in trees and staging areas."""
    return path.encode("utf-8", "surrogateescape")


def path_of(key: bytes) -> str:
    """Returns a key's path. Bytes that are no UTF-8, which only foreign systems write, survive
    the way there and back.
    """
    return key.decode("utf-8", "surrogateescape")
