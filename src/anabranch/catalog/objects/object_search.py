"""A search among the objects at a reference: those that meet conditions, with some of their
properties, as Arrow record batches in the order of their paths. It shows what a listing shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from anabranch import _kernel as kernel
from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.catalog.objects.readable_rows import KEY, readable_rows
from anabranch.errors import Corrupt
from anabranch.model.names import encode_path

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["MetadataCondition", "ObjectConditions", "ObjectSearch"]

_BATCH_ROWS = 32_768


class MetadataCondition(NamedTuple):
    """A condition on the value of a key of user metadata, which must be there: it is one of several
    (`in`), begins or ends with one (`prefix`, `suffix`), has one inside (`contains`), or is any
    (`exists`).
    """

    key: str
    operator: str
    values: tuple[str, ...] = ()


class ObjectConditions(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions that all must be met: the key is at least `start` and less than `end`; the size in
    bytes and the time, in microseconds since 1970, are between two values, both included; the
    content type is one of several, any if there are none; the user metadata meet `metadata`.
    """

    start: bytes = b""
    end: bytes | None = None
    sizes: tuple[int, int] | None = None
    times: tuple[int, int] | None = None
    content_types: tuple[str, ...] = ()
    metadata: tuple[MetadataCondition, ...] = ()


class ObjectSearch:
    """Searches a tree below a prefix, among the readable objects, all if `readable` is None. Full
    addresses begin with the `namespace`; `local_root` replaces the scheme of local ones.
    """

    def __init__(
        self,
        tree: kernel.Tree,
        prefix: str,
        readable: ReadablePaths | None,
        *,
        namespace: str,
        local_root: str,
    ) -> None:
        self._tree = tree
        self._prefix = prefix
        self._readable = readable
        self._namespace = namespace
        self._local_root = local_root

    def batches(
        self, columns: Sequence[str], conditions: ObjectConditions
    ) -> Iterator[pa.RecordBatch]:
        """Yields objects with these columns: path, physical_address, last_modified, size, checksum,
        metadata, content_type. A batch may be empty. Bytes that are not UTF-8 are replacement
        characters, a time that microseconds cannot hold is null. Raises Corrupt and Gone.
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
        self, prefix: str, columns: Sequence[str], conditions: ObjectConditions
    ) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415  an optional library

        search = self._tree.search(
            columns,
            prefix=encode_path(prefix),
            namespace=self._namespace,
            local_root=self._local_root,
            start=conditions.start,
            end=conditions.end,
            sizes=conditions.sizes,
            times=conditions.times,
            content_types=conditions.content_types,
            metadata=conditions.metadata,
            batch=_BATCH_ROWS,
        )
        try:
            yield from pa.RecordBatchReader.from_stream(search)
        except pa.ArrowInvalid as error:
            # Arrow wraps the kernel's errors
            raise Corrupt(str(error).removeprefix("External error: ")) from error
