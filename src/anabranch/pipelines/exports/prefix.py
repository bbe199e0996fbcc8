"""A prefix of the lake's own object store as the place of an export: bytes stay in the store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from anabranch.blocks.contract import BlockStore, Stored
from anabranch.catalog.objects import OpenObject
from anabranch.errors import Gone, Invalid
from anabranch.pipelines.exports.checksums import md5_of
from anabranch.pipelines.exports.destination import unfit

__all__ = ["PrefixDestination"]


class PrefixDestination:
    """What lies below an address of the store, as `s3://bucket/exports/`. Raises Invalid for an
    address that is not the store's.
    """

    def __init__(self, blocks: BlockStore, address: str) -> None:
        self.address = f"{address.rstrip('/')}/"
        self._blocks = blocks
        blocks.stat(f"{self.address}_")  # an address of another store is refused here

    def store(self, path: str, found: OpenObject) -> Stored:
        """Copies an object's bytes in place of what is there; the store does that itself where it
        can. It vouches for the copy: the checksum of what was copied is told as its own.
        """
        try:
            return self._blocks.copy(
                found.physical_address, self.address + path, checksum=md5_of(found.entry.checksum)
            )
        except Invalid as error:
            raise unfit(path, error.message) from error

    def remove(self, paths: Iterable[str]) -> None:
        """Removes what is at paths."""
        self._blocks.delete(self.address + path for path in paths)

    def settle(self) -> None:
        """Does nothing: what the store has acknowledged is durable."""

    def paths(self) -> Iterator[str]:
        """Yields the paths of all that is there."""
        known = self._blocks.list(self.address)
        stem = len(self.address)
        return (found.address[stem:] for found in known)

    def read_note(self, name: str) -> bytes | None:
        """Returns what lies at the top, or None."""
        try:
            return self._blocks.read(self.address + name)
        except Gone:
            return None

    def write_notes(self, notes: Mapping[str, bytes | None]) -> None:
        """Writes at the top, or removes, one after another."""
        for name, text in notes.items():
            if text is None:
                self._blocks.delete([self.address + name])
            else:
                self._blocks.put(self.address + name, [text])
