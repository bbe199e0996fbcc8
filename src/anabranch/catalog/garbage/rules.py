"""Use cases of retention rules: for how many days branches keep replaced commits."""

from __future__ import annotations

from anabranch.blocks.contract import BlockStore
from anabranch.errors import Gone, NotFound, ReadOnlyRepository
from anabranch.model.references.operation import SettingChanged
from anabranch.model.repositories.retention import RetentionRules
from anabranch.records import lakefs_pb2 as records
from anabranch.versioning.core import Core
from anabranch.versioning.garbage.stored_rules import rules_address
from anabranch.versioning.operations.logged_records import GARBAGE_RULES

__all__ = ["GarbageRules"]


class GarbageRules:
    """Use cases of retention rules."""

    def __init__(self, core: Core, blocks: BlockStore) -> None:
        self._core = core
        self._blocks = blocks

    def get(self, repository: str) -> RetentionRules:
        """Returns a repository's rules. Raises NotFound (kind gc_rules_not_found)."""
        rules = self._core.rules.find(self._core.repositories.get(repository))
        if rules is None:
            raise NotFound("not found", kind="gc_rules_not_found", hint="No rules have been set.")
        return rules

    def set(self, repository: str, rules: RetentionRules) -> None:
        """Replaces the rules. Raises ReadOnlyRepository, which no caller can override, and Conflict
        (kind sweep_under_way) while a collection deletes objects by the current rules.
        """
        message = records.GarbageCollectionRules(
            default_retention_days=rules.default_days, branch_retention_days=rules.branch_days
        )
        self._write(repository, message.SerializeToString(deterministic=True))

    def delete(self, repository: str) -> None:
        """Removes the rules, if there are any. Raises as `set` does."""
        self._write(repository, b"")

    def change_back(self, repository: str, change: SettingChanged) -> bool:
        """Changes the rules back to what they were before a change; returns whether they were as it
        has left them. Raises as `set` does.
        """
        return self._write(repository, change.before or b"", expected=change.after)

    def _write(self, repository: str, record: bytes, expected: bytes | None = None) -> bool:
        """Replaces the rules' record, if it is as `expected`, None being any; returns whether."""
        stored_repository = self._core.repositories.get(repository)
        if stored_repository.read_only:
            raise ReadOnlyRepository("read-only repository", hint="")
        with self._core.sweeps.block_sweeps(self._core.identifiers.xid()):
            address = rules_address(stored_repository)
            before = self._read(address)
            if expected is not None and (before or b"") != expected:
                return False
            if before != record:
                # before the file: the log must not miss a change
                change = SettingChanged(GARBAGE_RULES, "", before, record)
                self._core.keyvalue.record(stored_repository.partition, change)
            self._blocks.put(address, [record])
        return True

    def _read(self, address: str) -> bytes | None:
        try:
            return self._blocks.read(address)
        except Gone:
            return None
