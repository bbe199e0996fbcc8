"""Foreign spans: the first and the last full address of each range of a repository.

Addresses relative to a repository's namespace cannot be in another one, unless one namespace is
inside the other. So a range must be read for the collection of another repository only if its full
addresses can begin as that namespace does. Most ranges have none.

A span does not depend on which repository is collected, and a range never changes (see
`address_index`). Therefore each range is read once for all collections of an installation. The
spans of a repository are in one file:

    "ANASPAN1"  sha256 of the rest (32 bytes)  JSON: {range: [rows, first, last]}

A damaged file is replaced: a wrong span would let objects be deleted. If two collections write the
file at the same time, one of them is preserved, and the ranges of the other are read again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from anabranch import _kernel as kernel
from anabranch.files.private_folders import make_private_folder
from anabranch.pipelines.garbage.addresses.address_index import (
    damage_reported,
    is_plain,
    require_rows,
)
from anabranch.pipelines.garbage.addresses.checked_file import read_checked, write_checked
from anabranch.pipelines.garbage.addresses.namespace import Namespace, is_full
from anabranch.pipelines.garbage.addresses.range_tree import range_tree
from anabranch.pipelines.jobs.parallel_map import parallel_map

__all__ = ["ForeignSpans", "Span", "read_span"]

_MAGIC = b"ANASPAN1"


class Span(msgspec.Struct, frozen=True, array_like=True):
    """The number of entries of a range, and its first and last full address; both are empty if it
    has none.
    """

    rows: int
    first: str = ""
    last: str = ""

    def may_be_in(self, namespace: Namespace) -> bool:
        """Returns whether a full address of the range may be in a namespace."""
        return bool(self.last) and any(
            prefix <= self.last and (self.first <= prefix or self.first.startswith(prefix))
            for prefix in namespace.prefixes
        )


_DECODER = msgspec.json.Decoder(dict[str, Span])


class ForeignSpans:
    """The spans of a repository's ranges, which are kept in the file `path`. `locate` returns the
    path of a range's file by its id.
    """

    def __init__(self, path: Path, locate: Callable[[str], str]) -> None:
        self._path = path
        self._locate = locate
        body = read_checked(path, _MAGIC)
        self._spans = {} if body is None else _DECODER.decode(body)
        self._used: set[str] = set()

    def load(self, ranges: Sequence[kernel.RangeInfo]) -> Iterator[tuple[Span, bool]]:
        """Yields the span of each range, and whether the range was read because its span was not
        known; keeps those that were read. Raises Gone for a missing range and Corrupt for a damaged
        one.
        """
        self._used.update(info.id for info in ranges)
        read = {}
        for info, span in zip(ranges, parallel_map(self._load, ranges), strict=True):
            if info.id not in self._spans or self._spans[info.id] != span:
                read[info.id] = span
            yield span, info.id in read
        if read:
            self._spans.update(read)
            self._write()

    def remove_unused(self) -> None:
        """Removes the spans of ranges that were not loaded."""
        if self._used < self._spans.keys():
            self._spans = {range_id: self._spans[range_id] for range_id in self._used}
            self._write()

    def _load(self, info: kernel.RangeInfo) -> Span:
        known = self._spans.get(info.id)
        if known is not None and known.rows == info.count:
            return known
        path = self._locate(info.id)
        with range_tree(info, path) as tree, damage_reported(path):
            span = read_span(tree)
        require_rows(span.rows, info.count, path)
        return span

    def _write(self) -> None:
        make_private_folder(self._path.parent)
        write_checked(self._path, _MAGIC, msgspec.json.encode(self._spans))


def read_span(tree: kernel.Tree) -> Span:
    """Returns the span of all entries of a tree."""
    rows = 0
    for batch in pa.RecordBatchReader.from_stream(tree.scan(decoded=False)):
        if not pc.all(is_plain(batch.column("data"))).as_py():
            return _read_decoded(tree)
        rows += batch.num_rows
    return Span(rows)


def _read_decoded(tree: kernel.Tree) -> Span:
    rows, bounds = 0, []
    for batch in pa.RecordBatchReader.from_stream(tree.scan()):
        rows += batch.num_rows
        addresses = batch.column("physical_address")
        full = addresses.filter(is_full(addresses, batch.column("address_type")))
        if len(full):
            bounds += [pc.min(full).as_py(), pc.max(full).as_py()]
    return Span(rows, min(bounds, default=""), max(bounds, default=""))
