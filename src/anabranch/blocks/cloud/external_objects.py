"""Objects in an object store that an import may read, found by the store's listings."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from anabranch.blocks.cloud.addresses import AddressParser, Location
from anabranch.blocks.cloud.client import ObjectClient, ObjectInfo
from anabranch.blocks.external_objects import ExternalObject, base_length
from anabranch.errors import NotFound

__all__ = ["CloudExternalObjects"]

_NANOSECONDS = 1_000_000_000


class CloudExternalObjects:
    """The objects of all buckets that the store's credentials may list.

    `objects` returns the client for a location, `hides` tells which keys belong to uploads.
    """

    def __init__(
        self,
        addresses: AddressParser,
        objects: Callable[[Location], ObjectClient],
        listing: ObjectClient,
        hides: Callable[[str], bool],
    ) -> None:
        self._addresses = addresses
        self._objects = objects
        self._listing = listing
        self._hides = hides

    def owns(self, address: str) -> bool:  # noqa: ARG002  the contract
        """Returns False: these objects have addresses like blocks."""
        return False

    def check(self, address: str) -> None:
        """Raises Invalid for an address of another store."""
        self._addresses.parse_prefix(address)

    def list(self, prefix: str, after: str = "") -> Iterator[ExternalObject]:
        """Yields the objects whose address starts with `prefix`, in the store's order, after the
        address `prefix + after`.
        """
        location = self._addresses.parse_prefix(prefix)
        base = base_length(location.key)
        for info in self._listing.list(location, after and location.key + after):
            if not self._hides(info.key):
                yield _source(location.root, info, base)

    def find(self, address: str) -> ExternalObject:
        """Returns the object at an address. Raises NotFound if it does not exist."""
        location = self._addresses.parse(address)
        info = self._objects(location).head(location)
        if info is None:
            raise NotFound(f"{address}: there is no such object", kind="source_not_found")
        return _source(location.root, info, len(info.key))


def _source(root: str, info: ObjectInfo, base: int) -> ExternalObject:
    name = info.key[base:].encode("utf-8", "surrogateescape")
    address = f"{root}/{info.key}"
    return ExternalObject(name, address, info.size, info.mtime * _NANOSECONDS, info.checksum)
