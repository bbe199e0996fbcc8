"""Merges three trees by the rules of a merge.

If nothing conflicts, or one strategy decides for all paths, the kernel writes the merge. Otherwise
the conflicts are settled one by one; if all are, the kernel writes the merge with the destination's
side of them, and the outcomes are applied to it.

New content is stored after the last conflict was settled. If the merge then fails, it is removed.

A merge that is refused ends with the conflicts that it reports: it does not count the others, which
a preview does.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockStore
from anabranch.errors import Invalid, MergeConflict, OutcomeUnknown
from anabranch.files.work_folders import WorkFolder
from anabranch.model.commits.conflict import MergePreview
from anabranch.model.names import decode_key, encode_path
from anabranch.model.objects.entry import Entry, physical_address
from anabranch.model.repositories.repository import Repository
from anabranch.model.tables.table_record import RECORDS_ROOT
from anabranch.outbound.address_guard import AddressGuard
from anabranch.versioning.identifiers import Identifiers
from anabranch.versioning.merging.conflicts import MergeTrees, SideTree
from anabranch.versioning.merging.merged_tree import WriteMerge
from anabranch.versioning.merging.rules import CATALOG_RULES, MergeRules, Rule, outdated
from anabranch.versioning.merging.rules_file import (
    MAX_BYTES,
    RULES_FILE,
    invalid_file,
    parse_rules,
    too_long,
)
from anabranch.versioning.merging.settlement import MAX_CONFLICTS, Settlement, Settler
from anabranch.versioning.merging.strategy_output import NewContent, Outcome
from anabranch.versioning.merging.table_files import TableFiles
from anabranch.versioning.records.entries import Value, entry_from, entry_value
from anabranch.versioning.strategies.table_processes.table_processes import TableProcesses
from anabranch.versioning.trees.trees import Trees

__all__ = ["MAX_PATHS", "TreeMerger", "TreeMergers"]

MAX_PATHS = 100
"""How many conflicting paths a merge without rules for single paths reports."""

_PIECE_BYTES = 1 << 20
_RULES_KEY = encode_path(RULES_FILE)


class TreeMergers:
    """Makes the tree mergers of operations. `guard` decides where webhooks may lead;
    `processes` merge tables.
    """

    def __init__(
        self,
        blocks: BlockStore,
        trees: Trees,
        identifiers: Identifiers,
        guard: AddressGuard,
        processes: TableProcesses,
    ) -> None:
        self._blocks = blocks
        self._trees = trees
        self._identifiers = identifiers
        self._guard = guard
        self.processes = processes

    @contextmanager
    def open(self, repository: Repository, rules: MergeRules) -> Iterator[TreeMerger]:
        """Yields the tree merger of an operation. When the operation fails, the content that it has
        stored is removed.
        """
        merger = TreeMerger(
            self._blocks,
            self._trees,
            self._identifiers,
            self._guard,
            self.processes,
            repository,
            rules,
        )
        try:
            yield merger
        except OutcomeUnknown:
            raise  # the commit may refer to the content
        except Exception:
            merger.begin()
            merger.remove_unused()
            raise
        else:
            merger.remove_unused()
        finally:
            merger.close()


class TreeMerger:
    """Merges trees of a repository for one operation, which may be attempted several times."""

    def __init__(
        self,
        blocks: BlockStore,
        trees: Trees,
        identifiers: Identifiers,
        guard: AddressGuard,
        processes: TableProcesses,
        repository: Repository,
        rules: MergeRules,
    ) -> None:
        self.rules = rules
        self._blocks = blocks
        self._trees = trees
        self._identifiers = identifiers
        self._guard = guard
        self._processes = processes
        self._repository = repository
        self._work: WorkFolder | None = None
        self._settler: Settler | None = None
        self._merged: dict[tuple[str, str, str], str] = {}
        self._stored: dict[Path, Entry] = {}
        self._new: dict[tuple[str, str, str], list[str]] = {}
        self._chosen: dict[tuple[str, str, str], set[str]] = {}
        self._used: list[tuple[str, str, str]] = []

    def begin(self) -> None:
        """Begins an attempt of the operation: the trees that earlier ones made are not used."""
        self._used.clear()

    def open(self, destination: SideTree, source: SideTree, base: SideTree) -> MergeTrees:
        """Returns three trees."""
        return MergeTrees(
            *(self._blocks, self._repository, self._trees),
            base=self._trees.open(self._repository, base.metarange_id),
            source=self._trees.open(self._repository, source.metarange_id),
            destination=self._trees.open(self._repository, destination.metarange_id),
            commits={
                "base": base.commit_id,
                "source": source.commit_id,
                "destination": destination.commit_id,
            },
        )

    def merge(self, destination: SideTree, source: SideTree, base: SideTree) -> str:
        """Merges three trees, and returns the metarange id of the result.

        Raises MergeConflict with the first conflicts that stay open, Invalid for a file of rules
        that is invalid (kind invalid_merge_rules).
        """
        ids = destination.metarange_id, source.metarange_id, base.metarange_id
        if destination.metarange_id == base.metarange_id:
            return source.metarange_id
        if ids not in self._merged:
            self._merged[ids] = self._merge(ids, self.open(destination, source, base))
        self._used.append(ids)
        return self._merged[ids]

    def require_chosen(self) -> None:
        """Raises Conflict (kind outdated_choices) for a rule for certain versions of a path that
        was not in conflict in this attempt.
        """
        self._require_chosen({path for ids in self._used for path in self._chosen.get(ids, ())})

    def _require_chosen(self, chosen: Collection[str]) -> None:
        for rule in self.rules.rules:
            if rule.versions is not None and rule.path not in chosen:
                raise outdated(f"{rule.path!r} is not in conflict")

    def reads_content(self, destination: str) -> bool:
        """Returns whether a rule of a merge into the tree of that id reads objects."""
        if any(rule.reads_content for rule in self.rules.rules):
            return True
        tree = self._trees.open(self._repository, destination)
        if not self.rules.strategy and self._has_tables(tree):
            return True
        value = self._trees.read(tree.get, _RULES_KEY)
        try:
            return value is not None and any(map(_reads_content, self._read_rules(value)))
        except Invalid:
            return False  # the merge says what is wrong

    def _has_tables(self, tree: kernel.Tree) -> bool:
        """Returns whether there may be records of tables in a tree."""
        page = tree.listing(prefix=encode_path(RECORDS_ROOT), after=b"", amount=1)
        page.feed([], last=True)
        return bool(list(page.rows()))

    def preview(self, destination: SideTree, source: SideTree, base: SideTree) -> MergePreview:
        """Returns what `merge` would do. Raises Invalid as it does."""
        trees = self.open(destination, source, base)
        rules = self._rules_for(trees)
        added, changed, removed, conflict_count = trees.counts()
        if not rules.rules and not rules.strategy:
            open_ones = trees.conflict_page(prefix="", after="", amount=MAX_CONFLICTS).items
            return MergePreview(added, changed, removed, [], open_ones, conflict_count)
        settlement = self._settle(trees, rules, to_the_end=True)
        self._require_chosen(settlement.chosen)
        return MergePreview(
            *(added, changed, removed),
            settlement.settled,
            settlement.conflicts,
            settlement.conflict_count,
        )

    def new_content(self) -> list[str]:
        """Returns the addresses of the objects in this attempt's trees to which neither source nor
        destination refer.
        """
        return sorted(self._used_addresses())

    def remove_unused(self) -> None:
        """Removes the content that was stored for merges which the last attempt did not use."""
        used = self._used_addresses()
        stored = {self._address(entry) for entry in self._stored.values()}
        if stored - used:
            self._blocks.delete(sorted(stored - used))

    def _used_addresses(self) -> set[str]:
        return {address for ids in self._used for address in self._new.get(ids, ())}

    def close(self) -> None:
        """Removes temporary files."""
        if self._work is not None:
            self._work.close()

    def _rules_for(self, trees: MergeTrees) -> MergeRules:
        """Returns the rules of the request, those of the destination's file, and those that there
        are without them.
        """
        rules = self._given_rules(trees)
        if rules.strategy or not trees.conflicts(prefix=RECORDS_ROOT, amount=1)[0]:
            return rules
        return rules.followed_by(CATALOG_RULES)

    def _given_rules(self, trees: MergeTrees) -> MergeRules:
        """Returns the rules of the request and those of the destination's file."""
        value = trees.get("destination", RULES_FILE)
        if value is None:
            return self.rules
        try:
            return self.rules.followed_by(self._read_rules(value))
        except Invalid as error:
            # an invalid file is corrected by a merge, too, unless that has conflicts
            changed = trees.get("source", RULES_FILE)
            if changed in (value, trees.get("base", RULES_FILE)) or trees.have_conflicts():
                if self.rules.rights.may_read(RULES_FILE):
                    raise
                raise invalid_file() from error  # the error quotes the file
            return self.rules

    def _read_rules(self, value: Value) -> Sequence[Rule]:
        entry = entry_from(value)
        if entry.size > MAX_BYTES:
            raise too_long(entry.size)
        return parse_rules(self._blocks.read(self._address(entry), 0, entry.size))

    def _merge(self, ids: tuple[str, str, str], trees: MergeTrees) -> str:
        rules = self._rules_for(trees)
        plan = WriteMerge(trees, rules.strategy, MAX_PATHS)
        if rules.rules:
            plan = WriteMerge(trees, "", 0)  # whether there are conflicts
        merged = self._trees.write(self._repository, plan).merged
        if merged.written is not None:
            return merged.written.metarange_id or self._trees.write_empty(self._repository)
        if not rules.rules:
            raise MergeConflict(
                "conflict found",
                paths=[decode_key(key) for key in merged.conflicts],
                count=None if merged.has_more else len(merged.conflicts),
            )
        settlement = self._settle(trees, rules, to_the_end=False)
        if settlement.conflicts:
            raise _merge_conflict(settlement)
        self._chosen[ids] = settlement.chosen
        files = TableFiles(self._blocks, self._repository)
        for (area, path), file in settlement.table_files.items():
            files.put(area, path, file)  # it stays: another merge may make the same file
        outcomes = settlement.outcomes
        changes = [(path, self._stored_value(path, outcomes[path], trees)) for path in outcomes]
        self._new[ids] = self._new_addresses(changes, trees)
        return self._write(trees, changes)

    def _settle(self, trees: MergeTrees, rules: MergeRules, *, to_the_end: bool) -> Settlement:
        if self._work is None:
            self._work = WorkFolder("merge")
            self._settler = Settler(self._work.path, self._guard, self._processes)
        assert self._settler is not None  # noqa: S101  it is made with the folder
        return self._settler.settle(trees, rules, to_the_end=to_the_end)

    def _stored_value(self, path: str, outcome: Outcome, trees: MergeTrees) -> Value | None:
        """Returns the value of an outcome. New content is stored, unless a side has it already."""
        if not isinstance(outcome, NewContent):
            return outcome
        with outcome.file.open("rb") as file:
            checksum = hashlib.file_digest(file, "md5").hexdigest()
        size = outcome.file.stat().st_size
        for side in ("destination", "source"):
            value = trees.get(side, path)
            known = None if value is None else entry_from(value)
            if known is not None and (known.checksum, known.size) == (checksum, size):
                return value
        if outcome.file not in self._stored:
            self._stored[outcome.file] = self._store(outcome)
        return entry_value(self._stored[outcome.file])

    def _store(self, content: NewContent) -> Entry:
        address = self._identifiers.data_address()
        block = physical_address(self._repository.storage_namespace, address, 1)
        stored = self._blocks.put(block, _pieces(content.file), unique_address=True)
        return Entry(
            address=address,
            size=stored.size,
            mtime=int(time.time()),
            checksum=stored.checksum,
            metadata=dict(content.metadata),
            content_type=content.content_type,
        )

    def _new_addresses(
        self, changes: Sequence[tuple[str, Value | None]], trees: MergeTrees
    ) -> list[str]:
        """Returns the addresses to which neither source nor destination refer at their paths."""
        new = []
        for path, value in changes:
            sides = trees.get("destination", path), trees.get("source", path)
            if value is not None and value not in sides:
                new.append(self._address(entry_from(value)))
        return new

    def _write(self, trees: MergeTrees, changes: Sequence[tuple[str, Value | None]]) -> str:
        """Writes the merge with the changes applied and returns its metarange id."""
        rows = sorted((encode_path(path), value) for path, value in changes)
        with self._trees.scratch() as folder:
            merged, applied = self._trees.read(self._write_tables, trees, rows, folder)
            result = self._trees.open_overlay(folder, self._repository, applied.metarange_id)
            tables = {applied.metarange_id, *(table.id for table in result.ranges())}
            new = tables.intersection((*merged.tables, *applied.tables))
            return self._trees.adopt(
                self._repository, folder, _NewTables(applied.metarange_id, sorted(new))
            )

    def _write_tables(
        self, trees: MergeTrees, rows: Sequence[tuple[bytes, Value | None]], folder: str
    ) -> tuple[kernel.Written, kernel.Written]:
        """Writes the merge with the destination's side of conflicts, and with changes applied."""
        merged = trees.destination.merge(
            trees.source, trees.base, folder, strategy="dest-wins"
        ).written
        assert merged is not None  # noqa: S101  the strategy decides all conflicts
        tree = self._trees.open_overlay(folder, self._repository, merged.metarange_id)
        return merged, tree.apply(rows, folder)

    def _address(self, entry: Entry) -> str:
        return physical_address(
            self._repository.storage_namespace, entry.address, entry.address_type
        )


def _reads_content(rule: Rule) -> bool:
    return rule.reads_content


class _NewTables(NamedTuple):
    metarange_id: str
    tables: list[str]


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_PIECE_BYTES):
            yield piece


def _merge_conflict(settlement: Settlement) -> MergeConflict:
    conflicts = settlement.conflicts
    reasons = [f"{each.path}: {each.reason}" for each in conflicts if each.reason]
    return MergeConflict(
        ": ".join(["conflict found", *reasons[:1]]),
        paths=[conflict.path for conflict in conflicts],
        count=None if settlement.has_more else settlement.conflict_count,
        conflicts=conflicts,
    )
