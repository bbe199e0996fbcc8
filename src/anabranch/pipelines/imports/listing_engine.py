"""The local engine of listings as others call it: its libraries are an extra, imported late."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anabranch.blocks.contract import BlockStore
from anabranch.errors import Invalid
from anabranch.pipelines.imports.landed_listing import Imported, LakeGround, ListingRequest
from anabranch.versioning.core import Core

if TYPE_CHECKING:
    from anabranch.pipelines.imports.local_listing import Telling

__all__ = ["import_listed", "listing_bytes"]


def import_listed(
    core: Core,
    blocks: BlockStore,
    repository: str,
    request: ListingRequest,
    listing: Any,
    *,
    inventory: bool = False,
    prefix: str = "",
    telling: Telling | None = None,
) -> Imported:
    """Brings a listing, or with `inventory` an S3 Inventory, onto a branch. Raises what
    `import_listing` does, and Invalid without the libraries that it needs.
    """
    engine = _engine()
    source = engine.ListingSource(listing, inventory=inventory, prefix=prefix)
    ground = LakeGround(core, repository)
    made: Imported = engine.import_listing(ground, source.rows(blocks), request, telling=telling)
    return made


def listing_bytes(listing: Any, blocks: BlockStore, *, inventory: bool = False) -> int:
    """Returns how large the files of a listing, or of an inventory, are. Raises as `import_listed`
    does.
    """
    source = _engine().ListingSource(listing, inventory=inventory)
    size: int = source.bytes(blocks)
    return size


def _engine() -> Any:
    try:
        from anabranch.pipelines.imports import local_listing  # noqa: PLC0415  an extra
    except ImportError as error:
        raise Invalid(
            f"imports of listings need more libraries: {error}",
            kind="extra_missing",
            hint="pip install 'anabranch[local]'",
        ) from error
    return local_listing
