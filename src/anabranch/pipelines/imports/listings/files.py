"""Readers of Parquet, ORC and CSV files, which yield batches; CSV may be compressed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.orc as pa_orc
import pyarrow.parquet as pq

from anabranch.errors import Corrupt, NotFound
from anabranch.pipelines.imports.listings.columns import invalid_listing

__all__ = ["FORMATS", "Columns", "files_at", "read_csv", "read_file", "read_orc", "read_parquet"]

Columns = Callable[[Sequence[str]], Sequence[str]]
"""Returns which of a file's columns to read, given all of them."""

FORMATS = (".parquet", ".orc", ".csv", ".csv.gz", ".csv.zst", ".csv.bz2")
"""The suffixes of files that can be read."""

_BATCH = 65_536


def files_at(path: Path) -> list[Path]:
    """Returns a file, or all files of a folder and its subfolders, sorted; names that begin with a
    dot or an underscore are skipped. Raises NotFound, and Invalid for files of other formats.
    """
    if not path.exists():
        raise NotFound(f"{path}: no such file or folder", kind="listing_not_found")
    if not path.is_dir():
        _require_format(path)
        return [path]
    files = [
        file
        for file in sorted(path.rglob("*"))
        if file.is_file() and not _is_hidden(file.relative_to(path))
    ]
    if not files:
        raise NotFound(f"{path}: the folder has no files", kind="listing_not_found")
    for file in files:
        _require_format(file)
    return files


def read_file(path: Path, columns: Columns) -> Iterator[pa.RecordBatch]:
    """Yields the rows of a file. Raises Corrupt if it cannot be read."""
    if path.name.endswith(".parquet"):
        yield from read_parquet(path, columns)
    elif path.name.endswith(".orc"):
        yield from read_orc(path, columns)
    else:
        yield from read_csv(path, columns)


def read_parquet(path: Path, columns: Columns) -> Iterator[pa.RecordBatch]:
    """Yields the rows of a Parquet file."""
    with _translate_errors(path), pq.ParquetFile(path) as file:
        names = columns(file.schema_arrow.names)
        yield from file.iter_batches(_BATCH, columns=list(names))


def read_orc(path: Path, columns: Columns) -> Iterator[pa.RecordBatch]:
    """Yields the rows of an ORC file, with one stripe in memory at a time."""
    with _translate_errors(path):
        file = pa_orc.ORCFile(path)
        names = list(columns(file.schema.names))
        for number in range(file.nstripes):
            stripe = pa.Table.from_batches([file.read_stripe(number, columns=names)])
            yield from stripe.to_batches(_BATCH)


def read_csv(
    path: Path, columns: Columns, names: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Yields the rows of a CSV file, all columns as strings. `names` are the names of its columns,
    None if its first line is a header.
    """
    read = pa_csv.ReadOptions(column_names=names)
    parse = pa_csv.ParseOptions(newlines_in_values=names is None)
    with _translate_errors(path):
        if names is not None and _is_empty(path):
            return  # Arrow would raise an error
        with pa_csv.open_csv(path, read, parse) as reader:
            header = reader.schema.names
        convert = pa_csv.ConvertOptions(
            column_types=dict.fromkeys(header, pa.string()), include_columns=list(columns(header))
        )
        with pa_csv.open_csv(path, read, parse, convert) as reader:
            yield from reader


@contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    """Raises Arrow's errors about damaged files as Corrupt."""
    try:
        yield
    except pa.ArrowException as error:
        raise Corrupt(f"{path}: cannot read the file: {error}", path=str(path)) from error
    except OSError as error:
        # an OSError that Arrow raises for a damaged file has no errno
        if error.errno is not None:
            raise
        raise Corrupt(f"{path}: cannot read the file: {error}", path=str(path)) from error


def _is_empty(path: Path) -> bool:
    with pa.input_stream(str(path)) as stream:
        return not stream.read(1)


def _require_format(path: Path) -> None:
    if not path.name.endswith(FORMATS):
        raise invalid_listing(
            f"{path}: unknown file format",
            f"Supported are files whose names end with {', '.join(FORMATS)}.",
        )


def _is_hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)
