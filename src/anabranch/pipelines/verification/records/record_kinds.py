"""The kinds of records in the key-value store, and how to find out whether one can be read.

A key that no kind describes, of another program or of a later version, is left alone.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from google.protobuf.message import DecodeError, Message

from anabranch import _kernel as kernel
from anabranch.access.identities.users import decode_user
from anabranch.access.policies.policies import decode_policy
from anabranch.actions.queue.queue import QUEUED_DECODER
from anabranch.errors import AnabranchError, Corrupt
from anabranch.model.caller import Principal
from anabranch.model.notifications import NotificationTarget
from anabranch.model.recorded_response import RecordedResponse
from anabranch.model.repositories.deleted_repository import DeletedRepository
from anabranch.model.repositories.purge import LeftNamespace
from anabranch.pipelines.migration.repository_records import check_staged
from anabranch.pipelines.migration.repository_records import classify as classify_lakefs
from anabranch.pipelines.verification.inspected import is_staging_area
from anabranch.records import lakefs_pb2 as records
from anabranch.versioning.operations.record import LOG, operation_from
from anabranch.versioning.records import keys, references
from anabranch.versioning.records.branch_ends import ends_from
from anabranch.versioning.records.expiring_branches import DueBranch
from anabranch.versioning.records.image_builds import IMAGE_BUILDS
from anabranch.versioning.records.proposal_records import expiry_of
from anabranch.versioning.records.pulls import comment_from, review_from
from anabranch.versioning.records.uploads import checksum_from, finish_from, upload_from
from anabranch.versioning.records.workspaces import (
    reads_from,
    workspace_from,
    workspace_key_from,
)
from anabranch.versioning.repositories.deleted import DELETED_REPOSITORIES

__all__ = ["check_record"]

_Check = Callable[[bytes, bytes], object]
"""Raises for a key and a value that are no record of its kind."""

_UNREADABLE = (
    AnabranchError,
    DecodeError,
    LookupError,
    OverflowError,
    kernel.KernelError,
    msgspec.MsgspecError,
    struct.error,
    ValueError,
)
_PROPOSAL_HEADER = 8


class _Pin(msgspec.Struct, frozen=True):
    commits: list[str]
    until: int


def _message(kind: Callable[[], Message]) -> _Check:
    def parse(_: bytes, value: bytes) -> None:
        kind().ParseFromString(value)

    return parse


def _value(decode: Callable[[bytes], object]) -> _Check:
    return lambda _, value: decode(value)


def _require_empty(_: bytes, value: bytes) -> None:
    if value:
        raise Corrupt("the value is not empty")


def _require_mark(_: bytes, value: bytes) -> None:
    if value not in {b"-", b"+"}:
        raise Corrupt("the value is no mark")


def _check_repository(key: bytes, value: bytes) -> None:
    if keys.repository(references.repository_from(value).id) != key:
        raise Corrupt("the name in the record differs from its key")


def _check_proposal(_: bytes, value: bytes) -> None:
    expiry_of(value)
    references.commit_from(value[_PROPOSAL_HEADER:])


def _check_operation_index(_: bytes, value: bytes) -> None:
    value.decode("ascii")


def _check_claims_or_left(key: bytes, value: bytes) -> None:
    (_LEFT if key.startswith(b"left/") else _CLAIMS)(key, value)


def _check_action(key: bytes, value: bytes) -> None:
    kind = key.removeprefix(b"repos/").split(b"/")[1]
    message = {b"runs": records.RunResultData, b"tasks": records.TaskResultData}.get(kind)
    _message(message or records.SecondaryIndex)(key, value)


def _check_access(key: bytes, value: bytes) -> None:
    kind = key.partition(b"/")[0]
    if kind == b"users":
        decode_user(value)
    elif kind == b"policies":
        decode_policy(key.decode("utf-8", "replace"), value)
    elif kind == b"groups":
        _message(records.GroupData)(key, value)
    elif kind == b"uCredentials":
        _message(records.CredentialData)(key, value)


_LEFT = _value(msgspec.json.Decoder(LeftNamespace).decode)
_CLAIMS = _value(msgspec.json.Decoder(dict[str, Any]).decode)
_OBJECT = _value(msgspec.json.Decoder(dict[str, Any]).decode)
_NUMBER = _value(int)

_PARTITIONS: Mapping[str, _Check] = {
    keys.GRAVELER: _check_repository,
    keys.ACTIONS: _check_action,
    keys.EXPIRING_BRANCHES: _value(msgspec.json.Decoder(DueBranch).decode),
    keys.PROPOSALS: _check_proposal,
    keys.PULLS_BY_BRANCHES: _message(records.SecondaryIndex),
    keys.UPLOADS: _value(upload_from),
    keys.FINISHED_UPLOADS: _value(finish_from),
    keys.WORKSPACE_KEYS: _value(workspace_key_from),
    "anabranch-creations": _OBJECT,
    "anabranch-post-hooks": _value(QUEUED_DECODER.decode),
    "anabranch-running-actions": _OBJECT,
    "anabranch-outbox": _OBJECT,
    "anabranch-usage": _NUMBER,
    "anabranch-restored": _NUMBER,
    "anabranch-pins": _value(msgspec.json.Decoder(_Pin).decode),
    "anabranch-swept": _require_mark,
    "anabranch-sweeps": _value(msgspec.json.Decoder(dict[str, int]).decode),
    "anabranch-sweep-namespaces": _OBJECT,
    "anabranch-namespaces": _check_claims_or_left,
    DELETED_REPOSITORIES: _value(msgspec.json.Decoder(DeletedRepository).decode),
    "auth": _check_access,
    "basicAuth": _check_access,
}
_IDEMPOTENCY: Mapping[bytes, _Check] = {
    b"keys": _value(msgspec.json.Decoder(RecordedResponse).decode),
    b"times": _require_empty,
}
_OPERATIONS: Mapping[bytes, _Check] = {
    LOG.rstrip(b"/"): operation_from,
    b"by-reference": _check_operation_index,
    b"since": _NUMBER,
    b"undo-days": _NUMBER,
}
_OF_REPOSITORIES: Mapping[bytes, _Check] = {
    b"image-builds": _value(IMAGE_BUILDS.decode),
    b"pull-comments": _value(comment_from),
    b"pull-reviews": _value(review_from),
    b"workspaces": _value(workspace_from),
    b"workspace-reads": _value(reads_from),
    b"pull-reads": _value(reads_from),
    b"uploads": _require_empty,
    b"commit-authors": _value(msgspec.json.Decoder(tuple[Principal, ...]).decode),
    keys.RESTORED_BY: _value(msgspec.json.Decoder(tuple[Principal, ...]).decode),
    keys.BRANCH_ENDS: _value(ends_from),
    keys.NOTIFICATIONS: _value(msgspec.json.Decoder(tuple[NotificationTarget, ...]).decode),
}


def check_record(partition: str, key: bytes, value: bytes, *, of_repository: bool) -> str:
    """Returns why a record cannot be read, empty if it can, or if nothing is known of its kind."""
    check = _check_of(partition, key, of_repository=of_repository)
    if check is None:
        return ""
    try:
        check(key, value)
    except _UNREADABLE as error:
        return str(error) or type(error).__name__
    return ""


def _check_of(partition: str, key: bytes, *, of_repository: bool) -> _Check | None:
    kind = key.partition(b"/")[0]
    if of_repository:
        lakefs = classify_lakefs(key)
        return _OF_REPOSITORIES.get(kind) if lakefs is None else lakefs.check
    if is_staging_area(partition):
        return check_staged
    if partition in _PARTITIONS:
        return _PARTITIONS[partition]
    for prefix, kinds in (
        ("idempotency-keys", _IDEMPOTENCY),
        ("anabranch-operations:", _OPERATIONS),
    ):
        if partition.startswith(prefix):
            return kinds.get(kind)
    if partition.startswith("multiparts-parts:"):
        return _value(checksum_from)
    return _require_mark if partition.startswith("anabranch-sweeps/") else None
