"""The paths that a query reads: those with a prefix, after one path and up to another."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.model.names import encode_path
from anabranch.model.page import upper_bound

__all__ = ["ALL_KEYS", "KeyRange", "key_range"]


class KeyRange(NamedTuple):
    """The keys that begin with `prefix` and sort after `after`, up to and including `until`. An
    empty `after` or `until` is no limit.
    """

    prefix: bytes = b""
    after: bytes = b""
    until: bytes = b""

    def overlaps(self, min_key: bytes, max_key: bytes) -> bool:
        """Returns whether any key between two keys, both inclusive, can be in this range."""
        end = upper_bound(self.prefix)
        return (
            max_key >= self.prefix
            and (end is None or min_key < end)
            and max_key > self.after
            and (not self.until or min_key <= self.until)
        )

    def narrow(self, after: bytes = b"", until: bytes = b"") -> KeyRange:
        """Returns the keys of this range that are after `after` and up to `until`, too."""
        ends = [end for end in (self.until, until) if end]
        return KeyRange(self.prefix, max(self.after, after), min(ends, default=b""))

    def trim(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Returns the rows of a batch whose paths do not sort after the range."""
        if not self.until or not batch.num_rows:
            return batch
        # as bytes, because a path need not be UTF-8
        paths = batch.column("path").cast(pa.binary())
        if paths[-1].as_py() <= self.until:
            return batch
        return batch.filter(pc.less_equal(paths, pa.scalar(self.until)))


ALL_KEYS = KeyRange()


def key_range(prefix: str = "", after: str = "", until: str = "") -> KeyRange:
    """Returns the range of the keys of paths."""
    return KeyRange(encode_path(prefix), encode_path(after), encode_path(until))
