"""Layers of objects that lie in no repository: found by their store's listing, pinned by ETag.

The bytes at such an address may be replaced by others. So each entry keeps the ETag that was found,
and who reads it later is told if there is another (see `catalog/pinned_reads`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from anabranch import _kernel as kernel
from anabranch.blocks.sources import Source, Sources
from anabranch.model.entry import AddressType
from anabranch.model.glob import glob
from anabranch.model.image import PINNED
from anabranch.model.lakefile import Add
from anabranch.model.names import key_of, path_of
from anabranch.pipelines.imports.entries import Record, unfit_path
from anabranch.pipelines.imports.ordering import RUN_RECORDS, sorted_by_runs
from anabranch.pipelines.imports.tally import Refused, Tally
from anabranch.versioning.trees import Trees

__all__ = ["external_tree"]

_NANOSECONDS = 1_000_000_000
_BETWEEN_LOOKS = 1_024
_FULL = int(AddressType.FULL)


def external_tree(
    layer: Add, sources: Sources, trees: Trees, folder: str, tally: Tally
) -> tuple[str, int]:
    """Writes the tree of a layer, by the paths in the image, into a folder; returns its id and
    the size of its objects, in bytes. The id is a digest over the paths, addresses, ETags, sizes
    and times of what was found.

    Raises NotFound where there is no such place, Invalid for names that no path can have, and
    what the store and the tally raise.
    """
    coming = _Coming(layer, sources, tally)
    try:
        written = kernel.write_tree(coming, folder)
    except ValueError:
        # a store that lists in another order than that of keys: once more, and sorted
        coming = _Coming(layer, sources, tally)
        written = kernel.write_tree(sorted_by_runs(coming, trees, folder, RUN_RECORDS), folder)
    coming.refused.require_none()
    return written.metarange_id, coming.size


class _Coming:
    """The records of a layer, as the store lists them, and what they come to."""

    def __init__(self, layer: Add, sources: Sources, tally: Tally) -> None:
        self._layer = layer
        self._sources = sources
        self._tally = tally
        self.refused = Refused("added")
        self.size = 0

    def __iter__(self) -> Iterator[Record]:
        patterns = [glob(pattern) for pattern in self._layer.exclude]
        destination = key_of(self._layer.destination)
        number = 0
        for number, found in enumerate(self._found(), 1):
            if not number % _BETWEEN_LOOKS:
                self._tally.add(_BETWEEN_LOOKS)
            if patterns and any(pattern.matches(path_of(found.name)) for pattern in patterns):
                continue
            if not found.name and self._layer.is_prefix:
                continue  # a marker of the folder itself
            key = destination + found.name
            reason = unfit_path(key)
            if reason:
                self.refused.add(found.address, reason)
                continue
            self.size += found.size
            yield key, _value(found)
        self._tally.add(number % _BETWEEN_LOOKS)

    def _found(self) -> Iterable[Source]:
        address = str(self._layer.source)
        if self._layer.is_prefix:
            return self._sources.list(address)
        return [self._sources.find(address)]


def _value(found: Source) -> tuple[bytes, bytes]:
    seconds, nanos = divmod(found.mtime, _NANOSECONDS)
    pinned = {PINNED: found.checksum}
    return kernel.encode_entry(
        found.address, _FULL, seconds, nanos, found.size, found.checksum, pinned, ""
    )
