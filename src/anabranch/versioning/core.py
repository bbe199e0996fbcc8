"""The core, composed: every part of versioning, built once over two stores.

    core = Core(keyvalue, tables)
    repository = core.repositories.create("quickstart", "local://quickstart")

Parts know only the parts beneath them: identifiers, protection, commits, branches, tags,
references, staging, trees, objects, difference, changes, uploads, rules, sweeps, pins, reset,
commit, merge.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, nullcontext

from anabranch import _kernel as kernel
from anabranch.blocks.table_cache import TableCache
from anabranch.keyvalue.contract import KeyValueStore
from anabranch.keyvalue.foreseeing import Foreseeing
from anabranch.versioning.branches import Branches
from anabranch.versioning.changes import Changes
from anabranch.versioning.cleanup import GRACE_SECONDS, Cleaner
from anabranch.versioning.commit import Committing
from anabranch.versioning.commits import Commits
from anabranch.versioning.difference import Difference
from anabranch.versioning.idempotency import IdempotencyKeys
from anabranch.versioning.identifiers import Identifiers
from anabranch.versioning.import_records import ImportRecords
from anabranch.versioning.merge import Merging
from anabranch.versioning.objects import Objects
from anabranch.versioning.pins import Pins
from anabranch.versioning.protection import Protection
from anabranch.versioning.references import References
from anabranch.versioning.repositories import Repositories
from anabranch.versioning.reset import Reset
from anabranch.versioning.staging import Staging
from anabranch.versioning.stored_rules import StoredRules
from anabranch.versioning.sweeps import SweepRecords
from anabranch.versioning.tags import Tags
from anabranch.versioning.tasks import PreparationTasks
from anabranch.versioning.tree_admission import TreeAdmission
from anabranch.versioning.trees import Trees
from anabranch.versioning.uploads import Uploads

__all__ = ["Core"]

_NOTHING_FORESEEN = nullcontext()


class Core:
    """All of versioning. `clock` gives seconds since 1970; tables stay open in `pool`."""

    def __init__(
        self,
        keyvalue: KeyValueStore,
        tables: TableCache,
        *,
        clock: Callable[[], float] = time.time,
        identifiers: Identifiers | None = None,
        pool: kernel.Tables | None = None,
        grace_seconds: float = GRACE_SECONDS,
    ) -> None:
        self.identifiers = identifiers or Identifiers(clock)
        self.repositories = Repositories(keyvalue, self.identifiers, clock)
        self.protection = Protection(keyvalue)
        self.commits = Commits(keyvalue, clock)
        self.branches = Branches(keyvalue, self.identifiers, self.commits, clock)
        self.tags = Tags(keyvalue, self.commits)
        self.references = References(self.branches, self.tags, self.commits)
        self.staging = Staging(keyvalue)
        self.trees = Trees(tables, pool or kernel.Tables())
        self.objects = Objects(self.references, self.commits, self.staging, self.trees)
        self.difference = Difference(self.commits, self.staging, self.trees)
        self.changes = Changes(self.branches, self.staging, self.objects)
        self.uploads = Uploads(keyvalue, self.branches, clock)
        self.preparation_tasks = PreparationTasks(keyvalue, clock)
        self.rules = StoredRules(tables.store, self.branches, self.tags, self.commits)
        self.sweeps = SweepRecords(keyvalue, clock)
        self.pins = Pins(keyvalue, self.sweeps, self.identifiers, self.rules.expired, clock)
        self.reset = Reset(self.branches, self.staging, self.objects, clock)
        self.committing = Committing(
            self.branches,
            self.commits,
            self.staging,
            self.trees,
            self.difference,
            TreeAdmission(self.sweeps, self.trees),
            clock,
        )
        self.imports = ImportRecords(keyvalue)
        self.merging = Merging(
            self.references, self.commits, self.trees, self.committing, self.pins
        )
        self.idempotency_keys = IdempotencyKeys(keyvalue, clock)
        self.cleaner = Cleaner(keyvalue, clock, grace_seconds)
        self._foreseeing = keyvalue if isinstance(keyvalue, Foreseeing) else None

    def foreseen(self, topic: Hashable, *keys: bytes) -> AbstractContextManager[None]:
        """Returns a context for requests that are alike but for some keys: where references are on
        another machine, what the last one read is then asked for in one go.
        """
        if self._foreseeing is None:
            return _NOTHING_FORESEEN
        return self._foreseeing.foreseen(topic, *keys)
