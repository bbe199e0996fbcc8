"""The catalog: every use case, by noun, over one core and one block store."""

from __future__ import annotations

import time
from collections.abc import Callable

from anabranch.blocks.contract import BlockStore, StorageConfig
from anabranch.catalog.block_urls import BlockUrls
from anabranch.catalog.branches import Branches
from anabranch.catalog.commits import Commits
from anabranch.catalog.completion import Completion
from anabranch.catalog.garbage_preparation import GarbagePreparation
from anabranch.catalog.garbage_rules import GarbageRules
from anabranch.catalog.garbage_tasks import GarbageTasks
from anabranch.catalog.housekeeping import Chore, Housekeeping
from anabranch.catalog.images import Images
from anabranch.catalog.objects import Objects
from anabranch.catalog.presigning import PRESIGNED_SECONDS, Presigning
from anabranch.catalog.protection import Protection
from anabranch.catalog.refs import Refs
from anabranch.catalog.repositories import Repositories
from anabranch.catalog.signed_blocks import SignedBlocks
from anabranch.catalog.staging import Staging
from anabranch.catalog.sweeps import Sweeps
from anabranch.catalog.tables import Tables
from anabranch.catalog.tags import Tags
from anabranch.catalog.uploads import Uploads
from anabranch.catalog.writes import Writes
from anabranch.versioning.core import Core

__all__ = ["Catalog"]

_STAGING_SECONDS = 5.0
_ENDED_SECONDS = 600.0
_SPEAK_SECONDS = 5.0
_ABANDONED_SECONDS = 3600.0
"""A temporary file into which nobody has written for an hour was left behind."""


class Catalog:
    """All use cases. `clock` gives seconds since 1970; `signing_secret` signs the addresses that
    clients are given to upload to, and URLs, which are good for `presigned_seconds`;
    `images_namespace` is where the tables of images go.
    """

    def __init__(
        self,
        core: Core,
        blocks: BlockStore,
        *,
        signing_secret: bytes,
        presigned_seconds: float = PRESIGNED_SECONDS,
        images_namespace: str = "",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.core = core
        self._blocks = blocks
        self.protection = Protection(core)
        self.writes = Writes(core, self.protection)
        self.uploads = Uploads(core, blocks, clock, self.writes)
        self.images = Images(core, blocks, images_namespace)
        self.garbage_rules = GarbageRules(core, blocks)
        self.garbage_preparation = GarbagePreparation(core, blocks, clock, self.images)
        self.sweeps = Sweeps(core)
        self.garbage_tasks = GarbageTasks(core, self.garbage_preparation)
        self._housekeeping = Housekeeping(
            [
                Chore(core.cleaner.clean, _STAGING_SECONDS),
                Chore(lambda: blocks.clean_temporaries(_ABANDONED_SECONDS), _ABANDONED_SECONDS),
                Chore(core.trees.clean_temporaries, _ABANDONED_SECONDS),
                Chore(self.uploads.clean, _ENDED_SECONDS),
                Chore(core.idempotency_keys.clean, _ENDED_SECONDS),
                Chore(self.garbage_tasks.speak, _SPEAK_SECONDS),
            ]
        )
        self.repositories = Repositories(core, blocks, self.images)
        self.branches = Branches(core, self.protection)
        self.tags = Tags(core)
        self.commits = Commits(core, self.protection)
        self.refs = Refs(core)
        self.objects = Objects(core, blocks, clock, self.protection)
        self.completion = Completion(core, blocks, self.writes)
        self.staging = Staging(core, blocks, clock, signing_secret, self.protection)
        self.tables = Tables(core, blocks)
        urls = BlockUrls(signing_secret, clock)
        self.presigning = Presigning(blocks, urls, clock, presigned_seconds)
        self.signed_blocks = SignedBlocks(blocks, urls)

    def config(self) -> StorageConfig:
        """Returns what clients are told of the store."""
        return self._blocks.config

    def start(self) -> None:
        """Starts the housekeeping."""
        self._housekeeping.start()

    def close(self) -> None:
        """Finishes what is being prepared and stops the housekeeping."""
        self.garbage_tasks.close()
        self._housekeeping.stop()
