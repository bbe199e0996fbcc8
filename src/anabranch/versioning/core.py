"""The composition of all parts of versioning over a key-value store and a table cache.

    core = Core(keyvalue, tables)
    repository = core.repositories.create("quickstart", "local://quickstart")

Each part depends only on parts before it in this order: identifiers, operation log and retention,
repositories, protection, commits, branches, tags, pulls, reviews, staging, trees, history index,
references, sealed trees, objects, read points, diff, sweeps, record admission, changes, uploads,
rules, restored, swept trees, pins, proposals, reset, committer, staged commits, commit records,
dumps of references, transfers, merger, reverter, rebaser.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, nullcontext

from anabranch import _kernel as kernel
from anabranch.blocks.cache.table_cache import TableCache
from anabranch.errors import Invalid
from anabranch.keyvalue.caching.prefetching import PrefetchingStore
from anabranch.keyvalue.contract import KeyValueStore
from anabranch.keyvalue.recent_values import recent_reads
from anabranch.keyvalue.versioned_reads import versioned_reads
from anabranch.model.references.operation import DEFAULT_UNDO_DAYS
from anabranch.outbound.address_guard import AddressGuard
from anabranch.versioning.commits.change_admission import ChangeAdmission
from anabranch.versioning.commits.commit_records import CommitRecords
from anabranch.versioning.commits.committer import Committer
from anabranch.versioning.commits.path_commits import PathCommits
from anabranch.versioning.commits.proposals import Proposals
from anabranch.versioning.commits.staged_commits import StagedCommits
from anabranch.versioning.garbage.pins import Pins
from anabranch.versioning.garbage.record_admission import RecordAdmission
from anabranch.versioning.garbage.removal_counts import RemovalCounts
from anabranch.versioning.garbage.stored_rules import StoredRules
from anabranch.versioning.garbage.sweeps import SweepRecords
from anabranch.versioning.garbage.swept_trees import SweptTrees
from anabranch.versioning.garbage.table_files import TableFiles
from anabranch.versioning.garbage.tree_admission import TreeAdmission
from anabranch.versioning.history.code_authors import CodeAuthors
from anabranch.versioning.history.commit_store import Commits
from anabranch.versioning.history.index import HistoryIndex
from anabranch.versioning.history.last_changes import LastChanges
from anabranch.versioning.history.path_log import PathLog
from anabranch.versioning.idempotency import IdempotencyKeys
from anabranch.versioning.identifiers import Identifiers
from anabranch.versioning.merging.merge import Merger
from anabranch.versioning.merging.patches import Patches
from anabranch.versioning.merging.rebase import Rebaser
from anabranch.versioning.merging.revert import Reverter
from anabranch.versioning.merging.tree_merger import TreeMergers
from anabranch.versioning.notifications.outbox import Outbox
from anabranch.versioning.objects.changes import Changes
from anabranch.versioning.objects.diff import Differ
from anabranch.versioning.objects.objects import Objects
from anabranch.versioning.objects.reset import Reset
from anabranch.versioning.objects.restored import RestoredObjects
from anabranch.versioning.objects.sealed_trees import SealedTrees
from anabranch.versioning.objects.uploads import Uploads
from anabranch.versioning.operations.log import OperationLog
from anabranch.versioning.operations.logging_store import LoggingStore
from anabranch.versioning.operations.retention import OperationRetention
from anabranch.versioning.operations.undo import Undo
from anabranch.versioning.pulls.merged_pulls import MergedPulls
from anabranch.versioning.pulls.pulls import Pulls
from anabranch.versioning.pulls.reviews import Reviews
from anabranch.versioning.records.branch_tasks import COMMIT_TASKS, MERGE_TASKS
from anabranch.versioning.records.image_builds import IMAGE_BUILDS
from anabranch.versioning.records.imports import IMPORTS
from anabranch.versioning.records.jobs import JobRecords
from anabranch.versioning.records.task_formats import DUMP_TASKS, PREPARATION_TASKS, RESTORE_TASKS
from anabranch.versioning.records.tasks import TaskRecords
from anabranch.versioning.references.branches import Branches
from anabranch.versioning.references.protection import Protection
from anabranch.versioning.references.references import References
from anabranch.versioning.references.tags import Tags
from anabranch.versioning.references.workspaces import Workspaces
from anabranch.versioning.repositories.read_points import ReadPoints
from anabranch.versioning.repositories.refs_dump import RefsDumper
from anabranch.versioning.repositories.refs_dump_reader import RefsDumpReader
from anabranch.versioning.repositories.refs_restore import RefsRestorer
from anabranch.versioning.repositories.repositories import Repositories
from anabranch.versioning.row_differences import RowDiffer
from anabranch.versioning.staging.area import Staging
from anabranch.versioning.staging.cleanup import GRACE_SECONDS, Cleaner
from anabranch.versioning.strategies.table_processes.limits import TableLimits
from anabranch.versioning.strategies.table_processes.table_processes import TableProcesses
from anabranch.versioning.transfers.transfers import Transfers
from anabranch.versioning.trees.tree_addresses import TreeAddresses
from anabranch.versioning.trees.trees import Trees
from anabranch.versioning.usage import UsageCounts

__all__ = ["Core"]

_NO_PREFETCH = nullcontext()


class Core:
    """All parts of versioning. `clock` returns seconds since 1970; `pool` keeps tables open;
    `webhook_guard` decides where webhooks of merges may lead: without one, to public addresses.
    `table_limits` are those of merges and comparisons of tables. `default_committer` makes the
    commits for which no committer is named. Operations can be undone for `undo_days`, where a
    repository has no number of its own.
    """

    def __init__(
        self,
        keyvalue: KeyValueStore,
        tables: TableCache,
        *,
        clock: Callable[[], float] = time.time,
        identifiers: Identifiers | None = None,
        pool: kernel.Tables | None = None,
        grace_seconds: float = GRACE_SECONDS,
        webhook_guard: AddressGuard | None = None,
        table_limits: TableLimits | None = None,
        default_committer: str | None = None,
        undo_days: int = DEFAULT_UNDO_DAYS,
    ) -> None:
        self._prefetching = keyvalue if isinstance(keyvalue, PrefetchingStore) else None
        keyvalue, recent, versions = (
            LoggingStore(keyvalue, clock),
            recent_reads(keyvalue),
            versioned_reads(keyvalue),
        )
        self.keyvalue, self.clock, self.default_committer = keyvalue, clock, default_committer
        self.identifiers = identifiers or Identifiers(clock)
        self.operation_log = log = OperationLog(keyvalue, clock)
        self.operation_retention = OperationRetention(keyvalue, log, clock, undo_days)
        self.repositories = Repositories(
            *(keyvalue, self.identifiers, clock, log, self.operation_retention), recent
        )
        self.protection = Protection(keyvalue)
        self.commits = Commits(keyvalue, clock)
        self.branches = Branches(keyvalue, self.identifiers, self.commits, clock)
        self.tags = Tags(keyvalue, self.commits)
        self.outbox = Outbox(keyvalue, self.identifiers, clock)
        self.pulls = Pulls(keyvalue, self.identifiers, self.outbox, clock)
        self.reviews = Reviews(keyvalue, self.pulls, self.identifiers, self.outbox, clock)
        self.staging = Staging(keyvalue)
        self.trees = Trees(tables, pool or kernel.Tables())
        self.history_index = HistoryIndex(keyvalue, self.commits, self.trees)
        self.references = References(
            self.branches, self.tags, self.commits, self.history_index, log
        )
        self.path_log, self.last_changes = (
            PathLog(self.commits, self.history_index),
            LastChanges(self.commits, self.trees, self.history_index),
        )
        self.code_authors = CodeAuthors(keyvalue, self.trees, self.last_changes)
        self.sealed_trees = SealedTrees(self.branches, self.commits, self.staging, self.trees)
        self.objects = Objects(
            self.references, self.commits, self.staging, self.trees, self.sealed_trees
        )
        self.read_points = ReadPoints(
            *(versions, self.repositories, self.references, self.commits),
            *(self.staging, self.trees, self.objects),
        )
        self.differ, self.row_differ = (
            Differ(self.commits, self.staging, self.trees, self.sealed_trees),
            RowDiffer(tables.store, TableProcesses(table_limits)),
        )
        self.sweeps = SweepRecords(keyvalue, clock)
        self.record_admission = RecordAdmission(
            *(keyvalue, self.sweeps, tables.store, self.trees),
            TableFiles(tables.store, self.repositories.of_name),
        )
        self.changes = Changes(
            self.branches, self.staging, self.objects, self.sealed_trees, self.record_admission
        )
        self.uploads = Uploads(keyvalue, self.branches, clock)
        self.rules = StoredRules(
            tables.store, self.branches, self.tags, self.commits, self.operation_retention
        )
        self.restored = RestoredObjects(keyvalue, self.sweeps, clock)
        self.tree_admission = TreeAdmission(
            self.sweeps, self.trees, tables.store, self.record_admission
        )
        self.swept_trees = SweptTrees(
            keyvalue,
            self.sweeps,
            self.rules,
            self.commits,
            self.branches,
            self.tree_admission,
            clock,
        )
        self.pins = Pins(
            *(keyvalue, self.sweeps, self.identifiers, self.rules, self.commits),
            swept=self.swept_trees,
            clock=clock,
        )
        self.proposals = Proposals(keyvalue, self.identifiers, self.pins, clock)
        self.reset = Reset(
            *(keyvalue, self.identifiers, self.branches, self.staging, self.objects, clock)
        )
        addresses = TreeAddresses(tables.store, self.trees)
        self.committer = Committer(
            self.branches,
            self.commits,
            self.staging,
            self.trees,
            self.differ,
            ChangeAdmission(
                *(self.pins, self.sweeps, tables.store, self.tree_admission),
                *(self.swept_trees, self.record_admission),
            ),
            self.history_index,
            self.proposals,
            clock,
        )
        self.staged_commits = StagedCommits(
            self.commits, self.staging, self.trees, addresses, self.committer
        )
        self.commit_records = CommitRecords(
            *(keyvalue, self.commits, self.trees, self.tree_admission, addresses),
            self.code_authors,
        )
        self.refs_dumper = RefsDumper(keyvalue, self.repositories, self.trees)
        self.refs_restorer = RefsRestorer(
            keyvalue,
            self.identifiers,
            RefsDumpReader(self.trees, self.commits),
            self.sweeps,
            self.swept_trees,
            addresses,
            self.code_authors,
        )
        self.preparation_tasks, self.dump_tasks, self.restore_tasks = (
            TaskRecords(keyvalue, clock, kind)
            for kind in (PREPARATION_TASKS, DUMP_TASKS, RESTORE_TASKS)
        )
        self.imports, self.image_builds, self.commit_tasks, self.merge_tasks = (
            JobRecords(keyvalue, kind)
            for kind in (IMPORTS, IMAGE_BUILDS, COMMIT_TASKS, MERGE_TASKS)
        )
        self.transfers = Transfers(
            keyvalue,
            self.identifiers,
            self.branches,
            self.references,
            self.staging,
            self.objects,
            self.committer,
            self.sweeps,
            self.pins,
            self.swept_trees,
            self.record_admission,
            clock,
        )
        tree_mergers = TreeMergers(
            tables.store,
            self.trees,
            self.identifiers,
            webhook_guard or AddressGuard(),
            self.row_differ.processes,
        )
        self.merger = Merger(
            self.references,
            self.commits,
            tree_mergers,
            self.committer,
            self.history_index,
        )
        self.reverter = Reverter(self.commits, self.references, self.committer, tree_mergers)
        self.rebaser = Rebaser(
            self.commits,
            self.committer,
            tree_mergers,
            Patches(self.commits, self.trees, self.history_index),
        )
        self.usage_counts, self.idempotency_keys = (
            UsageCounts(keyvalue),
            IdempotencyKeys(keyvalue, clock),
        )
        self.cleaner = Cleaner(keyvalue, clock, grace_seconds)

    @property
    def removal_counts(self) -> RemovalCounts:
        """Decides which of several sweeps counts a removed object."""
        return RemovalCounts(self.keyvalue, self.sweeps)

    @property
    def path_commits(self) -> PathCommits:
        """Commits changes of paths, whatever else is staged."""
        return PathCommits(self.commits, self.staging, self.objects, self.trees, self.committer)

    @property
    def undo(self) -> Undo:
        """Undoes operations."""
        return Undo(
            *(self.keyvalue, self.operation_log, self.identifiers, self.staging, self.clock)
        )

    @property
    def workspaces(self) -> Workspaces:
        """The records of workspaces."""
        return self.branches.workspaces

    @property
    def merged_pulls(self) -> MergedPulls:
        """Finds the pull requests that a change of a branch merges."""
        return MergedPulls(self.pulls, self.branches, self.commits)

    def require_committer(self, committer: str | None) -> str:
        """Returns the committer that a caller names, else the default. Raises Invalid if there is
        neither.
        """
        named = self.default_committer if committer is None else committer
        if named is None:
            raise Invalid(
                "no committer is named",
                kind="committer_missing",
                hint="Pass `committer=`, or name one for all changes: "
                "anabranch.open(folder, committer=...).",
            )
        return named

    def prefetch(self, pattern_key: Hashable, *keys: bytes) -> AbstractContextManager[None]:
        """Returns a context manager for a request: if references are on another machine, it reads
        in one round trip what the last request with this pattern key has read, with `keys` in place
        of the keys which that request named.
        """
        if self._prefetching is None:
            return _NO_PREFETCH
        return self._prefetching.prefetch(pattern_key, *keys)
