"""The in-process library: a lake in a folder, used without a server.

    with anabranch.open("lake") as lake:
        lake.repositories.create("sea", "local://sea")

The folder has `metadata/` (references and staging, in SQLite), `block/` (objects and tables) and
`cache/`, like a server's data folder by default. Several processes, including servers, can open it
at the same time.
"""

from __future__ import annotations

import getpass
import os
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from anabranch import _kernel as kernel
from anabranch.access.credentials.key_file import load_or_create_key
from anabranch.actions.runs.settings import DEFAULT_ACTION_SETTINGS, ActionSettings
from anabranch.blocks.cache.table_cache import TableCache
from anabranch.blocks.contract import BlockStore
from anabranch.blocks.local.store import LocalBlocks
from anabranch.catalog.catalog import Catalog
from anabranch.catalog.commits.snapshots import make_snapshot
from anabranch.catalog.presigning.presigning import PRESIGNED_SECONDS
from anabranch.errors import Invalid
from anabranch.files.private_folders import make_private_folder
from anabranch.keyvalue.contract import KeyValueStore
from anabranch.keyvalue.sqlite.lost_database import require_database
from anabranch.keyvalue.sqlite.store import SQLiteStore
from anabranch.lake.repository_handle import RepositoryHandles
from anabranch.lake.snapshots.snapshot import Snapshot
from anabranch.model.references.operation import DEFAULT_UNDO_DAYS
from anabranch.model.references.workspace import WorkspaceKeys
from anabranch.model.uri import is_address
from anabranch.outbound.address_guard import AddressGuard
from anabranch.pipelines.branch_tasks.branch_tasks import BranchTasks
from anabranch.pipelines.images.open_images import OpenImages
from anabranch.pipelines.imports.imports import Imports
from anabranch.pipelines.imports.listings.engine import import_listing_locally
from anabranch.pipelines.imports.listings.import_listing import (
    Imported,
    ListingRequest,
    OnInvalid,
    Verify,
)
from anabranch.pipelines.purges.purges import Purges
from anabranch.versioning.core import Core
from anabranch.versioning.merging.content_rights import ALL_CONTENT, ContentRights
from anabranch.versioning.strategies.table_processes.limits import TableLimits

__all__ = ["CACHE_BYTES", "DATABASE_FILE", "KEY_FILES", "Lake", "open_lake"]

DATABASE_FILE = "metadata.db"
KEY_FILES = ("encrypt", "signing")
"""The keys that a server creates in a data folder; this library creates only the second."""
CACHE_BYTES = 1 << 30


