"""Rows in files, in partitions by the leading bits of their hash: hundreds of millions of them are
joined in memory that holds one partition.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["LISTED", "NEEDED", "Rows", "SpilledRows", "partition_bits"]

Rows: TypeAlias = npt.NDArray[np.void]

LISTED = np.dtype([("hash", "<u8"), ("size", "<i8")])
"""An object of the store."""

NEEDED = np.dtype([("hash", "<u8"), ("size", "<i8"), ("row", "<u8")])
"""An entry that needs an object; `row` is its number among all entries."""

_PARTITION_ROWS = 1 << 21
_MAX_BITS = 8
_BUFFERED_ROWS = 1 << 20


def partition_bits(rows: int) -> int:
    """Returns the number of leading bits by which so many rows are divided."""
    return min(_MAX_BITS, max(0, (rows // _PARTITION_ROWS).bit_length()))


class SpilledRows:
    """Rows of a type whose field `hash` divides them into 2 ** bits partitions, below a folder."""

    def __init__(self, folder: Path, bits: int, kind: np.dtype[Any]) -> None:
        self._folder = folder
        self._bits = bits
        self._kind = kind
        self._buffer: list[Rows] = []
        self._buffered = 0
        folder.mkdir()

    @property
    def partitions(self) -> int:
        """The number of partitions."""
        return 1 << self._bits

    def add(self, *columns: npt.NDArray[Any]) -> None:
        """Adds rows, by their columns in the order of the type's fields."""
        rows = np.empty(len(columns[0]), self._kind)
        for name, column in zip(self._kind.names or (), columns, strict=True):
            rows[name] = column
        self._buffer.append(rows)
        self._buffered += len(rows)
        if self._buffered >= _BUFFERED_ROWS:
            self._flush()

    def read(self, partition: int) -> Rows:
        """Returns the rows of a partition, sorted by the hash."""
        self._flush()
        path = self._path(partition)
        rows: Rows = np.fromfile(path, self._kind) if path.exists() else np.empty(0, self._kind)
        return rows[np.argsort(rows["hash"], kind="stable")]

    def _flush(self) -> None:
        if not self._buffer:
            return
        rows = np.concatenate(self._buffer)
        self._buffer, self._buffered = [], 0
        if not self._bits:
            self._append(0, rows)
            return
        numbers = rows["hash"] >> np.uint64(64 - self._bits)
        order = np.argsort(numbers, kind="stable")
        rows, numbers = rows[order], numbers[order]
        bounds = np.searchsorted(numbers, np.arange(self.partitions + 1, dtype=np.uint64))
        for partition in range(self.partitions):
            self._append(partition, rows[bounds[partition] : bounds[partition + 1]])

    def _append(self, partition: int, rows: Rows) -> None:
        if len(rows):
            with self._path(partition).open("ab") as file:
                rows.tofile(file)

    def _path(self, partition: int) -> Path:
        return self._folder / f"{partition:03}"
