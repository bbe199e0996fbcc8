"""The catalog: every use case, by noun, over one core and one block store."""

from __future__ import annotations

import time
from collections.abc import Callable

from anabranch.blocks.contract import BlockStore, StorageConfig
from anabranch.catalog.branches import Branches
from anabranch.catalog.commits import Commits
from anabranch.catalog.objects import Objects
from anabranch.catalog.refs import Refs
from anabranch.catalog.repositories import Repositories
from anabranch.catalog.staging import Staging
from anabranch.catalog.tags import Tags
from anabranch.versioning.core import Core

__all__ = ["Catalog"]


class Catalog:
    """All use cases. `clock` gives seconds since 1970; `signing_secret` signs the addresses that
    clients are given to upload to.
    """

    def __init__(
        self,
        core: Core,
        blocks: BlockStore,
        *,
        signing_secret: bytes,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._core = core
        self._blocks = blocks
        self.repositories = Repositories(core, blocks)
        self.branches = Branches(core)
        self.tags = Tags(core)
        self.commits = Commits(core)
        self.refs = Refs(core)
        self.objects = Objects(core, blocks, clock)
        self.staging = Staging(core, blocks, clock, signing_secret)

    def config(self) -> StorageConfig:
        """Returns what clients are told of the store."""
        return self._blocks.config

    def start(self) -> None:
        """Starts what goes on in the background."""
        self._core.cleaner.start()

    def close(self) -> None:
        """Stops what goes on in the background."""
        self._core.cleaner.stop()
