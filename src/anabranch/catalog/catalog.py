"""The catalog: all use cases, grouped by noun, over one core and one block store."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from anabranch.access.actors.actor import Actor
from anabranch.actions.changes import Changes
from anabranch.actions.engine import Engine
from anabranch.actions.runs.settings import DEFAULT_ACTION_SETTINGS, ActionSettings
from anabranch.blocks.contract import BlockStore, StorageConfig
from anabranch.catalog.actions.actions import Actions
from anabranch.catalog.actions.hook_lake import HookLakes
from anabranch.catalog.commits.blame import Blame
from anabranch.catalog.commits.commits import Commits
from anabranch.catalog.commits.importable_addresses import ImportableAddresses
from anabranch.catalog.commits.merge_rules import RequestedRules
from anabranch.catalog.commits.rebase import Rebase
from anabranch.catalog.commits.tables import Tables
from anabranch.catalog.garbage.pins import Pins
from anabranch.catalog.garbage.prepare import GarbagePreparation
from anabranch.catalog.garbage.rules import GarbageRules
from anabranch.catalog.garbage.sweeps import Sweeps
from anabranch.catalog.garbage.tasks import GarbageTasks
from anabranch.catalog.images.images import Images
from anabranch.catalog.notifications.notifications import Notifications
from anabranch.catalog.notifications.sender import Sender
from anabranch.catalog.objects.archives import Archives
from anabranch.catalog.objects.batch_reads import BatchReads
from anabranch.catalog.objects.multipart_completion import Completion
from anabranch.catalog.objects.objects import Objects
from anabranch.catalog.objects.staging import Staging
from anabranch.catalog.objects.transfers import Transfers
from anabranch.catalog.objects.uploads import Uploads
from anabranch.catalog.objects.versions import Versions
from anabranch.catalog.objects.write_checks import WriteChecks
from anabranch.catalog.presigning.presigned_blocks import PresignedBlocks
from anabranch.catalog.presigning.presigned_urls import PresignedUrls
from anabranch.catalog.presigning.presigning import PRESIGNED_SECONDS, Presigner
from anabranch.catalog.protection import Protection
from anabranch.catalog.pulls.pulls import Pulls
from anabranch.catalog.pulls.reviewers import Reviewers
from anabranch.catalog.pulls.reviews import Reviews
from anabranch.catalog.references.branch_ends import BranchEndSettings
from anabranch.catalog.references.branches import Branches
from anabranch.catalog.references.expiry import BranchExpiry
from anabranch.catalog.references.operations import Operations
from anabranch.catalog.references.refs import Refs
from anabranch.catalog.references.tags import Tags
from anabranch.catalog.repositories.refs_dump import RefsDumps
from anabranch.catalog.repositories.repositories import Repositories
from anabranch.catalog.snapshots import Snapshots
from anabranch.catalog.tables.iceberg.areas import TableAreas
from anabranch.catalog.tables.iceberg.catalog import IcebergCatalog
from anabranch.catalog.tables.listed_tables import ListedTables
from anabranch.catalog.tables.symlinks import Symlinks
from anabranch.catalog.tasks.periodic_tasks import PeriodicTask, PeriodicTasks
from anabranch.catalog.usage import FLUSH_INTERVAL, Usage
from anabranch.catalog.workspaces.merging import WorkspaceMerges
from anabranch.catalog.workspaces.reads import FLUSH_SECONDS
from anabranch.catalog.workspaces.workspaces import Workspaces
from anabranch.errors import AnabranchError
from anabranch.versioning.core import Core
from anabranch.versioning.merging.content_rights import ALL_CONTENT, ContentRights

__all__ = ["Catalog"]

_log = logging.getLogger(__name__)

_STAGING_CLEANUP_INTERVAL = 5.0
_CLEANUP_INTERVAL = 600.0
_SEALED_TREES_INTERVAL = 0.5
_HEARTBEAT_INTERVAL = 5.0
_EXPIRY_INTERVAL = 5.0
_MAX_TEMPORARY_AGE = 3600.0
"""Temporary files that were not written to for so many seconds are deleted."""


class Catalog:
    """All use cases.

    `clock` returns seconds since 1970. `signing_secret` signs upload addresses and presigned URLs;
    the latter are valid for `presigned_seconds`. With `require_linked_objects`, only addresses with
    an object of the stated size can be linked. Tables of images are stored in
    `images_namespace`. `action_settings` limits the runs of
    hooks. Merges that name no caller have the `default_rights` to objects: a server gives none.
    """

    def __init__(
        self,
        core: Core,
        blocks: BlockStore,
        *,
        signing_secret: bytes,
        presigned_seconds: float = PRESIGNED_SECONDS,
        require_linked_objects: bool = True,
        images_namespace: str = "",
        clock: Callable[[], float] = time.time,
        action_settings: ActionSettings = DEFAULT_ACTION_SETTINGS,
        default_rights: ContentRights = ALL_CONTENT,
    ) -> None:
        self.core = core
        self._blocks = blocks
        self.protection = Protection(core)
        self.writes = WriteChecks(core, self.protection)
        self.uploads = Uploads(core, blocks, clock, self.writes)
        self.images = Images(core, blocks, images_namespace)
        self.garbage_rules = GarbageRules(core, blocks)
        self.garbage_preparation = GarbagePreparation(core, blocks, clock, self.images)
        self.sweeps = Sweeps(core)
        self.pins = Pins(core)
        self.garbage_tasks = GarbageTasks(core, self.garbage_preparation)
        self.usage = Usage(core, clock)
        self.refs_dumps = RefsDumps(core, blocks)
        self.hook_lakes = HookLakes(core, blocks, action_settings.hooks)
        self.engine = Engine(
            *(core, blocks, action_settings, self.hook_lakes, self.hook_lakes.serve, clock)
        )
        self.changes = Changes(core, self.engine)
        self.actions = Actions(core, self.engine)
        self.operations = Operations(core, self.protection, self.garbage_rules, self.changes)
        # in a thread of its own: one tree can take longer than the heartbeats may wait
        self._tree_building = PeriodicTasks(
            [PeriodicTask(core.sealed_trees.build, _SEALED_TREES_INTERVAL)], "sealed-trees"
        )
        self.repositories = Repositories(core, blocks, self.images)
        self.staging = Staging(
            *(core, blocks, clock, signing_secret, self.protection),
            require_linked_objects=require_linked_objects,
        )
        rules = RequestedRules(self.staging, default_rights)
        self.branches = Branches(core, self.protection, rules, self.changes)
        self.branch_ends, self.expiry = (
            BranchEndSettings(core, clock),
            BranchExpiry(core, self.branches, self.changes, clock),
        )
        self.tags = Tags(core, self.changes)
        self.commits = Commits(core, self.protection, self.changes)
        self.refs = Refs(core, blocks, rules, self.changes)
        self.snapshots = Snapshots(core, blocks)
        self.rebase = Rebase(core, self.protection, rules)
        self.blame = Blame(core)
        self.notifications = Notifications(core)
        self.sender = Sender(core, action_settings.hooks.webhook_allow)
        self.reviews = Reviews(core)
        self.reviewers = Reviewers(core)
        self.pulls = Pulls(core, self.refs, self.reviews, self.reviewers)
        self.workspaces = Workspaces(
            *(core, self.branches, self.commits, self.refs, self.pulls),
            *(self.protection, self.operations, clock),
        )
        self.workspace_merges = WorkspaceMerges(core, self.engine, self.refs, self.pulls)
        self.objects = Objects(core, blocks, clock, self.protection)
        self.versions = Versions(core, blocks, signing_secret)
        self.archives = Archives(core, blocks, self.objects)
        self.batch_reads = BatchReads(core, blocks, self.objects)
        self.transfers = Transfers(core, self.protection, self.objects)
        self.symlinks = Symlinks(core, blocks, self.objects)
        self.completion = Completion(core, blocks, self.writes)
        self.iceberg = IcebergCatalog(
            *(core, blocks, self.protection, self.changes, self.objects, clock)
        )
        self.tables, self.listed_tables = (
            Tables(core, blocks),
            ListedTables(core, self.iceberg.registered_folders),
        )
        urls = PresignedUrls(signing_secret, clock)
        self.presigning = Presigner(blocks, urls, clock, presigned_seconds)
        self.signed_blocks = PresignedBlocks(blocks, urls)
        self._periodic_tasks = PeriodicTasks(
            [
                PeriodicTask(core.cleaner.clean, _STAGING_CLEANUP_INTERVAL),
                PeriodicTask(
                    lambda: blocks.clean_temporaries(_MAX_TEMPORARY_AGE), _MAX_TEMPORARY_AGE
                ),
                PeriodicTask(core.trees.clean_temporaries, _MAX_TEMPORARY_AGE),
                PeriodicTask(self.uploads.clean, _CLEANUP_INTERVAL),
                PeriodicTask(core.idempotency_keys.clean, _CLEANUP_INTERVAL),
                PeriodicTask(core.pins.clean, _CLEANUP_INTERVAL),
                PeriodicTask(self.operations.compact, _CLEANUP_INTERVAL),
                PeriodicTask(self.repositories.forget_old, _CLEANUP_INTERVAL),
                PeriodicTask(core.proposals.clean, _CLEANUP_INTERVAL),
                PeriodicTask(self.expiry.delete_due, _EXPIRY_INTERVAL),
                PeriodicTask(self.workspaces.reads.flush, FLUSH_SECONDS),
                PeriodicTask(self.garbage_tasks.send_heartbeats, _HEARTBEAT_INTERVAL),
                PeriodicTask(self.usage.flush, FLUSH_INTERVAL),
                PeriodicTask(self.refs_dumps.send_heartbeats, _HEARTBEAT_INTERVAL),
            ]
        )

    @property
    def table_areas(self) -> TableAreas:
        """The areas of tables."""
        return self.iceberg.areas

    def config(self) -> StorageConfig:
        """Returns the configuration of the store that clients may see."""
        return self._blocks.config

    def importable_addresses(
        self, actor: Actor, record: Callable[[str], None]
    ) -> ImportableAddresses:
        """Returns the addresses that an actor may import; `record` receives those that a change
        refers to.
        """
        return ImportableAddresses(actor, self._blocks, record)

    def start(self) -> None:
        """Starts the periodic tasks, and the hooks of earlier changes."""
        self._periodic_tasks.start()
        self._tree_building.start()
        self.engine.start()

    def close(self) -> None:
        """Ends running hooks and tasks, stops the periodic ones, and stores the usage counts."""
        self.sender.stop()
        self.expiry.stop()
        self.engine.stop()
        self.refs_dumps.close()
        self.garbage_tasks.close()
        self._periodic_tasks.stop()
        self.core.sealed_trees.close()
        self._tree_building.stop()
        try:
            self.workspaces.reads.flush()
            self.usage.flush()
        except AnabranchError as error:
            _log.warning("usage counts and reads were not stored: %s", error.message)
