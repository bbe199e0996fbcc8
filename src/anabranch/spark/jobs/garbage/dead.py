"""The dead objects of a run, which stay in the store.

Tasks compare the listing with the marks of references: one join finds listed objects without a mark
and marks without a listed object. They write the dead objects that can be candidates to files. A
second job sorts these by address and writes the files of candidates. The driver receives the names
of files, totals, and which ranges have unlisted addresses.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.pipelines.garbage.addresses.candidates import (
    CANDIDATES,
    found_since,
    may_be_candidates,
)
from anabranch.pipelines.garbage.addresses.table_files import DeadTableFiles, KeptFiles
from anabranch.pipelines.garbage.run_context import RunContext
from anabranch.pipelines.garbage.run_files import CANDIDATE_PARTS, CandidatePart, EarlierFile
from anabranch.pipelines.garbage.totals import CandidateTimes, CandidateTotals
from anabranch.spark.jobs.garbage.missing import Absent
from anabranch.spark.jobs.garbage.ranges import UNCOMMITTED
from anabranch.spark.jobs.parts import (
    PartReader,
    PartWriter,
    read_parts,
    remove_parts,
    signed_hashes,
    to_row,
)
from anabranch.spark.planning.declaration import declaration
from anabranch.spark.planning.scan_plan import map_in_tasks
from anabranch.spark.sources.stores import Opener, open_store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["DeadObjects"]

_TOTALS_DECODER = msgspec.json.Decoder(CandidateTotals)
_TABLES_DECODER = msgspec.json.Decoder(DeadTableFiles)
_SINCE = pa.schema([("hash", pa.int64()), ("since", pa.int64())])

_UNMATCHED = pa.schema(
    [
        ("files", pa.list_(pa.string())),
        ("unknown", pa.int64()),
        ("tables", pa.binary()),
        ("numbers", pa.binary()),
        ("uncommitted", pa.binary()),
    ]
)
"""The result of a task that compares: the files of its dead objects, the number of other dead
objects, the totals of its files of tables that nothing needs, and its marks without a listed
object: which ranges have some, as compressed bits, and the hashes of uncommitted addresses.
"""

_SORTED = pa.schema(
    [
        ("first", pa.string()),
        ("files", pa.list_(pa.string())),
        ("rows", pa.list_(pa.int64())),
        ("totals", pa.binary()),
    ]
)
"""The result of a task that writes candidates: their first address, the files in order with their
numbers of rows, and the totals.
"""


class DeadObjects(NamedTuple):
    """A run's comparison of a listing with marks. `store` gives workers access to the store."""

    spark: SparkSession
    store: Opener
    context: RunContext

    @property
    def folder(self) -> str:
        """The folder of the files of dead objects."""
        return f"{self.context.prefix}dead/"

    def find(
        self, listed: DataFrame, marks: DataFrame, ranges: int, times: CandidateTimes
    ) -> tuple[list[str], int, Absent]:
        """Writes the dead objects that can be candidates to files, and returns these, the number of
        other dead objects, and the marks without a listed object.
        """
        joined = listed.join(marks, "hash", "full_outer")
        unmatched = joined.where(f"number IS NULL AND mtime < {times.before} OR address IS NULL")
        dated = unmatched.join(self._earlier().hint("merge"), "hash", "left").select(
            "address", "size", "mtime", "hash", "number", "since"
        )
        tables = self.context.reachability.tables
        work = partial(_write_dead, self.store, self.folder, ranges, times, tables.kept_files())
        rows = dated.mapInArrow(work, declaration(_UNMATCHED)).collect()
        for row in rows:
            tables.count_dead(_TABLES_DECODER.decode(row["tables"]))
        files = [self.folder + name for row in rows for name in row["files"]]
        return files, sum(row["unknown"] for row in rows), _absent(rows, ranges)

    def find_absent(self, listed: DataFrame, marks: DataFrame, ranges: int) -> Absent:
        """Returns the marks without a listed object."""
        absent = marks.join(listed.select("hash"), "hash", "left_anti")
        work = partial(_summarize_absent, ranges)
        rows = absent.mapInArrow(work, declaration(_UNMATCHED)).collect()
        return _absent(rows, ranges)

    def remove(self) -> None:
        """Removes the files of dead objects; the candidates are kept."""
        remove_parts(self.context.blocks, self.folder)

    def sort(self, files: list[str], times: CandidateTimes) -> CandidateTotals:
        """Writes the dead objects in files, sorted by address, to the run's files of candidates,
        and returns their totals.
        """
        totals = CandidateTotals()
        parts: list[CandidatePart] = []
        if files:
            dead = read_parts(self.spark, self.store, files, CANDIDATES)
            # the newest first, of an object that is listed several times
            ordered = dead.repartitionByRange("address").sortWithinPartitions(
                "address", "mtime", ascending=[True, False]
            )
            folder = f"{self.context.prefix}{CANDIDATE_PARTS}"
            work = partial(_write_candidates, self.store, folder, times)
            for row in sorted(ordered.mapInArrow(work, declaration(_SORTED)).collect(), key=_first):
                parts += map(CandidatePart, row["files"], row["rows"])
                totals.add(_TOTALS_DECODER.decode(row["totals"]))
        self.context.files.write_parts(parts)
        return totals

    def _earlier(self) -> DataFrame:
        """Returns when the candidates of an earlier run were first found dead, by hash. Its joins
        need a hint, because Spark collects small tables on the driver to broadcast them.
        """
        files = self.context.files.earlier_files()
        work = partial(_read_earlier, self.store)
        earlier = map_in_tasks(self.spark, files, work, _SINCE)
        return earlier.groupBy("hash").agg({"since": "min"}).toDF("hash", "since")


