"""Re-keying: the entries of a folder of one tree as a tree of their own, under other keys, their
addresses made full, so that they can be read from any repository.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from anabranch import _kernel as kernel
from anabranch.model.entry import AddressType, physical_address
from anabranch.model.glob import glob
from anabranch.model.names import MAX_PATH_BYTES, path_of
from anabranch.pipelines.imports.entries import Record
from anabranch.pipelines.imports.ordering import records_of
from anabranch.pipelines.imports.tally import Refused, Tally
from anabranch.versioning.staging import Value

__all__ = ["BETWEEN_LOOKS", "Layer", "Move", "full_entry", "rekeyed", "unfit_key"]

BETWEEN_LOOKS = 1_024
_FULL = int(AddressType.FULL)


class Move(NamedTuple):
    """From which prefix to which, in whose namespace relative addresses are, and what is left
    out: what matches one of the patterns behind the prefix.
    """

    prefix: bytes
    destination: bytes
    namespace: str
    exclude: Sequence[str] = ()


class Layer(NamedTuple):
    """A tree that was written into the build's folder, and its size in bytes."""

    metarange_id: str
    objects: int
    size: int


def rekeyed(tree: kernel.Tree, move: Move, folder: str, tally: Tally) -> Layer:
    """Writes what a move makes of a tree into a folder. Raises Invalid where a path would be too
    long, and what the tally raises.
    """
    moving = _Moving(tree, move, tally)
    written = kernel.write_tree(moving, folder)
    moving.refused.require_none()
    return Layer(written.metarange_id, written.count, moving.size)


class _Moving:
    """The records that a move makes, and what they come to."""

    def __init__(self, tree: kernel.Tree, move: Move, tally: Tally) -> None:
        self._tree = tree
        self._move = move
        self._tally = tally
        self.refused = Refused("added")
        self.size = 0

    def __iter__(self) -> Iterator[Record]:
        prefix, destination, namespace, exclude = self._move
        patterns = [glob(pattern) for pattern in exclude]
        number = 0
        for number, (key, value) in enumerate(records_of(self._tree, prefix), 1):
            if not number % BETWEEN_LOOKS:
                self._tally.add(BETWEEN_LOOKS)
            name = key[len(prefix) :]
            if patterns and any(pattern.matches(path_of(name)) for pattern in patterns):
                continue
            moved = destination + name
            if not moved or len(moved) > MAX_PATH_BYTES:
                self.refused.add(path_of(key), unfit_key(moved))
                continue
            entry, size = full_entry(value, namespace)
            self.size += size
            yield moved, entry
        self._tally.add(number % BETWEEN_LOOKS)


def full_entry(value: Value, namespace: str) -> tuple[Value, int]:
    """Returns an entry of a repository with that namespace, its address made full, and its size
    in bytes.
    """
    address, kind, mtime, nanos, size, checksum, metadata, content_type = kernel.decode_entry(
        value[1]
    )
    full = physical_address(namespace, address, kind)
    if full == address and kind == _FULL:
        return value, size
    entry = kernel.encode_entry(full, _FULL, mtime, nanos, size, checksum, metadata, content_type)
    return entry, size


def unfit_key(key: bytes) -> str:
    """Returns why bytes can be no key in an image."""
    if not key:
        return "it would have no path in the image"
    return f"its path would have {len(key)} bytes, at most {MAX_PATH_BYTES} are allowed"
