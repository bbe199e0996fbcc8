"""The records of tables in the ranges of a repository, kept between runs.

A range never changes (see `address_index`), so each is read once. Most ranges have the records of
the one before, so each record is kept once, and the numbers of its records for each range. They
are in one file for each repository:

    "ANARECS1"  sha256 of the rest (32 bytes)  as `KeptForm` has it: records, ranges
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa

from anabranch import _kernel as kernel
from anabranch.files.private_folders import make_private_folder
from anabranch.model.objects.entry import physical_address
from anabranch.model.repositories.repository import Repository
from anabranch.model.tables.table_record import is_record_below
from anabranch.pipelines.garbage.addresses.checked_file import KeptForm
from anabranch.pipelines.garbage.addresses.range_tree import range_tree
from anabranch.versioning.garbage.table_files import records_prefix

__all__ = ["RangeRecords", "RecordRow", "kept_name", "may_have_records", "read_records"]

RecordRow = tuple[str, str, int]
"""The path of a record, the full address of its content, and the size of that in bytes."""


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    records: list[RecordRow]
    ranges: dict[str, bytes]


_FORM = KeptForm(b"ANARECS1", msgspec.msgpack.Decoder(_Kept))


class RangeRecords:
    """The records in ranges of a repository, kept in a file in `folder` if there is one. `locate`
    returns the path of a range's file by its id.
    """

    def __init__(
        self, repository: Repository, locate: Callable[[str], str], folder: Path | None
    ) -> None:
        self._repository = repository
        self._prefix = records_prefix(repository)
        self._locate = locate
        self._path = None if folder is None else folder / kept_name(repository)
        if folder is not None:
            make_private_folder(folder)
        kept = _FORM.read(self._path) or _Kept([], {})
        self._records: dict[RecordRow, int] = {row: n for n, row in enumerate(kept.records)}
        self._ranges = kept.ranges
        self._used: set[str] = set()

    def load(self, ranges: Iterable[kernel.RangeInfo]) -> list[RecordRow]:
        """Returns the records of ranges, each once; keeps those that were read. Raises Gone for a
        missing range and Corrupt for a damaged one.
        """
        asked = {info.id: info for info in ranges}
        unknown = [info for range_id, info in asked.items() if range_id not in self._ranges]
        for info in unknown:
            rows = [self._records.setdefault(row, len(self._records)) for row in self._read(info)]
            self._ranges[info.id] = np.array(rows, "<u4").tobytes()
        if unknown:
            self._write()
        self._used.update(asked)
        if not asked:
            return []
        numbers = np.frombuffer(b"".join(map(self._ranges.__getitem__, asked)), "<u4")
        rows_by_number = list(self._records)
        return [rows_by_number[number] for number in np.unique(numbers)]

    def remove_unused(self) -> None:
        """Removes what is kept of ranges that were not loaded."""
        if self._used < self._ranges.keys():
            rows, used = list(self._records), dict[RecordRow, int]()
            for range_id in list(self._ranges):
                numbers = np.frombuffer(self._ranges.pop(range_id), "<u4")
                if range_id in self._used:
                    own = [used.setdefault(rows[number], len(used)) for number in numbers]
                    self._ranges[range_id] = np.array(own, "<u4").tobytes()
            self._records = used
            self._write()

    def may_be_in(self, info: kernel.RangeInfo) -> bool:
        """Returns whether a range may have records."""
        return may_have_records(self._prefix, info)

    def _read(self, info: kernel.RangeInfo) -> Iterator[RecordRow]:
        return read_records(self._repository, info, self._locate(info.id))

    def _write(self) -> None:
        _FORM.write(self._path, _Kept(list(self._records), self._ranges))


def may_have_records(prefix: bytes, info: kernel.RangeInfo) -> bool:
    """Returns whether a range may have records, whose keys begin with a prefix."""
    return info.min_key[: len(prefix)] <= prefix <= info.max_key


def read_records(repository: Repository, info: kernel.RangeInfo, path: str) -> Iterator[RecordRow]:
    """Yields the records in a range of a repository, whose table is in a file. Raises Corrupt."""
    columns = ("path", "physical_address", "address_type", "size")
    with range_tree(info, path) as tree:
        prefix = records_prefix(repository)
        for batch in pa.RecordBatchReader.from_stream(tree.scan(prefix=prefix)):
            for name, address, kind, size in zip(
                *(batch.column(column).to_pylist() for column in columns), strict=True
            ):
                if is_record_below(name):
                    yield name, physical_address(repository.storage_namespace, address, kind), size


def kept_name(repository: Repository) -> str:
    """Returns the name of the file of a repository's records, which have full addresses: restored
    from a backup, a repository has its id and its ranges in another namespace.
    """
    namespace = hashlib.sha256(repository.storage_namespace.encode("utf-8", "surrogatepass"))
    return f"{repository.partition}-{namespace.hexdigest()[:16]}"
