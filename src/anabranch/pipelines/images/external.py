"""Layers of external objects, outside of all repositories: listed from their store, and pinned by
their ETags.

Other programs may replace such an object. So each entry stores the ETag of the listing, and reading
the entry raises an error if the ETag has changed (see `catalog.objects`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from anabranch import _kernel as kernel
from anabranch.blocks.external_objects import ExternalObject, ExternalObjects
from anabranch.model.image import PINNED
from anabranch.model.lakefile.instructions import Add
from anabranch.model.names import decode_key, encode_path
from anabranch.model.objects.entry import AddressType
from anabranch.patterns.glob import glob
from anabranch.pipelines.imports.entries import Record, invalid_path_reason
from anabranch.pipelines.imports.merge_sorted_runs import RUN_RECORDS, merge_sorted_runs
from anabranch.pipelines.imports.rejected_objects import RejectedObjects
from anabranch.pipelines.jobs.progress import Progress
from anabranch.versioning.garbage.tree_admission import is_collectable
from anabranch.versioning.trees.trees import Trees

__all__ = ["ExternalTree", "external_tree"]

_NANOSECONDS = 1_000_000_000
_REPORT_EVERY = 1_024
_FULL = int(AddressType.FULL)


class ExternalTree(NamedTuple):
    """The tree of a layer. Its id is a digest over the paths, addresses, ETags, sizes and times of
    its objects, `size` is their total size in bytes. `collectable` is the path of an object in the
    data of a repository, where garbage collection may remove it; "" for none.
    """

    metarange_id: str
    size: int
    collectable: str


def external_tree(
    layer: Add, sources: ExternalObjects, trees: Trees, folder: str, progress: Progress
) -> ExternalTree:
    """Writes the tree of a layer, with the paths in the image, into a folder.

    Raises NotFound if the source does not exist, Invalid for names that are invalid as paths, and
    the errors of the store and of `progress`.
    """
    listing = _ExternalListing(layer, sources, progress)
    try:
        written = kernel.write_tree(listing, folder)
    except ValueError:
        # the store does not list in key order: list again, and sort
        listing = _ExternalListing(layer, sources, progress)
        written = kernel.write_tree(merge_sorted_runs(listing, trees, folder, RUN_RECORDS), folder)
    listing.rejected.require_none()
    return ExternalTree(written.metarange_id, listing.size, listing.collectable)


class _ExternalListing:
    """The records of a layer in the order of the store's listing, and their total size."""

    def __init__(self, layer: Add, sources: ExternalObjects, progress: Progress) -> None:
        self._layer = layer
        self._sources = sources
        self._progress = progress
        self.rejected = RejectedObjects("added")
        self.size = 0
        self.collectable = ""

    def __iter__(self) -> Iterator[Record]:
        patterns = [glob(pattern) for pattern in self._layer.exclude]
        destination = encode_path(self._layer.destination)
        number = 0
        for number, source in enumerate(self._list_objects(), 1):
            if not number % _REPORT_EVERY:
                self._progress.advance(_REPORT_EVERY)
            if patterns and any(pattern.matches(decode_key(source.name)) for pattern in patterns):
                continue
            if not source.name and self._layer.is_prefix:
                continue  # the directory marker of the prefix itself
            key = destination + source.name
            reason = invalid_path_reason(key)
            if reason:
                self.rejected.add(source.address, reason)
                continue
            self.size += source.size
            if not self.collectable and is_collectable(source.address):
                self.collectable = decode_key(key)
            yield key, _encode_entry(source)
        self._progress.advance(number % _REPORT_EVERY)

    def _list_objects(self) -> Iterable[ExternalObject]:
        address = str(self._layer.source)
        if self._layer.is_prefix:
            return self._sources.list(address)
        return [self._sources.find(address)]


def _encode_entry(source: ExternalObject) -> tuple[bytes, bytes]:
    seconds, nanos = divmod(source.mtime, _NANOSECONDS)
    pinned = {PINNED: source.checksum}
    return kernel.encode_entry(
        source.address, _FULL, seconds, nanos, source.size, source.checksum, pinned, ""
    )
