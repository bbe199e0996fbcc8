"""Access to the external objects of a store that may be imported: all but the tables of commits."""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.blocks.contract import BlockStore
from anabranch.blocks.external_objects import ExternalObject, ExternalObjects
from anabranch.blocks.table_addresses import TABLES, is_table_address
from anabranch.errors import Denied

__all__ = ["AllowedSources", "require_sources"]


class AllowedSources:
    """The external objects of a store, without the tables of commits: listings leave them out, and
    `check` and `find` raise Denied (kind source_forbidden) for their addresses.
    """

    def __init__(self, sources: ExternalObjects) -> None:
        self._sources = sources

    def check(self, address: str) -> None:
        """Raises as the sources do, and Denied for a folder of tables."""
        if is_table_address(f"{address}/"):
            raise Denied(
                f"{address}: the tables of commits cannot be imported",
                kind="source_forbidden",
                hint=f"The folder {TABLES}/ of a storage namespace has no objects.",
            )
        self._sources.check(address)

    def owns(self, address: str) -> bool:
        """Returns whether an address is readable but not that of a block."""
        return not is_table_address(address) and self._sources.owns(address)

    def list(self, prefix: str) -> Iterator[ExternalObject]:
        """Yields the objects whose address starts with `prefix`, except for tables."""
        self.check(prefix)
        return (each for each in self._sources.list(prefix) if not is_table_address(each.address))

    def find(self, address: str) -> ExternalObject:
        """Returns the object at an address."""
        self.check(address)
        return self._sources.find(address)


def require_sources(blocks: BlockStore) -> ExternalObjects:
    """Returns the sources of a store. Raises Denied if it does not support or allow imports."""
    sources = blocks.sources
    if sources is None or not blocks.config.import_support:
        raise Denied(
            "import is not supported for this storage",
            kind="import_not_supported",
            hint="For local folders, see the setting blockstore.local.import_enabled.",
        )
    return AllowedSources(sources)
