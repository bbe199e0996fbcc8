"""The differences of two trees, with some of their properties, as Arrow record batches in the order
of their paths. They show the objects of both sides as a listing does.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from anabranch import _kernel as kernel
from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.catalog.objects.tree_search import TreeSearch

__all__ = ["ChangeConditions", "ChangeSearch"]

_BATCH_ROWS = 16_384


class ChangeConditions(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions that all must be met: the key is at least `start` and less than `end`; the kind of
    the change (added, removed, changed) is one of several, any if there are none.
    """

    start: bytes = b""
    end: bytes | None = None
    kinds: tuple[str, ...] = ()


class ChangeSearch(TreeSearch[ChangeConditions]):
    """What must change in one tree to make it another. Columns: change, path, left, right."""

    def __init__(
        self,
        trees: tuple[kernel.Tree, kernel.Tree],
        prefix: str,
        readable: ReadablePaths | None,
        *,
        namespace: str,
        local_root: str,
    ) -> None:
        super().__init__(prefix, readable, namespace=namespace, local_root=local_root)
        self._left, self._right = trees

    def _stream(
        self, prefix: bytes, columns: Sequence[str], conditions: ChangeConditions
    ) -> kernel.ArrowStream:
        return self._left.changes(
            self._right,
            columns,
            prefix=prefix,
            start=conditions.start,
            end=conditions.end,
            kinds=conditions.kinds,
            namespace=self._namespace,
            local_root=self._local_root,
            batch=_BATCH_ROWS,
        )
