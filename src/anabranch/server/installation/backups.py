"""Opens an installation and a target for backups, and a new installation for a restore."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.blocks.local.store import LocalBlocks
from anabranch.errors import AlreadyExists, Invalid, NotFound
from anabranch.files.private_folders import make_private_folder
from anabranch.server.config.field import build
from anabranch.server.config.settings import Settings
from anabranch.server.installation.keys import key_files
from anabranch.server.installation.verification import open_verification
from anabranch.server.stores.block_stores import open_blocks
from anabranch.server.stores.keyvalue_stores import (
    migrate_keyvalue,
    open_keyvalue,
    open_snapshot,
)
from anabranch.server.stores.open_stores import missing_libraries_reported

if TYPE_CHECKING:
    from anabranch.pipelines.backups.backup import Backup
    from anabranch.pipelines.backups.restore import Restore, Restored
    from anabranch.pipelines.backups.target import BackupTarget
    from anabranch.pipelines.jobs.progress import Progress

__all__ = ["open_backup_job", "open_restore", "open_target", "require_no_keys", "write_keys"]

_TYPES = {"s3": "s3", "gs": "gs", "https": "azure"}
"""The types of block stores, by the schemes of their addresses."""
_FOLDER_NAMESPACE = "local://anabranch-backup"


@contextmanager
def open_target(settings: Settings, target: str, *, create: bool = False) -> Iterator[BackupTarget]:
    """Yields a target of backups: a folder, or an address such as `s3://bucket/prefix`, whose store
    has the credentials of the settings. Raises Invalid for an address of no store, and NotFound for
    a folder that does not exist, unless it may `create` it.
    """
    with missing_libraries_reported("backup"):
        from anabranch.pipelines.backups.target import BackupTarget  # noqa: PLC0415  an extra
    scheme, separator, _ = target.partition("://")
    if not separator:
        if not create and not Path(target).is_dir():
            raise NotFound(
                f"{target}: there is no such folder",
                kind="target_not_found",
                hint="`anabranch backup TARGET` makes a backup there.",
            )
        make_private_folder(Path(target))
        with closing(LocalBlocks(target)) as blocks:
            yield BackupTarget(blocks, _FOLDER_NAMESPACE)
        return
    if scheme not in _TYPES:
        raise Invalid(
            f"{target}: not a folder, and not an address of S3, Azure or Google Cloud Storage",
            kind="invalid_target",
        )
    settings = build({"blockstore.type": _TYPES[scheme]}, settings)
    with closing(open_blocks(settings.blockstore)) as remote:
        yield BackupTarget(remote, remote.namespace(target))


@contextmanager
def open_backup_job(settings: Settings, target: str, progress: Progress) -> Iterator[Backup]:
    """Yields what makes backups of the settings' installation. Raises the errors of
    `open_verification` and `open_target`.
    """
    with (
        open_verification(settings) as installation,
        open_target(settings, target, create=True) as place,
    ):
        from anabranch.pipelines.backups.backup import Backup  # noqa: PLC0415  an extra

        keys = {path.name: path.read_bytes() for _, path in key_files(settings) if path.exists()}
        yield Backup(installation.stores, place, time.time, keys=keys, progress=progress)


@contextmanager
def open_restore(
    settings: Settings, target: str, progress: Progress, *, alone: bool
) -> Iterator[Restore]:
    """Yields what restores backups of a target to the settings' installation.
    Unless a repository is restored `alone`, the installation must not exist. Raises AlreadyExists,
    and Invalid for stores in memory.
    """
    if "mem" in (settings.database.type, settings.blockstore.type):
        raise Invalid("stores in memory would be lost", kind="invalid_settings")
    with open_target(settings, target) as place:
        from anabranch.pipelines.backups.restore import NewStores, Restore  # noqa: PLC0415  an extra

        if not alone:
            require_no_keys(settings)
        migrate_keyvalue(settings.database)
        with (
            closing(open_keyvalue(settings.database)) as keyvalue,
            closing(open_blocks(settings.blockstore)) as blocks,
        ):
            stores = NewStores(keyvalue, blocks, partial(open_snapshot, settings.database))
            yield Restore(stores, place, time.time, progress)


def require_no_keys(settings: Settings) -> None:
    """Raises AlreadyExists if the data folder has keys of an installation."""
    for name, path in key_files(settings):
        if path.exists():
            raise AlreadyExists(
                f"{path}: there is a key {name} already",
                kind="installation_not_empty",
                hint="Restore to a new data folder.",
            )


def write_keys(settings: Settings, restored: Restored) -> list[str]:
    """Writes the key files of a backup to the data folder, for its user alone, except for those
    that exist or that the settings have; returns their names.
    """
    written = []
    for _, path in key_files(settings):
        content = restored.keys.get(path.name)
        if content is not None and not path.exists():
            make_private_folder(path.parent)
            path.touch(0o600)
            path.write_bytes(content)
            written.append(path.name)
    return written
