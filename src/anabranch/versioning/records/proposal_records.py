"""Records of proposals, which `proposals` describes: the time at which one expires, in seconds
since 1970, and the record of its commit.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from anabranch.keyvalue.contract import KeyValueStore
from anabranch.model.commits.commit import Commit
from anabranch.model.page import upper_bound
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.records import references
from anabranch.versioning.records.keys import PROPOSALS, proposal

__all__ = ["expiry_of", "proposal_bytes", "read_proposal", "read_proposals"]

_HEADER = struct.Struct(">Q")


def proposal_bytes(commit: Commit, until: int) -> bytes:
    """Returns the record of a proposal that expires at a time."""
    return _HEADER.pack(until) + references.commit_bytes(commit)


def expiry_of(raw: bytes) -> int:
    """Returns the time at which the proposal of a record expires."""
    until: int = _HEADER.unpack_from(raw)[0]
    return until


def read_proposal(keyvalue: KeyValueStore, repository: Repository, commit_id: str) -> Commit | None:
    """Returns the proposal with this id, or None."""
    stem = proposal(repository.partition, commit_id)
    for _, raw in keyvalue.scan(PROPOSALS, stem, upper_bound(stem), limit=1):
        return references.commit_from(raw[_HEADER.size :])
    return None


def read_proposals(keyvalue: KeyValueStore, repository: Repository) -> Iterator[Commit]:
    """Yields the proposals of a repository; one that is examined twice, twice."""
    stem = proposal(repository.partition)
    for _, raw in keyvalue.scan(PROPOSALS, stem, upper_bound(stem)):
        yield references.commit_from(raw[_HEADER.size :])
