"""Reads of many objects at one reference, which are sent as frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from anabranch.blocks.contract import BlockStore
from anabranch.catalog.objects.objects import Objects
from anabranch.catalog.objects.open_object import OpenObject
from anabranch.errors import Gone, Invalid
from anabranch.model.names import check_path, encode_path
from anabranch.model.objects.batch import FRAME_HEADER, MAX_BATCH_BYTES, FrameState
from anabranch.model.objects.entry_records import Value, entry_from
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.references.references import Resolved

__all__ = ["BatchReads", "ObjectBatch"]

_PIECE_BYTES = 256 * 1024
"""Small objects are sent together, in pieces of about this size."""


class ObjectBatch(NamedTuple):
    """Objects as they were at one moment, None for a path that had none."""

    objects: Sequence[OpenObject | None]

    @property
    def byte_count(self) -> int:
        """The length of all frames."""
        return len(self.objects) * FRAME_HEADER.size + self.content_bytes

    @property
    def content_bytes(self) -> int:
        """The sizes of the objects together."""
        return sum(each.byte_count for each in self.objects if each is not None)

    def chunks(self) -> Iterator[bytes]:
        """Yields the frames in pieces."""
        gathered: list[bytes] = []
        size = 0
        for part in chain.from_iterable(map(_frame, self.objects)):
            gathered.append(part)
            size += len(part)
            if size >= _PIECE_BYTES:
                yield b"".join(gathered)
                gathered, size = [], 0
        if gathered:
            yield b"".join(gathered)


class BatchReads:
    """Opens many objects at once."""

    def __init__(self, core: Core, blocks: BlockStore, objects: Objects) -> None:
        self._core = core
        self._blocks = blocks
        self._objects = objects

    def open(self, repository: str, reference: str, paths: Sequence[str]) -> ObjectBatch:
        """Returns the objects at paths of a reference, which is resolved once. Raises NotFound for
        the reference, Invalid for a path that cannot be one, and for objects that are too large to
        be read by one request.
        """
        for path in paths:
            check_path(path)
        at = self._objects.resolve(repository, reference)
        stored = self._core.repositories.get(repository)
        batch = ObjectBatch(
            [
                None if value is None else OpenObject(stored, entry_from(value), self._blocks)
                for value in self._values(stored, at, paths)
            ]
        )
        if batch.content_bytes > MAX_BATCH_BYTES:
            raise Invalid(
                f"the objects have {batch.content_bytes:,} bytes together, at most "
                f"{MAX_BATCH_BYTES:,} are read by one request",
                kind="batch_too_large",
                hint="Read fewer objects at a time, or each by a request of its own.",
            )
        return batch

    def _values(
        self, repository: Repository, at: Resolved, paths: Sequence[str]
    ) -> Sequence[Value | None]:
        if at.tokens:
            return [self._core.objects.value(repository, at, path) for path in paths]
        tree = self._core.objects.tree(repository, at.commit_id)
        return self._core.trees.read(tree.get_many, [encode_path(path) for path in paths])


def _frame(opened: OpenObject | None) -> Iterator[bytes]:
    """Yields the frame of an object in parts. Raises Gone if a large object is lost behind its
    first bytes.
    """
    if opened is None:
        yield FRAME_HEADER.pack(FrameState.NOT_FOUND, 0)
        return
    size = opened.byte_count
    reading: Iterator[bytes] = iter(())
    try:
        if size <= _PIECE_BYTES:
            first = opened.read_bytes()
        else:
            reading = opened.chunks()
            first = next(reading, b"")
    except Gone:
        yield FRAME_HEADER.pack(FrameState.LOST, size)
        yield from (bytes(min(_PIECE_BYTES, size - at)) for at in range(0, size, _PIECE_BYTES))
        return
    yield FRAME_HEADER.pack(FrameState.CONTENT, size)
    yield first
    yield from reading
