"""A migration from a lakeFS database with a server's settings, on the server's machine.

The target is the settings' database; if that is lakeFS's own, it is migrated in place. A dry run
creates no database, folder or key.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING

from anabranch.blocks.contract import BlockStore
from anabranch.blocks.local.reader import LocalReader
from anabranch.errors import Invalid
from anabranch.keyvalue.contract import KeyValueStore
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import DATABASE_FILE
from anabranch.model.secret import Secret
from anabranch.pipelines.migration.migration import Destination, Migration
from anabranch.server.config.settings import Settings
from anabranch.server.installation.files import require_files
from anabranch.server.installation.keys import missing_keys, with_keys
from anabranch.server.installation.shared_settings import (
    compare_settings,
    require_shared_settings,
)
from anabranch.server.stores.block_stores import open_blocks
from anabranch.server.stores.keyvalue_stores import (
    connection_string,
    is_on_this_machine,
    open_keyvalue,
    require_postgres_client,
)

if TYPE_CHECKING:
    from anabranch.keyvalue.postgres.snapshot import Snapshot

__all__ = ["open_migration"]

_KEY = "auth.encrypt.secret_key"


@contextmanager
def open_migration(
    settings: Settings,
    url: str,
    *,
    secret: Secret | None,
    names: frozenset[str],
    dry_run: bool,
) -> Iterator[Migration]:
    """Yields the migration from a snapshot of the database at `url`; `secret` is lakeFS's
    `auth.encrypt.secret_key`, if it is known.

    Raises Invalid for settings that cannot be the target, and the errors of the stores.
    """
    if "mem" in (settings.database.type, settings.blockstore.type):
        raise Invalid(
            "the settings name stores in memory, which cannot be the target of a migration",
            kind="invalid_settings",
            hint="Name the server's data folder (--data) or its settings (--config).",
        )
    require_files(settings)
    with ExitStack() as stack:
        database = stack.enter_context(_snapshot(settings, url))
        in_place = _is_same(database, settings)
        keyvalue = stack.enter_context(closing(_open_target(settings, dry_run=dry_run)))
        if not (dry_run or in_place):
            settings = with_keys(settings, secrets.token_bytes)
            # servers with another key could not decrypt the secrets
            require_shared_settings(settings, keyvalue, secrets.token_bytes)
        blocks = stack.enter_context(closing(_open_objects(settings)))
        migration = Migration(
            database,
            Destination(keyvalue, blocks, settings.blockstore.type, _key(settings), in_place),
            secret=secret,
            names=names,
        )
        migration.report.warnings += _warnings(settings, keyvalue)
        yield migration


def _snapshot(settings: Settings, url: str) -> Snapshot:
    require_postgres_client()
    from anabranch.keyvalue.postgres.snapshot import Snapshot  # noqa: PLC0415  an extra

    return Snapshot(url or settings.database.postgres.connection_string.reveal())


def _is_same(database: Snapshot, settings: Settings) -> bool:
    """Returns whether the settings' database is the source."""
    if is_on_this_machine(settings.database):
        return False
    from anabranch.keyvalue.postgres.database import PostgresDatabase  # noqa: PLC0415  an extra

    target = PostgresDatabase(connection_string(settings.database))
    with closing(target.connect()) as connection:
        target.check(connection)
        return database.is_database_of(connection)


def _open_target(settings: Settings, *, dry_run: bool) -> KeyValueStore:
    if settings.database.type == "local" and dry_run:
        database = settings.database.local.path / DATABASE_FILE
        if not database.exists():
            return MemoryStore()
    return open_keyvalue(settings.database)


def _open_objects(settings: Settings) -> BlockStore | LocalReader:
    if settings.blockstore.type == "local":
        return LocalReader(settings.blockstore.local.path)
    return open_blocks(settings.blockstore)


def _key(settings: Settings) -> Secret | None:
    """Returns the key with which servers of these settings encrypt secrets, None if it does not
    exist yet.
    """
    return _with_present_keys(settings).auth.encrypt.secret_key or None


def _with_present_keys(settings: Settings) -> Settings:
    if missing_keys(settings):
        return settings
    return with_keys(settings, secrets.token_bytes)


def _warnings(settings: Settings, keyvalue: KeyValueStore) -> list[str]:
    warnings = []
    local = settings.blockstore.local.path
    if settings.blockstore.type == "local" and not local.is_dir():
        warnings.append(f"blockstore.local.path is {local}, which does not exist")
    if not missing_keys(settings):
        warnings += compare_settings(_with_present_keys(settings), keyvalue)
    return warnings
