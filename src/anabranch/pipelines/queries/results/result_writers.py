"""Writers of results: the rows of a relation of DuckDB, as the bytes of a file.

Values are exact: what a format's own types cannot hold is written as text (`result_types`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Protocol

from anabranch.pipelines.queries.results.infinite_times import require_finite
from anabranch.pipelines.queries.results.result_formats import FileFormat
from anabranch.pipelines.queries.results.result_types import ARROW, JSON, PARQUET, column_casts
from anabranch.tables.json_values import json_column, whole_numbers

__all__ = ["WRITERS", "Sink"]

_BATCH_ROWS = 20_000
_GROUP_ROWS = 100_000


class Sink(Protocol):
    """Takes the bytes of a file in order."""

    @property
    def closed(self) -> bool:
        """Whether it takes no more."""

    def write(self, content: bytes, /) -> int:
        """Takes the next bytes; returns how many."""


def _write_csv(relation: Any, sink: Sink) -> None:
    """Writes RFC 4180 with line feeds: a header, values as DuckDB casts them to text. Null is an
    empty field, an empty text is `""`.
    """
    names = relation.columns
    sink.write((",".join(map(_csv_field, names)) + "\n").encode())
    fields = [_csv_expression(f"CAST(#{number} AS VARCHAR)") for number in range(1, len(names) + 1)]
    line = " || ',' || ".join(fields)
    if len(fields) == 1:  # readers skip blank lines
        line = f"CASE WHEN #1 IS NULL THEN '\"\"' ELSE {line} END"
    lines = relation.project(f"{line} AS line")
    for batch in lines.to_arrow_reader(_BATCH_ROWS):
        text = "\n".join(batch.column(0).to_pylist())
        if batch.num_rows:
            sink.write(f"{text}\n".encode())


def _csv_expression(text: str) -> str:
    needs_quotes = f"{text} = '' OR regexp_matches({text}, '[\",\\r\\n]|^\\s|\\s$')"
    quotes = f"'\"' || replace({text}, '\"', '\"\"') || '\"'"
    return f"CASE WHEN {text} IS NULL THEN '' WHEN {needs_quotes} THEN {quotes} ELSE {text} END"


def _csv_field(text: str) -> str:
    is_plain = text and not any(char in text for char in '",\r\n') and text == text.strip()
    return text if is_plain else '"' + text.replace('"', '""') + '"'


def _write_json_lines(relation: Any, sink: Sink) -> None:
    """Writes an object for each row, with the JSON form of values that results have, but without
    limits of length.
    """
    reader = relation.project(column_casts(relation, JSON)).to_arrow_reader(_BATCH_ROWS)
    names = reader.schema.names
    for batch in reader:
        columns = [
            whole_numbers(column) if kind.id == "hugeint" else json_column(column, cut=False)
            for column, kind in zip(batch.columns, relation.types, strict=True)
        ]
        lines = [
            json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False)
            for row in zip(*columns, strict=True)
        ]
        if lines:
            sink.write(("\n".join(lines) + "\n").encode())


def _write_arrow(relation: Any, sink: Sink) -> None:
    """Writes a stream of Arrow record batches. Raises ValueError for infinite times."""
    import pyarrow as pa  # noqa: PLC0415  slow to import

    reader = relation.project(column_casts(relation, ARROW)).to_arrow_reader(_BATCH_ROWS)
    with pa.ipc.new_stream(sink, reader.schema) as writer:
        for batch in reader:
            require_finite(batch)
            writer.write_batch(batch)


def _write_parquet(relation: Any, sink: Sink) -> None:
    """Writes a Parquet file, compressed with Zstandard. Raises ValueError for infinite times."""
    import pyarrow.parquet as pq  # noqa: PLC0415

    reader = relation.project(column_casts(relation, PARQUET)).to_arrow_reader(_GROUP_ROWS)
    with pq.ParquetWriter(sink, reader.schema, compression="zstd") as writer:
        for batch in reader:
            require_finite(batch)
            writer.write_batch(batch)


WRITERS: dict[FileFormat, Callable[[Any, Sink], None]] = {
    "csv": _write_csv,
    "jsonl": _write_json_lines,
    "arrow": _write_arrow,
    "parquet": _write_parquet,
}
