"""The stored form of references: lakeFS's protobuf records."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache

from google.protobuf.message import DecodeError, Message

from anabranch.errors import Corrupt
from anabranch.model.commits.commit import Commit
from anabranch.model.references.branch import Branch
from anabranch.model.references.protection import NO_RULES, Blocked, ProtectionRules
from anabranch.model.references.tag import Tag
from anabranch.model.repositories.repository import Repository
from anabranch.records import lakefs_pb2 as records

__all__ = [
    "branch_bytes",
    "branch_from",
    "commit_bytes",
    "commit_from",
    "metadata_bytes",
    "metadata_from",
    "protection_bytes",
    "protection_from",
    "repository_bytes",
    "repository_from",
    "tag_bytes",
    "tag_from",
]

# most requests read the same few records; equal bytes give the same frozen structure
_CACHE_SIZE = 4096


def _bytes(message: Message) -> bytes:
    return message.SerializeToString(deterministic=True)


def _parse(message: Message, raw: bytes) -> None:
    try:
        message.ParseFromString(raw)
    except DecodeError as error:
        raise Corrupt(
            f"a {message.DESCRIPTOR.name} record in the key-value store cannot be read: {error}"
        ) from error


def repository_bytes(repository: Repository) -> bytes:
    """Returns a repository's record."""
    message = records.RepositoryData(
        id=repository.id,
        storage_namespace=repository.shown_namespace,
        address_namespace=repository.storage_namespace if repository.written_namespace else "",
        default_branch_id=repository.default_branch,
        state=records.RepositoryData.IN_DELETION
        if repository.in_deletion
        else records.RepositoryData.ACTIVE,
        instance_uid=repository.instance_uid,
        read_only=repository.read_only,
        storage_id=repository.storage_id,
    )
    message.creation_date.seconds = repository.creation_date
    return _bytes(message)


@lru_cache(_CACHE_SIZE)
def repository_from(raw: bytes) -> Repository:
    """Returns the repository of a record."""
    message = records.RepositoryData()
    _parse(message, raw)
    return Repository(
        id=message.id,
        storage_namespace=message.address_namespace or message.storage_namespace,
        written_namespace=message.storage_namespace if message.address_namespace else "",
        default_branch=message.default_branch_id,
        creation_date=message.creation_date.seconds,
        instance_uid=message.instance_uid,
        read_only=message.read_only,
        in_deletion=bool(message.state),
        storage_id=message.storage_id,
    )


def branch_bytes(branch: Branch) -> bytes:
    """Returns a branch's record."""
    return _bytes(
        records.BranchData(
            id=branch.id,
            commit_id=branch.commit_id,
            staging_token=branch.staging_token,
            sealed_tokens=branch.sealed_tokens,
            hidden=branch.hidden,
            expires_at=branch.expires_at,
        )
    )


@lru_cache(_CACHE_SIZE)
def branch_from(raw: bytes) -> Branch:
    """Returns the branch of a record."""
    message = records.BranchData()
    _parse(message, raw)
    return Branch(
        id=message.id,
        commit_id=message.commit_id,
        staging_token=message.staging_token,
        sealed_tokens=tuple(message.sealed_tokens),
        hidden=message.hidden,
        expires_at=message.expires_at,
    )


def tag_bytes(tag: Tag) -> bytes:
    """Returns a tag's record."""
    return _bytes(records.TagData(id=tag.id, commit_id=tag.commit_id))


def tag_from(raw: bytes) -> Tag:
    """Returns the tag of a record."""
    message = records.TagData()
    _parse(message, raw)
    return Tag(id=message.id, commit_id=message.commit_id)


def commit_bytes(commit: Commit) -> bytes:
    """Returns a commit's record."""
    message = records.CommitData(
        id=commit.id,
        committer=commit.committer,
        message=commit.message,
        meta_range_id=commit.metarange_id,
        metadata=commit.metadata,
        parents=commit.parents,
        version=commit.version,
        generation=commit.generation,
    )
    message.creation_date.seconds = commit.creation_date
    message.creation_date.nanos = commit.nanos
    return _bytes(message)


def commit_from(raw: bytes) -> Commit:
    """Returns the commit of a record."""
    message = records.CommitData()
    _parse(message, raw)
    return Commit(
        id=message.id,
        committer=message.committer,
        message=message.message,
        creation_date=message.creation_date.seconds,
        nanos=message.creation_date.nanos,
        metarange_id=message.meta_range_id,
        parents=tuple(message.parents),
        metadata=dict(message.metadata),
        version=message.version,
        generation=message.generation,
    )


def metadata_bytes(metadata: dict[str, str]) -> bytes:
    """Returns the record of a repository's metadata."""
    return _bytes(records.RepoMetadata(metadata=metadata))


def metadata_from(raw: bytes | None) -> dict[str, str]:
    """Returns the metadata of a record; empty without a record."""
    message = records.RepoMetadata()
    _parse(message, raw or b"")
    return dict(message.metadata)


def protection_bytes(
    blocked: Mapping[str, frozenset[Blocked]], approvals: Mapping[str, int]
) -> bytes:
    """Returns the record of the actions that each pattern of branch names blocks, and of the
    numbers of approvals that some require, in a field that lakeFS's reader passes over.
    """
    message = records.BranchProtectionRules()
    for pattern, actions in blocked.items():
        names = [action.name for action in sorted(actions)]
        rule = records.BranchProtectionBlockedActions(
            value=names, required_approvals=approvals.get(pattern, 0)
        )
        message.branch_pattern_to_blocked_actions[pattern].CopyFrom(rule)
    return _bytes(message)


def protection_from(raw: bytes | None) -> ProtectionRules:
    """Returns the rules of a record; empty without a record. Their ETag is the SHA-256 of the
    stored record, as in lakeFS.
    """
    if raw is None:
        return NO_RULES
    message = records.BranchProtectionRules()
    _parse(message, raw)
    known = {int(action) for action in Blocked}
    blocked = {
        pattern: frozenset(Blocked(number) for number in actions.value if number in known)
        for pattern, actions in message.branch_pattern_to_blocked_actions.items()
    }
    approvals = {
        pattern: actions.required_approvals
        for pattern, actions in message.branch_pattern_to_blocked_actions.items()
        if actions.required_approvals > 0
    }
    return ProtectionRules(blocked, hashlib.sha256(raw).hexdigest(), approvals)
