"""Entry point of the local import engine; imports its optional libraries on first use."""

from __future__ import annotations

from typing import Any

from anabranch.actions.changes import Changes
from anabranch.blocks.contract import BlockStore
from anabranch.errors import Invalid
from anabranch.pipelines.imports.listings.import_listing import Imported, LakeTarget, ListingRequest
from anabranch.pipelines.jobs.progress import NO_PROGRESS, Progress
from anabranch.versioning.core import Core

__all__ = ["import_listing_locally", "listing_bytes"]


def import_listing_locally(
    core: Core,
    blocks: BlockStore,
    repository: str,
    request: ListingRequest,
    listing: Any,
    *,
    inventory: bool = False,
    prefix: str = "",
    progress: Progress = NO_PROGRESS,
    changes: Changes | None = None,
) -> Imported:
    """Imports a listing to a branch; if `inventory`, the listing is the address of an S3 Inventory,
    and only keys that begin with `prefix` are imported. `changes` runs hooks. Raises the errors of
    `import_listing`, and Invalid if a required library is not installed.
    """
    engine = _engine()
    source = engine.ListingSource(listing, inventory=inventory, prefix=prefix)
    target = LakeTarget(core, repository, changes=changes)
    rows = source.rows(blocks)
    imported: Imported = engine.import_listing(target, blocks, rows, request, progress=progress)
    return imported


def listing_bytes(listing: Any, blocks: BlockStore, *, inventory: bool = False) -> int:
    """Returns the size in bytes of the files of a listing or an inventory. Raises as
    `import_listing_locally` does.
    """
    source = _engine().ListingSource(listing, inventory=inventory)
    size: int = source.bytes(blocks)
    return size


def _engine() -> Any:
    try:
        from anabranch.pipelines.imports.listings import local_engine  # noqa: PLC0415  an extra
    except ImportError as error:
        raise Invalid(
            f"imports of listings need additional libraries: {error}",
            kind="extra_missing",
            hint="pip install 'anabranch[local]'",
        ) from error
    return local_engine
