"""Small tables with the key `id`, as dictionaries of rows and in the formats of files."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from support.session.hypothesis_profiles import examples

Rows = Mapping[str, Mapping[str, Any]]

COLUMNS = ("a", "b", "c")
QUICK = settings(
    max_examples=examples(8), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def to_csv(rows: Rows, columns: Iterable[str], delimiter: str = ",") -> bytes:
    lines = io.StringIO()
    writer = csv.writer(lines, delimiter=delimiter, lineterminator="\n")
    writer.writerow(["id", *columns])
    writer.writerows([key, *(row[name] for name in columns)] for key, row in rows.items())
    return lines.getvalue().encode()


def from_csv(content: bytes) -> tuple[Rows, Sequence[str]]:
    reader = csv.DictReader(io.StringIO(content.decode()))
    return {row.pop("id"): row for row in reader}, reader.fieldnames or ()


def to_parquet(rows: Rows, columns: Iterable[str]) -> bytes:
    arrays = {"id": pa.array(list(rows), pa.string())}
    for name in columns:
        values = [row[name] for row in rows.values()]
        arrays[name] = pa.array(values, pa.string())
    sink = io.BytesIO()
    pq.write_table(pa.table(arrays), sink)
    return sink.getvalue()


def from_parquet(content: bytes) -> tuple[Rows, Sequence[str]]:
    table = pq.read_table(io.BytesIO(content))
    rows = {row.pop("id"): row for row in table.to_pylist()}
    return rows, table.column_names


def to_json_lines(rows: Rows, columns: Iterable[str]) -> bytes:
    records = ({"id": key} | {name: row[name] for name in columns} for key, row in rows.items())
    return "".join(f"{json.dumps(record)}\n" for record in records).encode()


def from_json_lines(content: bytes) -> tuple[Rows, Sequence[str]]:
    rows = [json.loads(line) for line in content.splitlines()]
    names = list(rows[0]) if rows else ["id", *COLUMNS]
    return {row.pop("id"): row for row in rows}, names


Write = Callable[[Rows, Iterable[str]], bytes]
Read = Callable[[bytes], tuple[Rows, Sequence[str]]]

FORMATS: Mapping[str, tuple[Write, Read]] = {
    "csv": (to_csv, from_csv),
    "parquet": (to_parquet, from_parquet),
    "jsonl": (to_json_lines, from_json_lines),
}


CELLS = st.sampled_from(["x", "y", "1", "001", "a\nb", 'say "z"', " "])
TABLES = st.dictionaries(
    st.sampled_from(["1", "2", "3", "4"]),
    st.fixed_dictionaries(dict.fromkeys(COLUMNS, CELLS)),
    max_size=4,
)


def parquet(types: Mapping[str, Any], rows: Sequence[Sequence[Any]], **options: Any) -> bytes:
    """Returns a file with columns of these types; `options` are those of the writer."""
    names = list(types)
    columns = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    schema = pa.schema(list(types.items()), metadata={"owner": "ada"})
    sink = io.BytesIO()
    pq.write_table(pa.table(columns, schema=schema), sink, **options)
    return sink.getvalue()
