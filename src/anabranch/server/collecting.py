"""Collecting garbage with the stores of a server's settings, beside its servers or without them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from anabranch import _kernel as kernel
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

__all__ = ["opened_collector"]

_MARKS = "gc"
"""The folder of what a run leaves for later ones, in the folder of the cache."""


@contextmanager
def opened_collector(settings: Settings, watching: Watching) -> Iterator[Collector]:
    """Gives a collector over the settings' stores. Raises Invalid for stores in memory and without
    the libraries that it needs, NotFound where there is no database yet.
    """
    if "mem" in (settings.database.type, settings.blockstore.type):
        raise Invalid(
            "what is kept in memory is nothing that another process could collect",
            kind="invalid_settings",
        )
    database = settings.database.local.path / DATABASE_FILE
    if settings.database.type == "local" and not database.exists():
        raise NotFound(
            f"{database}: there is no such database",
            kind="database_not_found",
            hint="Name the server's data folder (--data) or its settings (--config).",
        )
    try:
        from anabranch.pipelines.garbage.collector import Collector  # noqa: PLC0415  an extra
    except ImportError as error:
        raise Invalid(
            f"garbage collection needs more libraries: {error}",
            kind="extra_missing",
            hint="pip install 'anabranch[gc]'",
        ) from error
    cache = settings.committed.local_cache
    keyvalue = open_keyvalue(settings.database)
    try:
        blocks = open_blocks(settings.blockstore)
        tables = TableCache(blocks, cache.dir, cache.size_bytes, verify=kernel.verify_table)
        yield Collector(
            Core(keyvalue, tables),
            blocks,
            cache.dir / _MARKS,
            clock=time.time,
            watching=watching,
        )
    finally:
        keyvalue.close()
