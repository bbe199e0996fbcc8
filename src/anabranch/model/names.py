"""Validation of names and paths, by lakeFS's rules; branch and tag names may also contain `:`."""

from __future__ import annotations

import re

from anabranch.errors import Invalid

__all__ = [
    "MAX_NAMESPACE_BYTES",
    "MAX_NAMESPACE_FOLDERS",
    "MAX_PATH_BYTES",
    "MAX_REFERENCE_BYTES",
    "check_branch",
    "check_default_branch",
    "check_new_branch",
    "check_new_tag",
    "check_path",
    "check_pull_request_id",
    "check_repository",
    "check_storage_namespace",
    "check_tag",
    "decode_key",
    "encode_path",
    "is_prefix",
    "is_too_long",
]

MAX_PATH_BYTES = 1024
MAX_REFERENCE_BYTES = 1024
"""The names of new branches and tags. A staged path's record has the branch in its key, and
PostgreSQL indexes keys of up to 2,704 bytes: one of such a branch and the longest path still is.
DynamoDB's sort key, which holds the name with lakeFS, has 1,024 bytes with the prefix.
"""
MAX_NAMESPACE_BYTES = 900
"""Keys of object stores have at most 1,024 bytes; keys below a namespace take up to 100."""
MAX_NAMESPACE_FOLDERS = 64
"""A local store creates and syncs each folder, which takes some milliseconds each."""

_REPOSITORY = re.compile(r"[a-z0-9][a-z0-9-]{2,62}", re.ASCII)
_BRANCH = re.compile(r"\w[-\w]*", re.ASCII)
# git's branch names may contain dots, and so does the example dev:jane-before-v2.3-merge
_SCOPED_BRANCH = re.compile(r"\w[-\w]*(:\w[-.\w]*)+", re.ASCII)
_PULL_REQUEST_ID = re.compile(r"[0-9a-v]{20}")
_TAG_FORBIDDEN = re.compile(r"[\x00-\x20^?*\[/`\x7f]|\.\.|@\{")


def check_repository(name: str) -> None:
    """Raises Invalid unless `name` is a valid name of a repository."""
    if not _REPOSITORY.fullmatch(name):
        raise Invalid(
            "argument repository: invalid repository name: validation error",
            kind="invalid_repository_name",
            hint="Use 3 to 63 lower-case letters, digits and dashes, not beginning with a dash.",
        )


def check_branch(name: str) -> None:
    """Raises Invalid unless `name` has the form of a branch's name. Any length is valid: lakeFS and
    older versions set no limit.
    """
    if not (_BRANCH.fullmatch(name) or _SCOPED_BRANCH.fullmatch(name)):
        raise Invalid(
            "argument branch: branch id: invalid value: validation error: branch id must consist "
            "of letters, digits, underscores and dashes, and cannot start with a dash",
            kind="invalid_branch_name",
            hint="Use letters, digits, underscores and dashes, with an optional scope before a "
            "colon, as in dev:fix-1.",
        )


def check_new_branch(name: str) -> None:
    """Raises Invalid unless `name` is a valid name of a new branch."""
    check_branch(name)
    _check_length(name, "branch: branch id", "invalid_branch_name")


def check_default_branch(name: str, *, bare: bool) -> None:
    """Raises Invalid unless `name` is a valid name of the default branch of a new repository. With
    a `bare` one no branch is created: a dump is restored there, which may have a longer name.
    """
    check_branch(name) if bare else check_new_branch(name)


def check_new_tag(name: str) -> None:
    """Raises Invalid unless `name` is a valid name of a new tag."""
    check_tag(name)
    _check_length(name, "tagID: tag id", "invalid_tag_name")


def is_too_long(name: str) -> bool:
    """Returns whether a name that has the form of a branch's or tag's is too long for a new one."""
    return _size(name) > MAX_REFERENCE_BYTES


def _check_length(name: str, what: str, kind: str) -> None:
    if is_too_long(name):
        raise Invalid(
            f"argument {what}: invalid value: validation error: {_size(name)} is above maximum "
            f"length ({MAX_REFERENCE_BYTES})",
            kind=kind,
            hint=f"Choose a shorter name: it has at most {MAX_REFERENCE_BYTES:,} bytes of UTF-8.",
        )


def _size(name: str) -> int:
    return len(name.encode("utf-8", "surrogatepass"))


def check_tag(name: str) -> None:
    """Raises Invalid unless `name` has the form of a tag's name, of any length."""
    if not name:
        raise Invalid("argument tagID: required value: validation error", kind="invalid_tag_name")
    if (
        name == "@"
        or name.startswith(":")
        or name.endswith((".", ".lock", ":"))
        or "::" in name
        or _TAG_FORBIDDEN.search(name)
    ):
        raise Invalid(
            "argument tagID: tag id: invalid value: validation error",
            kind="invalid_tag_name",
            hint="Do not use spaces, slashes, `..`, `@{`, any of ^ ? * [ `, or a dot at the end.",
        )


def check_pull_request_id(pull_id: str) -> None:
    """Raises Invalid unless `pull_id` has the form of an id of a pull request: an xid, 12 bytes in
    base32hex.
    """
    if not _PULL_REQUEST_ID.fullmatch(pull_id):
        raise Invalid(
            "argument pullRequestID: pull request id: invalid value: validation error",
            kind="invalid_pull_request_id",
            hint="An id has 20 digits and letters from a to v, as `pr list` prints it.",
        )


def check_path(path: str) -> None:
    """Raises Invalid unless `path` is a valid path of an object: 1 to 1,024 bytes of UTF-8."""
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
    """Raises Invalid for a storage namespace that is too long or too deep. Stores may have further
    rules.
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
        hint="Choose a shorter storage namespace.",
    )


def is_prefix(path: str) -> bool:
    """Returns whether a path stands for all objects below it: it is empty or ends in a slash."""
    return not path or path.endswith("/")


def encode_path(path: str) -> bytes:
    """Returns a path's key in trees and staging areas."""
    return path.encode("utf-8", "surrogateescape")


def decode_key(key: bytes) -> str:
    """Returns a key's path. Bytes that are not UTF-8, which only other programs write, are
    preserved by `encode_path`.
    """
    return key.decode("utf-8", "surrogateescape")
