"""Long jobs over the stores of a server's settings, in a process beside its servers or without
them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockStore
from anabranch.blocks.table_cache import TableCache
from anabranch.errors import Invalid, NotFound
from anabranch.library import DATABASE_FILE
from anabranch.server.block_stores import open_blocks
from anabranch.server.keyvalue_stores import open_keyvalue
from anabranch.server.settings import Settings
from anabranch.versioning.core import Core

if TYPE_CHECKING:
    from anabranch.pipelines.garbage.collector import Collector
    from anabranch.pipelines.garbage.watching import Watching

__all__ = ["Stores", "opened_collector", "opened_stores"]

_MARKS = "gc"
"""The folder of what a run leaves for later ones, in the folder of the cache."""


class Stores(NamedTuple):
    """The core, and the blocks beneath it."""

    core: Core
    blocks: BlockStore


@contextmanager
def opened_stores(settings: Settings) -> Iterator[Stores]:
    """Gives the settings' stores. Raises Invalid for stores in memory, NotFound where there is no
    database yet.
    """
    if "mem" in (settings.database.type, settings.blockstore.type):
        raise Invalid(
            "what is kept in memory is nothing that another process could read",
            kind="invalid_settings",
        )
    database = settings.database.local.path / DATABASE_FILE
    if settings.database.type == "local" and not database.exists():
        raise NotFound(
            f"{database}: there is no such database",
            kind="database_not_found",
            hint="Name the server's data folder (--data) or its settings (--config).",
        )
    cache = settings.committed.local_cache
    keyvalue = open_keyvalue(settings.database)
    try:
        blocks = open_blocks(settings.blockstore)
        try:
            tables = TableCache(blocks, cache.dir, cache.size_bytes, verify=kernel.verify_table)
            yield Stores(Core(keyvalue, tables), blocks)
        finally:
            blocks.close()
    finally:
        keyvalue.close()


@contextmanager
def opened_collector(settings: Settings, watching: Watching) -> Iterator[Collector]:
    """Gives a collector over the settings' stores. Raises what `opened_stores` does, and Invalid
    without the libraries that it needs.
    """
    try:
        from anabranch.pipelines.garbage.collector import Collector  # noqa: PLC0415  an extra
    except ImportError as error:
        raise Invalid(
            f"garbage collection needs more libraries: {error}",
            kind="extra_missing",
            hint="pip install 'anabranch[gc]'",
        ) from error
    marks = settings.committed.local_cache.dir / _MARKS
    with opened_stores(settings) as (core, blocks):
        yield Collector(core, blocks, marks, clock=time.time, watching=watching)
