"""Searches of trees, as Arrow record batches in the order of their paths, among the objects that a
user may read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

from anabranch import _kernel as kernel
from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.catalog.objects.readable_rows import KEY, readable_rows
from anabranch.errors import Corrupt
from anabranch.model.names import encode_path

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["TreeSearch"]

C = TypeVar("C")


class TreeSearch(ABC, Generic[C]):
    """A search below a prefix, among the readable objects, all if `readable` is None. Full
    addresses begin with the `namespace`; `local_root` replaces the scheme of local ones. C is the
    type of its conditions.
    """

    def __init__(
        self, prefix: str, readable: ReadablePaths | None, *, namespace: str, local_root: str
    ) -> None:
        self._prefix = prefix
        self._readable = readable
        self._namespace = namespace
        self._local_root = local_root

    @abstractmethod
    def _stream(self, prefix: bytes, columns: Sequence[str], conditions: C) -> kernel.ArrowStream:
        """Returns the kernel's stream of what is below a prefix, readable or not."""

    def batches(self, columns: Sequence[str], conditions: C) -> Iterator[pa.RecordBatch]:
        """Yields rows with these columns, which the class names. A batch may be empty. Bytes that
        are not UTF-8 are replacement characters, a time that microseconds cannot hold is null.
        Raises Corrupt and Gone.
        """
        readable = self._readable
        if readable is None:
            yield from self._search(self._prefix, columns, conditions)
            return
        for root in readable.roots(self._prefix):
            if readable.contain_all_below(root):
                yield from self._search(root, columns, conditions)
                continue
            for batch in self._search(root, [*columns, KEY], conditions):
                yield readable_rows(batch, readable).select(list(columns))

    def _search(
        self, prefix: str, columns: Sequence[str], conditions: C
    ) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415  an optional library

        stream = self._stream(encode_path(prefix), columns, conditions)
        try:
            yield from pa.RecordBatchReader.from_stream(stream)
        except pa.ArrowInvalid as error:
            # Arrow wraps the kernel's errors
            raise Corrupt(str(error).removeprefix("External error: ")) from error
