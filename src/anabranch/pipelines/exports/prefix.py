"""Prefix of the lake's own object store as an export destination; the store copies the bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile

from anabranch.blocks.contract import BlockStore, Stored
from anabranch.catalog.objects.open_object import OpenObject
from anabranch.errors import Gone, Invalid
from anabranch.pipelines.exports.checksums import content_md5
from anabranch.pipelines.exports.destination import invalid_path_error

__all__ = ["PrefixDestination"]


class PrefixDestination:
    """A prefix of the store, such as `s3://bucket/exports/`. Raises Invalid for an address of
    another store.
    """

    def __init__(self, blocks: BlockStore, address: str) -> None:
        self.address = f"{address.rstrip('/')}/"
        self._blocks = blocks
        # a store in a local folder keeps objects as files
        self.has_folders = blocks.local_path(f"{self.address}_") is not None
        blocks.stat(f"{self.address}_")  # raises for an address of another store

    def store(self, path: str, source: OpenObject) -> Stored:
        """Copies an object's bytes within the store if possible, replacing an existing object. The
        store guarantees the copy, so the returned checksum is that of the original.
        """
        try:
            return self._blocks.copy(
                source.physical_address,
                self.address + path,
                checksum=content_md5(source.entry.checksum),
            )
        except Invalid as error:
            raise invalid_path_error(path, error.message) from error

    def remove(self, paths: Iterable[str]) -> None:
        """Removes paths."""
        self._blocks.delete(self.address + path for path in paths)

    def sync(self) -> None:
        """Does nothing: writes that the store has acknowledged are durable."""

    def paths(self, after: str = "", last: str = "") -> Iterator[str]:
        """Yields the paths below the prefix that sort after `after` and not after `last`."""
        objects = self._blocks.list(self.address, f"{self.address}{after}" if after else "")
        paths = (stored.address[len(self.address) :] for stored in objects)
        if not last:
            return paths
        end = last.encode()
        return takewhile(lambda path: path.encode() <= end, paths)

    def read_note(self, name: str) -> bytes | None:
        """Returns the contents of an object directly below the prefix, or None."""
        try:
            return self._blocks.read(self.address + name)
        except Gone:
            return None

    def write_notes(self, notes: Mapping[str, bytes | None]) -> None:
        """Writes or removes objects directly below the prefix, in order."""
        for name, text in notes.items():
            if text is None:
                self._blocks.delete([self.address + name])
            else:
                self._blocks.put(self.address + name, [text])
