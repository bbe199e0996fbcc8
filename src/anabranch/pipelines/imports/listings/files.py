"""Files of rows, read in batches: Parquet, ORC and CSV, which may be compressed."""

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
"""Returns which of a file's columns are read."""

FORMATS = (".parquet", ".orc", ".csv", ".csv.gz", ".csv.zst", ".csv.bz2")
"""The extensions of readable files."""

_BATCH = 65_536


def files_at(place: Path) -> list[Path]:
    """Returns a file, or those of a folder that can be read, in order; names that begin with a dot
    or an underscore are passed over. Raises NotFound, and Invalid for other files.
    """
    if not place.exists():
        raise NotFound(f"{place}: there is no such file or folder", kind="listing_not_found")
    if not place.is_dir():
        _require_format(place)
        return [place]
    files = [
        path
        for path in sorted(place.rglob("*"))
        if path.is_file() and not _is_hidden(path.relative_to(place))
    ]
    if not files:
        raise NotFound(f"{place}: there are no files", kind="listing_not_found")
    for path in files:
        _require_format(path)
    return files


def read_file(path: Path, columns: Columns) -> Iterator[pa.RecordBatch]:
    """Yields the rows of a file. Raises Corrupt for one that cannot be read."""
    if path.name.endswith(".parquet"):
        yield from read_parquet(path, columns)
    elif path.name.endswith(".orc"):
        yield from read_orc(path, columns)
    else:
        yield from read_csv(path, columns)


def read_parquet(path: Path, columns: Columns) -> Iterator[pa.RecordBatch]:
    """Yields the rows of a Parquet file."""
    with _readable(path), pq.ParquetFile(path) as file:
        names = columns(file.schema_arrow.names)
        yield from file.iter_batches(_BATCH, columns=list(names))


def read_orc(path: Path, columns: Columns) -> Iterator[pa.RecordBatch]:
    """Yields the rows of an ORC file, which is read stripe by stripe."""
    with _readable(path):
        file = pa_orc.ORCFile(path)
        names = list(columns(file.schema.names))
        for number in range(file.nstripes):
            stripe = pa.Table.from_batches([file.read_stripe(number, columns=names)])
            yield from stripe.to_batches(_BATCH)


def read_csv(
    path: Path, columns: Columns, names: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Yields the rows of a CSV file, as texts. Without `names` of columns, its first line has
    them.
    """
    reading = pa_csv.ReadOptions(column_names=names)
    parsing = pa_csv.ParseOptions(newlines_in_values=names is None)
    with _readable(path):
        if names is not None and _is_empty(path):
            return  # which Arrow takes for an error
        with pa_csv.open_csv(path, reading, parsing) as reader:
            header = reader.schema.names
        converting = pa_csv.ConvertOptions(
            column_types=dict.fromkeys(header, pa.string()), include_columns=list(columns(header))
        )
        with pa_csv.open_csv(path, reading, parsing, converting) as reader:
            yield from reader


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except pa.ArrowException as error:
        raise Corrupt(f"{path}: this file cannot be read: {error}", path=str(path)) from error
    except OSError as error:
        # Arrow's own errors of damaged files have no number
        if error.errno is not None:
            raise
        raise Corrupt(f"{path}: this file cannot be read: {error}", path=str(path)) from error


def _is_empty(path: Path) -> bool:
    with pa.input_stream(str(path)) as stream:
        return not stream.read(1)


def _require_format(path: Path) -> None:
    if not path.name.endswith(FORMATS):
        raise invalid_listing(
            f"{path}: this is not a readable file of rows",
            f"Names end with {', '.join(FORMATS)}.",
        )


def _is_hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)
