"""The report of missing objects, written by tasks, which query the store for each object and write
the references to missing ones to one file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from anabranch.converter import Converter
from anabranch.files.work_folders import WorkFolder
from anabranch.pipelines.garbage.marking.missing import MISSING, MissingReference
from anabranch.pipelines.garbage.run_files import MISSING_FILE, file_pieces
from anabranch.pipelines.jobs.parallel_map import parallel_map
from anabranch.spark.jobs.parts import to_row
from anabranch.spark.sources.stores import Opener, open_store

__all__ = ["FOUND", "WRITTEN", "absent_rows", "write_report"]

_TO_REFERENCES = Converter(list[MissingReference])

FOUND = MISSING.set(MISSING.get_field_index("references"), pa.field("names", pa.list_(pa.string())))
"""A `MissingReference`; `names` are its references."""

WRITTEN = pa.schema([("objects", pa.int64()), ("references", pa.int64()), ("shown", pa.binary())])
"""The numbers of objects and references in the report, and the first references, as JSON."""


def absent_rows(
    store: Opener, prefix: str, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yields the rows whose objects the store does not have."""
    with open_store(store) as blocks:

        def is_absent(address: str) -> bool:
            return blocks.stat(prefix + address) is None

        for batch in batches:
            addresses = batch.column("address").to_pylist()
            distinct = list(dict.fromkeys(addresses))
            absent = dict(zip(distinct, parallel_map(is_absent, distinct), strict=True))
            rows = batch.filter(pa.array([absent[address] for address in addresses], pa.bool_()))
            if rows.num_rows:
                yield rows


def write_report(
    store: Opener, target: str, sample: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Writes sorted rows to a file in the store, if there are any. Yields one row of WRITTEN, with
    at most `sample` references.
    """
    objects = references = 0
    last = None
    shown: list[MissingReference] = []
    with WorkFolder("spark") as folder:
        path = Path(folder, MISSING_FILE)
        with pq.ParquetWriter(path, MISSING, compression="zstd") as writer:
            for batch in batches:
                columns = [
                    column.cast(field.type)
                    for column, field in zip(batch.columns, MISSING, strict=True)
                ]
                rows = pa.RecordBatch.from_arrays(columns, schema=MISSING)
                writer.write_batch(rows)
                references += rows.num_rows
                for address in rows.column("address").to_pylist():
                    objects += address != last
                    last = address
                if remaining := sample - len(shown):
                    first = rows[:remaining].to_pylist()
                    shown += _TO_REFERENCES.convert(first)
        if references:
            with open_store(store) as blocks:
                blocks.put(target, file_pieces(path))
    yield to_row(WRITTEN, objects, references, msgspec.json.encode(shown))
