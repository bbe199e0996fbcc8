"""Opens the stores of a server's settings for a long job in a separate process."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from anabranch import _kernel as kernel
from anabranch.actions.changes import Changes
from anabranch.actions.engine import Engine
from anabranch.blocks.cache.table_cache import TableCache
from anabranch.blocks.contract import BlockStore
from anabranch.catalog.actions.hook_lake import HookLakes
from anabranch.errors import Invalid, NotFound
from anabranch.library import DATABASE_FILE
from anabranch.server.config.settings import Settings
from anabranch.server.stores.action_settings import action_settings
from anabranch.server.stores.block_stores import open_blocks
from anabranch.server.stores.keyvalue_stores import open_keyvalue
from anabranch.versioning.core import Core
from anabranch.versioning.identifiers import Identifiers

if TYPE_CHECKING:
    from anabranch.pipelines.garbage.collector import Collector
    from anabranch.pipelines.garbage.installations.requests import ServerRequests
    from anabranch.pipelines.garbage.installations.served import ServedInstallation
    from anabranch.pipelines.garbage.sweeping.restore import Restorer
    from anabranch.pipelines.jobs.progress import Progress

__all__ = [
    "HookedStores",
    "Stores",
    "missing_libraries_reported",
    "open_collector",
    "open_hooked_stores",
    "open_restorer",
    "open_stores",
    "table_cache",
]

_INDEX_FOLDER = "gc"
"""The folder, in the cache folder, of the address indexes that later runs use again."""


class Stores(NamedTuple):
    """The core, and the block store that it uses."""

    core: Core
    blocks: BlockStore


class HookedStores(NamedTuple):
    """Stores, and `changes`, which runs the hooks of changes to their repositories."""

    core: Core
    blocks: BlockStore
    changes: Changes


@contextmanager
def open_stores(settings: Settings) -> Iterator[Stores]:
    """Yields the settings' stores. Raises Invalid for stores in memory, NotFound if there is no
    database yet.
    """
    if "mem" in (settings.database.type, settings.blockstore.type):
        raise Invalid(
            "stores in memory cannot be read by another process",
            kind="invalid_settings",
        )
    database = settings.database.local.path / DATABASE_FILE
    if settings.database.type == "local" and not database.exists():
        raise NotFound(
            f"{database}: there is no such database",
            kind="database_not_found",
            hint="Name the server's data folder (--data) or its settings (--config).",
        )
    keyvalue = open_keyvalue(settings.database)
    try:
        with _open_blocks(settings) as blocks:
            undo_days = settings.operations.undo_days
            core = Core(keyvalue, table_cache(settings, blocks), undo_days=undo_days)
            yield Stores(core, blocks)
    finally:
        keyvalue.close()


@contextmanager
def open_hooked_stores(settings: Settings) -> Iterator[HookedStores]:
    """Yields the settings' stores for changes that run hooks. Hooks after a change run in this
    process, or on a server once it has ended. Raises the errors of `open_stores`, and Invalid for
    settings of actions.
    """
    actions = action_settings(settings.actions)
    with open_stores(settings) as (core, blocks):
        lakes = HookLakes(core, blocks, actions.hooks)
        engine = Engine(core, blocks, actions, lakes, lakes.serve, time.time)
        engine.start()
        try:
            yield HookedStores(core, blocks, Changes(core, engine))
        finally:
            engine.stop()


@contextmanager
def open_collector(
    settings: Settings, progress: Progress, requests: ServerRequests | None = None
) -> Iterator[Collector]:
    """Yields a collector over the settings' stores. With `requests`, it gets the references from a
    server and needs no database. Raises the errors of `open_stores`, and Invalid if a library that
    it needs is not installed.
    """
    with missing_libraries_reported():
        from anabranch.pipelines.garbage.collector import Collector  # noqa: PLC0415  an extra
    indexes = settings.committed.local_cache.dir / _INDEX_FOLDER
    if requests is None:
        with open_stores(settings) as (core, blocks):
            yield Collector(core, blocks, indexes, clock=time.time, progress=progress)
        return
    with _open_blocks(settings) as blocks:
        installation = _served_installation(settings, requests, blocks)
        yield Collector(installation, blocks, indexes, clock=time.time, progress=progress)


@contextmanager
def open_restorer(settings: Settings) -> Iterator[Restorer]:
    """Yields a restorer of quarantined objects over the settings' stores. Raises the errors of
    `open_collector`.
    """
    with missing_libraries_reported():
        from anabranch.pipelines.garbage.sweeping.restore import Restorer  # noqa: PLC0415  an extra
    with open_stores(settings) as (core, blocks):
        yield Restorer(core, blocks, clock=time.time)


@contextmanager
def missing_libraries_reported(job: str = "garbage collection") -> Iterator[None]:
    """Raises Invalid if a library that a job needs cannot be imported in this context."""
    try:
        yield
    except ImportError as error:
        raise Invalid(
            f"{job} needs more libraries: {error}",
            kind="extra_missing",
            hint="pip install 'anabranch[gc]'",
        ) from error


def _served_installation(
    settings: Settings, requests: ServerRequests, blocks: BlockStore
) -> ServedInstallation:
    from anabranch.pipelines.garbage.installations.served import ServedInstallation  # noqa: PLC0415  an extra

    return ServedInstallation(
        requests, blocks, table_cache(settings, blocks), Identifiers(time.time)
    )


@contextmanager
def _open_blocks(settings: Settings) -> Iterator[BlockStore]:
    blocks = open_blocks(settings.blockstore)
    try:
        yield blocks
    finally:
        blocks.close()


def table_cache(settings: Settings, blocks: BlockStore) -> TableCache:
    """Returns the cache of tables that the settings describe."""
    cache = settings.committed.local_cache
    return TableCache(blocks, cache.dir, cache.size_bytes, verify=kernel.verify_table)
