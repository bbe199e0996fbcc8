"""A search among the objects at a reference: those that meet conditions, with some of their
properties, as Arrow record batches in the order of their paths. It shows what a listing shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from anabranch import _kernel as kernel
from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.catalog.objects.tree_search import TreeSearch

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


class ObjectSearch(TreeSearch[ObjectConditions]):
    """The objects of a tree. Columns: path, physical_address, last_modified, size, checksum,
    metadata, content_type.
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
        super().__init__(prefix, readable, namespace=namespace, local_root=local_root)
        self._tree = tree

    def _stream(
        self, prefix: bytes, columns: Sequence[str], conditions: ObjectConditions
    ) -> kernel.ArrowStream:
        return self._tree.search(
            columns,
            prefix=prefix,
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