class _Unlisted:
    """Marks without a listed object: the ranges that have some, and uncommitted hashes."""

    def __init__(self, ranges: int) -> None:
        self._numbers = np.zeros(ranges, np.bool_)
        self._uncommitted: list[bytes] = []

    def add(self, hashes: pa.Int64Array, numbers: pa.Int32Array) -> None:
        """Adds marks."""
        own = pc.equal(numbers, UNCOMMITTED)
        self._uncommitted.append(hashes.filter(own).to_numpy().tobytes())
        self._numbers[numbers.filter(pc.greater_equal(numbers, 0)).to_numpy()] = True

    def result(self, files: list[str], unknown: int, tables: DeadTableFiles) -> pa.RecordBatch:
        """Returns the result of a task."""
        numbers = zlib.compress(np.packbits(self._numbers).tobytes())
        found = msgspec.json.encode(tables)
        return to_row(_UNMATCHED, files, unknown, found, numbers, b"".join(self._uncommitted))


def _write_dead(
    store: Opener,
    folder: str,
    ranges: int,
    times: CandidateTimes,
    kept: KeptFiles,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Writes the dead objects of a task that can be candidates, and yields its result."""
    unlisted, unknown, tables = _Unlisted(ranges), 0, DeadTableFiles()
    with open_store(store) as blocks, PartWriter(blocks, folder, CANDIDATES) as writer:
        for batch in batches:
            is_listed = pc.is_valid(batch.column("address"))
            marks = batch.filter(pc.invert(is_listed))
            unlisted.add(marks.column("hash"), marks.column("number"))
            dead = kept.without_kept(batch.filter(is_listed), tables)
            old = dead.filter(pa.array(may_be_candidates(dead.column("address"), times.before)))
            unknown += dead.num_rows - old.num_rows
            since = found_since(old.column("since"), old.column("mtime"), times.now)
            columns = [*(old.column(name) for name in ("address", "size", "mtime")), since]
            writer.write(pa.RecordBatch.from_arrays(columns, schema=CANDIDATES))
    yield unlisted.result([name for name, _ in writer.files], unknown, tables)


def _read_earlier(store: Opener, file: EarlierFile) -> Iterator[pa.RecordBatch]:
    """Yields the hashes of the candidates in a file that count, and when they were found dead."""
    for batch in PartReader(store, ["address", "since"])(file.address):
        rows = file.rows(batch)
        if rows.num_rows:  # Spark may drop the batches after an empty one
            columns = [signed_hashes(rows.column("address")), rows.column("since")]
            yield pa.RecordBatch.from_arrays(columns, schema=_SINCE)


def _summarize_absent(ranges: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    unlisted = _Unlisted(ranges)
    for batch in batches:
        unlisted.add(batch.column("hash"), batch.column("number"))
    yield unlisted.result([], 0, DeadTableFiles())


def _write_candidates(
    store: Opener, folder: str, times: CandidateTimes, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Writes sorted candidates, each address once, and yields the files."""
    totals, first, last = CandidateTotals(), "", ""
    with open_store(store) as blocks, PartWriter(blocks, folder, CANDIDATES) as writer:
        for batch in batches:
            rows = _without_repetitions(batch, last)
            if not rows.num_rows:
                continue
            last = rows.column("address")[-1].as_py()
            first = first or rows.column("address")[0].as_py()
            totals.count(rows, times)
            writer.write(rows.cast(CANDIDATES))
    if writer.files:
        names, rows_written = zip(*writer.files, strict=True)
        yield to_row(_SORTED, first, names, rows_written, msgspec.json.encode(totals))


def _without_repetitions(batch: pa.RecordBatch, last: str) -> pa.RecordBatch:
    """Returns the rows whose address differs from that of the row before, the first from `last`."""
    addresses = batch.column("address")
    before = pa.concat_arrays([pa.array([last], pa.string()), addresses[:-1].cast(pa.string())])
    return batch.filter(pc.not_equal(addresses, before))


def _first(row: Mapping[str, str]) -> str:
    return row["first"]


def _absent(rows: Iterable[Mapping[str, bytes]], ranges: int) -> Absent:
    """Returns the marks without a listed object of all tasks."""
    numbers = np.zeros(ranges, np.bool_)
    uncommitted = [np.empty(0, np.uint64)]
    for row in rows:
        bits = np.frombuffer(zlib.decompress(row["numbers"]), np.uint8)
        numbers |= np.unpackbits(bits, count=ranges).astype(np.bool_)
        uncommitted.append(np.frombuffer(row["uncommitted"], np.uint64))
    return Absent(
        frozenset(np.flatnonzero(numbers).tolist()), np.unique(np.concatenate(uncommitted))
    )
