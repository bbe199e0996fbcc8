"""File of all rows that an import rejected: Parquet, or CSV if its name ends with `.csv`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from anabranch.pipelines.imports.listings.row_validation import LEFT_OUT

__all__ = ["open_rejected_rows"]


@contextmanager
def open_rejected_rows(path: Path | None) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """Provides a function that writes batches of LEFT_OUT to a file, or discards them if `path` is
    None. The file is created even if no row is rejected. Raises OSError.
    """
    if path is None:
        yield lambda _: None
        return
    kind = pa_csv.CSVWriter if path.suffix == ".csv" else pq.ParquetWriter
    with kind(str(path), LEFT_OUT) as writer:
        yield writer.write_batch
