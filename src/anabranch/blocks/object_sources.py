"""What imports find in object stores, by the stores' own listings."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from anabranch.blocks.object_addresses import AddressForm, Location
from anabranch.blocks.objects import Listed, Objects
from anabranch.blocks.sources import Source, base_length
from anabranch.errors import NotFound

__all__ = ["ObjectSources"]

_NANOSECONDS = 1_000_000_000


class ObjectSources:
    """The keys of all buckets that the store's credentials let us list.

    `objects` gives what reads a location, `hides` says which keys are of uploads in parts.
    """

    def __init__(
        self,
        form: AddressForm,
        objects: Callable[[Location], Objects],
        listing: Objects,
        hides: Callable[[str], bool],
    ) -> None:
        self._form = form
        self._objects = objects
        self._listing = listing
        self._hides = hides

    def owns(self, address: str) -> bool:  # noqa: ARG002  the contract
        """Returns False: sources have the addresses of blocks."""
        return False

    def check(self, address: str) -> None:
        """Raises Invalid for another store's address."""
        self._form.beginning(address)

    def list(self, prefix: str, after: str = "") -> Iterator[Source]:
        """Yields all whose address begins so, as the store lists them: after `prefix` with `after`
        behind it.
        """
        location = self._form.beginning(prefix)
        base = base_length(location.key)
        for found in self._listing.list(location, after and location.key + after):
            if not self._hides(found.key):
                yield _source(location.root, found, base)

    def find(self, address: str) -> Source:
        """Returns what is at an address. Raises NotFound where there is nothing."""
        location = self._form.block(address)
        found = self._objects(location).head(location)
        if found is None:
            raise NotFound(f"{address}: there is no such object", kind="source_not_found")
        return _source(location.root, found, len(found.key))


def _source(root: str, found: Listed, base: int) -> Source:
    name = found.key[base:].encode("utf-8", "surrogateescape")
    address = f"{root}/{found.key}"
    return Source(name, address, found.size, found.mtime * _NANOSECONDS, found.checksum)
