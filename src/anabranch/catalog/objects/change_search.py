"""The differences of two trees, with some of their properties, as Arrow record batches in the order
of their paths. They show the objects of both sides as a listing does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from anabranch import _kernel as kernel
from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.catalog.objects.readable_rows import KEY, readable_rows
from anabranch.errors import Corrupt
from anabranch.model.names import encode_path

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ChangeConditions", "ChangeSearch"]

_BATCH_ROWS = 16_384


class ChangeConditions(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions that all must be met: the key is at least `start` and less than `end`; the kind of
    the change (added, removed, changed) is one of several, any if there are none.
    """

    start: bytes = b""
    end: bytes | None = None
    kinds: tuple[str, ...] = ()


class ChangeSearch:
    """What must change in one tree to make it another, among the readable objects below a prefix,
    all if `readable` is None. Addresses are completed as in `ObjectSearch`.
    """

    def __init__(
        self,
        trees: tuple[kernel.Tree, kernel.Tree],
        prefix: str,
        readable: ReadablePaths | None,
        *,
        namespace: str,
        local_root: str,
    ) -> None:
        self._left, self._right = trees
        self._prefix = prefix
        self._readable = readable
        self._namespace = namespace
        self._local_root = local_root

    def batches(
        self, columns: Sequence[str], conditions: ChangeConditions
    ) -> Iterator[pa.RecordBatch]:
        """Yields changes with these columns: change, path, left, right. A batch may be empty. Bytes
        that are not UTF-8 are replacement characters, a time that microseconds cannot hold is null.
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
        self, prefix: str, columns: Sequence[str], conditions: ChangeConditions
    ) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415  an optional library

        changes = self._left.changes(
            self._right,
            columns,
            prefix=encode_path(prefix),
            start=conditions.start,
            end=conditions.end,
            kinds=conditions.kinds,
            namespace=self._namespace,
            local_root=self._local_root,
            batch=_BATCH_ROWS,
        )
        try:
            yield from pa.RecordBatchReader.from_stream(changes)
        except pa.ArrowInvalid as error:
            # Arrow wraps the kernel's errors
            raise Corrupt(str(error).removeprefix("External error: ")) from error
