"""Access to the external objects of a store that may be imported."""

from __future__ import annotations

from anabranch.blocks.contract import BlockStore
from anabranch.blocks.external_objects import ExternalObjects
from anabranch.errors import Denied

__all__ = ["require_sources"]


def require_sources(blocks: BlockStore) -> ExternalObjects:
    """Returns the sources of a store. Raises Denied if it does not support or allow imports."""
    sources = blocks.sources
    if sources is None or not blocks.config.import_support:
        raise Denied(
            "import is not supported for this storage",
            kind="import_not_supported",
            hint="For local folders, see the setting blockstore.local.import_enabled.",
        )
    return sources
