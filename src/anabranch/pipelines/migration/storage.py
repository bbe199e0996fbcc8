"""Check whether the objects of repositories can be reached with the settings of a server."""

from __future__ import annotations

from typing import Protocol

import msgspec

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockInfo
from anabranch.blocks.table_addresses import table_address
from anabranch.errors import AnabranchError, Busy, Corrupt, Gone
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.migration.repository_records import parse
from anabranch.pipelines.migration.survey import Source, SurveyedRepository
from anabranch.records import lakefs_pb2 as records
from anabranch.versioning.garbage.stored_rules import rules_address
from anabranch.versioning.records import keys, references

__all__ = ["Objects", "StorageCheck", "stored_record"]


class Objects(Protocol):
    """The methods of a block store that the check uses; see `blocks.contract`."""

    def accepts(self, storage_namespace: str) -> bool:
        """Returns whether a storage namespace can be in this store."""

    def namespace(self, storage_namespace: str) -> str:
        """Returns the prefix of the addresses in a storage namespace."""

    def stat(self, address: str) -> BlockInfo | None:
        """Returns the block's size and time, or None if it does not exist."""

    def read(self, address: str) -> bytes:
        """Returns a block. Raises Gone if it does not exist."""


class StorageCheck:
    """Checks repositories against a block store. `kind` is its type (`blockstore.type`). A bucket
    that is unavailable is not tried again.
    """

    def __init__(self, source: Source, blocks: Objects, kind: str) -> None:
        self._source = source
        self._blocks = blocks
        self._kind = kind
        self._unavailable: dict[str, str] = {}

    def check(self, surveyed: SurveyedRepository) -> None:
        """Sets in the report of a repository whether its objects can be reached, its retention
        rules, and whether its record must be rewritten.
        """
        report = surveyed.report
        namespace = report.storage_namespace
        bucket = "/".join(namespace.split("/", 3)[:3])
        if surveyed.repository.storage_id:
            report.unreachable = (
                f"it is in the store {surveyed.repository.storage_id!r}, but Anabranch has only "
                "one store, without an id"
            )
        elif not self._blocks.accepts(namespace):
            report.unreachable = f"it cannot be in a store of type {self._kind} (blockstore.type)"
        elif bucket in self._unavailable:
            report.unreachable = self._unavailable[bucket]
        else:
            repository = self.normalized(surveyed.repository)
            report.normalized = repository != surveyed.repository
            try:
                report.unreachable = self._missing_table(repository)
                report.retention = self._retention(repository)
            except AnabranchError as error:
                report.unreachable = error.message
                if isinstance(error, Busy):
                    self._unavailable[bucket] = f"{bucket} is unavailable, as above"

    def normalized(self, repository: Repository) -> Repository:
        """Returns a repository with the normalized storage namespace of this store, and with the
        one that clients see, if the two differ.
        """
        shown = repository.shown_namespace
        if not self._blocks.accepts(shown):
            return repository
        namespace = self._blocks.namespace(shown)
        if namespace == repository.storage_namespace:
            return repository
        return msgspec.structs.replace(
            repository,
            storage_namespace=namespace,
            written_namespace="" if shown == namespace else shown,
        )

    def _missing_table(self, repository: Repository) -> str:
        """Returns a message if the tree of the default branch is missing, otherwise ""."""
        raw = self._source.get(repository.partition, keys.branch(repository.default_branch))
        if raw is None:
            return ""
        try:
            commit = keys.commit(references.branch_from(raw).commit_id)
            record = self._source.get(repository.partition, commit)
            tree = "" if record is None else references.commit_from(record).metarange_id
        except Corrupt:
            return ""  # the report names the record
        if tree in {"", kernel.EMPTY_TREE_ID}:
            return ""
        address = table_address(repository.storage_namespace, tree)
        if self._blocks.stat(address) is not None:
            return ""
        return f"{address} does not exist; is the store in the settings lakeFS's?"

    def _retention(self, repository: Repository) -> str:
        try:
            raw = self._blocks.read(rules_address(repository))
        except Gone:
            return "none"
        if not raw:
            return "none"
        try:
            rules = parse(records.GarbageCollectionRules(), raw)
        except Corrupt as error:
            return f"unreadable: {error.message}"
        text, number = f"{rules.default_retention_days} days", len(rules.branch_retention_days)
        if number:
            text += f", {number} {'branch' if number == 1 else 'branches'} otherwise"
        return text


def stored_record(surveyed: SurveyedRepository, storage: StorageCheck) -> bytes:
    """Returns the record of a repository for a target: unchanged, unless the storage namespace is
    normalized.
    """
    repository = storage.normalized(surveyed.repository)
    if repository == surveyed.repository:
        return surveyed.record
    return references.repository_bytes(repository)
