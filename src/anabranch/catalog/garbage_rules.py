"""Rules of garbage collection: for how many days branches keep what they have left behind.

They lie in the repository's storage namespace, as lakeFS 1.84 has them: a protobuf record, whatever
the name of its file says, and an empty file where rules were deleted.
"""

from __future__ import annotations

from google.protobuf.message import DecodeError

from anabranch.blocks.contract import BlockStore
from anabranch.errors import Corrupt, Gone, NotFound, ReadOnlyRepository
from anabranch.model.repository import Repository
from anabranch.model.retention import RetentionRules
from anabranch.model.uri import IMAGES
from anabranch.records import lakefs_pb2 as records
from anabranch.versioning.core import Core
from anabranch.versioning.retention import active_commits, lines_of

__all__ = ["RETENTION", "GarbageRules"]

RETENTION = "_lakefs/retention/gc"
"""The folder of everything about garbage collection, in a storage namespace."""

_RULES = f"{RETENTION}/rules/config.json"
_IMAGE_DAYS = 1
"""One that is being built has a commit before it has a tag."""


class GarbageRules:
    """The use cases of the rules."""

    def __init__(self, core: Core, blocks: BlockStore) -> None:
        self._core = core
        self._blocks = blocks

    def get(self, repository: str) -> RetentionRules:
        """Returns a repository's rules. Raises NotFound (kind gc_rules_not_found)."""
        rules = self.find(self._core.repositories.get(repository))
        if rules is None:
            raise NotFound("not found", kind="gc_rules_not_found", hint="No rules have been set.")
        return rules

    def set(self, repository: str, rules: RetentionRules) -> None:
        """Puts rules in place of those that are there. Raises ReadOnlyRepository, which nothing
        forces.
        """
        message = records.GarbageCollectionRules(
            default_retention_days=rules.default_days, branch_retention_days=rules.branch_days
        )
        self._write(repository, message.SerializeToString(deterministic=True))

    def delete(self, repository: str) -> None:
        """Removes the rules; that there are none is no error. Raises ReadOnlyRepository."""
        self._write(repository, b"")

    def find(self, repository: Repository) -> RetentionRules | None:
        """Returns a repository's rules, or None. That of images always has some: an image lives as
        long as its tag, and a day longer. Raises Corrupt.
        """
        if repository.id == IMAGES and repository.read_only:
            return RetentionRules(_IMAGE_DAYS)
        try:
            raw = self._blocks.read(_address(repository))
        except Gone:
            return None
        message = records.GarbageCollectionRules()
        try:
            message.ParseFromString(raw)
        except DecodeError as error:
            address = _address(repository)
            raise Corrupt(
                f"{address}: the rules of garbage collection cannot be read: {error}", path=address
            ) from error
        if not raw:
            return None
        return RetentionRules(message.default_retention_days, dict(message.branch_retention_days))

    def expired(self, repository: Repository, commit_id: str, now: float) -> bool:
        """Returns whether a commit has expired by the rules, so that objects of it may be removed
        already, or be about to be; `now` in seconds since 1970. Raises Corrupt.
        """
        rules = self.find(repository)
        if rules is None:
            return False
        branches = list(self._core.branches.all(repository))
        tagged = [tag.commit_id for tag in self._core.tags.all(repository)]
        # commits last: every commit that a branch or a tag named is among them
        lines = lines_of(self._core.commits, repository)
        return commit_id not in active_commits(lines, branches, tagged, rules, now)

    def _write(self, repository: str, record: bytes) -> None:
        found = self._core.repositories.get(repository)
        if found.read_only:
            raise ReadOnlyRepository("read-only repository", hint="")
        self._blocks.put(_address(found), [record])


def _address(repository: Repository) -> str:
    return f"{repository.storage_namespace.rstrip('/')}/{_RULES}"
