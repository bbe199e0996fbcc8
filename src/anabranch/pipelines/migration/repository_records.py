"""The records in a repository's partition: which are readable, and which are migrated.

branches/ID, tags/ID, commits/ID     references, checked against their keys
settings/protected_branches          rules of branch protection
repo-metadata                        the repository's metadata
imports/ID, tasks/ID                 states of jobs; only ended jobs are migrated
pulls/ID                             pull requests
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from google.protobuf.message import DecodeError, Message

from anabranch import _kernel as kernel
from anabranch.errors import Corrupt
from anabranch.records import lakefs_pb2 as records
from anabranch.versioning.records import keys, references
from anabranch.versioning.records.entries import entry_from, unreadable
from anabranch.versioning.records.imports import IMPORTS

__all__ = ["OWN_KEYS", "Kind", "check_staged", "classify", "has_own_digest", "omission", "parse"]

OWN_KEYS = (b"uploads/", b"image-builds/", b"workspaces/")
"""The key prefixes that only Anabranch writes into the partition of a repository."""

M = TypeVar("M", bound=Message)

_TASKS = {
    b"GCPC": records.GarbageCollectionPrepareStatus,
    b"DR": records.RepositoryDumpStatus,
    b"RR": records.RepositoryRestoreStatus,
}


class Kind(NamedTuple):
    """A kind of record: its name, and a function that checks key and value and raises Corrupt."""

    name: str
    check: Callable[[bytes, bytes], object]


def classify(key: bytes) -> Kind | None:
    """Returns the kind of a record, or None for a key that lakeFS 1.84 does not write."""
    if key in _SINGLE:
        return _SINGLE[key]
    prefix, slash, _ = key.partition(b"/")
    return _PREFIXES.get(prefix) if slash else None


def omission(kind: Kind, key: bytes, value: bytes) -> str:
    """Returns the reason why a readable record is not migrated, empty if it is."""
    if kind.name == "imports" and not IMPORTS.decode(value).completed:
        return "imports that have not ended; start them again"
    if kind.name == "tasks":
        if not key.startswith(b"tasks/GCPC"):
            return "states of dumps and restores, which lakeFS itself drops after a day"
        if not parse(records.GarbageCollectionPrepareStatus(), value).task.done:
            return "preparations of garbage collection that have not ended; start them again"
    return ""


def check_staged(key: bytes, value: bytes) -> None:
    """Raises Corrupt unless the record of an uncommitted change can be read."""
    try:
        name, staged = kernel.decode_staged(value)
    except kernel.KernelError as error:
        raise unreadable(error) from error
    if name != key:
        raise Corrupt("the path in the record differs from its key")
    if staged is not None:
        entry_from(staged)


def parse(message: M, value: bytes) -> M:
    """Returns the message with the content of a record. Raises Corrupt."""
    try:
        message.ParseFromString(value)
    except DecodeError as error:
        raise Corrupt(f"not a record of type {message.DESCRIPTOR.name}: {error}") from error
    return message


def _require_name(name: bytes, key: bytes, prefix: bytes) -> None:
    """Raises Corrupt unless a key has this name after the prefix."""
    if prefix + name != key:
        raise Corrupt("the name in the record differs from its key")


def _check_branch(key: bytes, value: bytes) -> None:
    branch = references.branch_from(value)
    _require_name(branch.id.encode(), key, b"branches/")
    if not branch.commit_id or not branch.staging_token:
        raise Corrupt("the branch has no commit or no staging area")


def _check_tag(key: bytes, value: bytes) -> None:
    tag = references.tag_from(value)
    _require_name(tag.id.encode(), key, b"tags/")
    if not tag.commit_id:
        raise Corrupt("the tag has no commit")


def _check_commit(key: bytes, value: bytes) -> None:
    _require_name(references.commit_from(value).id.encode(), key, b"commits/")


def has_own_digest(value: bytes) -> bool:
    """Returns whether the id of a commit, given its record, is the digest of its content."""
    commit = references.commit_from(value)
    computed = kernel.commit_id(
        commit.committer,
        commit.message,
        commit.metarange_id,
        commit.creation_date,
        commit.metadata,
        commit.parents,
    )
    return computed == commit.id


def _check_task(key: bytes, value: bytes) -> None:
    task_id = key.removeprefix(b"tasks/")
    for prefix, message in _TASKS.items():
        if task_id.startswith(prefix):
            parse(message(), value)


_SINGLE = {
    keys.METADATA: Kind("metadata", lambda _, value: references.metadata_from(value)),
    keys.PROTECTION: Kind("protection", lambda _, value: references.protection_from(value)),
}
_PREFIXES = {
    b"branches": Kind("branches", _check_branch),
    b"tags": Kind("tags", _check_tag),
    b"commits": Kind("commits", _check_commit),
    b"imports": Kind("imports", lambda _, value: IMPORTS.decode(value)),
    b"tasks": Kind("tasks", _check_task),
    b"pulls": Kind("pulls", lambda _, value: parse(records.PullRequestData(), value)),
}
