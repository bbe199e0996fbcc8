"""Opens the stores of a server's settings for their verification."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from anabranch.library import DATABASE_FILE
from anabranch.server.config.settings import Settings
from anabranch.server.observability.audit_logs import audit_file
from anabranch.server.stores.keyvalue_stores import open_snapshot
from anabranch.server.stores.open_stores import (
    missing_libraries_reported,
    open_stores,
    table_cache,
)

if TYPE_CHECKING:
    from anabranch.pipelines.verification.verification import InstallationFiles, VerifiedStores

__all__ = ["VerifiedInstallation", "open_verification"]


class VerifiedInstallation(NamedTuple):
    """The stores of an installation, and its files beside them."""

    stores: VerifiedStores
    files: InstallationFiles


@contextmanager
def open_verification(settings: Settings) -> Iterator[VerifiedInstallation]:
    """Yields the stores and the files of the settings. Raises the errors of `open_stores`, and
    Invalid if a library that a verification needs is not installed.
    """
    with missing_libraries_reported("verification"):
        from anabranch.pipelines.verification.verification import (  # noqa: PLC0415  an extra
            InstallationFiles,
            VerifiedStores,
        )
    database, blockstore = settings.database, settings.blockstore
    audit = audit_file(settings.audit)
    files = InstallationFiles(
        database.local.path / DATABASE_FILE if database.type == "local" else None,
        blockstore.local.path if blockstore.type == "local" else None,
        audit if audit is not None and audit.exists() else None,
    )
    with open_stores(settings) as (core, blocks):
        stores = VerifiedStores(
            core,
            blocks,
            table_cache(settings, blocks),
            partial(open_snapshot, database),
            settings.operations.undo_days,
        )
        yield VerifiedInstallation(stores, files)