class Lake(Catalog, RepositoryHandles):
    """A catalog and its long-running jobs over two stores; `close` also closes the stores.
    `merge_webhook_guard` decides where webhooks of merges may lead: without one, to public
    addresses; `table_limits` are those of merges and comparisons of tables. `default_committer`
    makes the commits for which no committer is named; without one, that is an error. Operations can
    be undone for `undo_days`, where a repository has no number of its own.
    """

    images: OpenImages

    def __init__(
        self,
        keyvalue: KeyValueStore,
        blocks: BlockStore,
        *,
        cache_folder: Path,
        cache_bytes: int = CACHE_BYTES,
        signing_secret: bytes,
        presigned_seconds: float = PRESIGNED_SECONDS,
        require_linked_objects: bool = True,
        images_namespace: str = "",
        clock: Callable[[], float] = time.time,
        action_settings: ActionSettings = DEFAULT_ACTION_SETTINGS,
        merge_webhook_guard: AddressGuard | None = None,
        table_limits: TableLimits | None = None,
        default_rights: ContentRights = ALL_CONTENT,
        default_committer: str | None = None,
        undo_days: int = DEFAULT_UNDO_DAYS,
    ) -> None:
        self.keyvalue = keyvalue
        self.blocks = blocks
        tables = TableCache(blocks, cache_folder, cache_bytes, verify=kernel.verify_table)
        core = Core(
            keyvalue,
            tables,
            clock=clock,
            webhook_guard=merge_webhook_guard,
            table_limits=table_limits,
            default_committer=default_committer,
            undo_days=undo_days,
        )
        super().__init__(
            core,
            blocks,
            signing_secret=signing_secret,
            presigned_seconds=presigned_seconds,
            require_linked_objects=require_linked_objects,
            images_namespace=images_namespace,
            clock=clock,
            action_settings=action_settings,
            default_rights=default_rights,
        )
        self.imports = Imports(core, blocks, clock, self.changes)
        self.branch_tasks = BranchTasks(core, clock)
        self.purges = Purges(core, blocks, self.repositories, clock)
        self.images = OpenImages(core, blocks, images_namespace, clock)
        self.builds = self.images.builds
        self._before_close = ExitStack()

    def import_listing(
        self,
        repository: str,
        branch: str,
        listing: Any,
        *,
        inventory: bool = False,
        prefix: str = "",
        destination: str = "",
        message: str = "",
        metadata: Mapping[str, str] | None = None,
        committer: str | None = None,
        on_invalid: OnInvalid = "fail",
        rejected_rows: Path | None = None,
        verify: Verify = "sample",
        force: bool = False,
    ) -> Imported:
        """Imports the objects of a listing to a branch in this process, by one commit. `listing` is
        Parquet, ORC or CSV files or an object with an Arrow stream; if `inventory`, it is the path
        or address of an S3 Inventory, of which the keys that begin with `prefix` are imported. The
        other parameters are those of ListingRequest.

        Raises NotFound for missing files and an empty listing, Invalid for an unsupported source,
        for invalid rows, for a sample that differs from the store (kind unverified_rows), and if a
        required library is not installed, Corrupt for files that cannot be read, DirtyBranch,
        ReadOnlyRepository unless `force`. The branch is then unchanged.
        """
        request = ListingRequest(
            branch=branch,
            destination=destination,
            message=message,
            metadata=metadata or {},
            committer=(self.core.default_committer or "") if committer is None else committer,
            on_invalid=on_invalid,
            rejected_rows=rejected_rows,
            verify=verify,
            force=force,
        )
        return import_listing_locally(
            *(self.core, self.blocks, repository, request, listing),
            inventory=inventory,
            prefix=prefix,
            changes=self.changes,
        )

    def snapshot(self, repository: str, reference: str) -> Snapshot:
        """Returns the objects of the commit that a reference names now: of a branch without its
        uncommitted changes. Raises NotFound.
        """
        return make_snapshot(self.core, self.blocks, repository, reference)

    def with_keys(self, keys: WorkspaceKeys | None) -> Lake:  # noqa: ARG002  of servers alone
        """Returns the lake itself: a folder has no users, and workspaces have no keys."""
        return self

    def before_close(self, callback: Callable[[], object]) -> None:
        """Registers a callback that `close` runs first, while the stores are still open."""
        self._before_close.callback(callback)

    def close(self) -> None:
        """Interrupts running imports, builds and tasks, finishes requests in flight, and closes the
        stores.
        """
        self._before_close.close()
        self.builds.close()
        self.imports.close()
        self.branch_tasks.close()
        self.purges.close()
        super().close()
        self.core.trees.close()
        self.keyvalue.close()
        self.blocks.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def open_lake(folder: str | os.PathLike[str], *, committer: str | None = None) -> Lake:
    """Opens the lake in a folder, which is created if it does not exist. `committer` makes the
    commits for which no other is named; by default, the login name of the user.

    Raises Invalid for an address in place of a folder, Corrupt for damaged or missing files, Busy
    for a folder that cannot be written.
    """
    if is_address(os.fspath(folder)):
        raise Invalid(
            f"{os.fspath(folder)} is an address, and a folder is opened",
            kind="not_a_folder",
            hint="To use a server, call anabranch.connect, or set ANABRANCH_SERVER for the command "
            "line. For a folder of that name, give its full path.",
        )
    root = Path(folder)
    database = root / "metadata" / DATABASE_FILE
    require_database(database, [root / "keys" / name for name in KEY_FILES])
    make_private_folder(database.parent)
    keyvalue = SQLiteStore(
        database
    )  # before the keys: keys without a database prove that it was lost
    signing = load_or_create_key(root / "keys" / "signing", secrets.token_bytes)
    lake = Lake(
        keyvalue,
        LocalBlocks(root / "block"),
        cache_folder=root / "cache",
        signing_secret=signing.reveal().encode(),
        default_committer=_login_name() if committer is None else committer,
    )
    lake.start()
    return lake


def _login_name() -> str | None:
    """Returns the name of the user, None for one that the system does not know, as in a container
    with an arbitrary user id.
    """
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # KeyError up to Python 3.12
        return None
