"""The file of all rows that an import has left out: Parquet, or CSV if its name says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from anabranch.pipelines.imports.listings import LEFT_OUT

__all__ = ["writing_left_out"]


@contextmanager
def writing_left_out(path: Path | None) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """Gives what takes batches of LEFT_OUT to a file; without a path it forgets them. The file is
    there even if nothing was left out. Raises OSError.
    """
    if path is None:
        yield lambda _: None
        return
    kind = pa_csv.CSVWriter if path.suffix == ".csv" else pq.ParquetWriter
    with kind(str(path), LEFT_OUT) as writer:
        yield writer.write_batch
