"""Differences and merges of every format of tables, by content, extension or name."""

import gzip
import io

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc
from support.formats.row_comparison import compare

from anabranch.errors import Conflict
from anabranch.testing.strategy_runs import run_strategy
from anabranch.versioning.strategies.rows.strategy import rows_strategy

TABLE = pa.table({"id": [1, 2], "v": ["a", "b"]})
SOURCE = pa.table({"id": [1, 2], "v": ["S", "b"]})
DESTINATION = pa.table({"id": [1, 2], "v": ["a", "D"]})


def to_parquet(table):
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def to_arrow(table):
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, table.schema) as file:
        file.write_table(table)
    return sink.getvalue()


def to_stream(table):
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as file:
        file.write_table(table)
    return sink.getvalue()


def to_orc(table):
    sink = io.BytesIO()
    orc.write_table(table, sink)
    return sink.getvalue()


def to_avro(table):
    sink = io.BytesIO()
    fields = [{"name": "id", "type": "long"}, {"name": "v", "type": "string"}]
    schema = {"type": "record", "name": "r", "fields": fields}
    fastavro.writer(sink, fastavro.parse_schema(schema), table.to_pylist())
    return sink.getvalue()


def to_text(delimiter):
    def write(table):
        rows = [
            table.column_names,
            *([str(each) for each in row.values()] for row in table.to_pylist()),
        ]
        return "".join(delimiter.join(row) + "\n" for row in rows).encode()

    return write


def to_gzip(table):
    return gzip.compress(to_text(",")(table))


def to_zstd(table):
    return pa.compress(to_text(",")(table), "zstd", asbytes=True)


MERGED = {
    "t.parquet": to_parquet,
    "t.pq": to_parquet,
    "t.parq": to_parquet,
    "no-extension": to_parquet,
    "t.arrow": to_arrow,
    "t.feather": to_arrow,
    "t.csv": to_text(","),
    "tabs.csv": to_text("\t"),
    "bars.csv": to_text("|"),
    "t.tsv": to_text("\t"),
    "t.tab": to_text("\t"),
    "t.psv": to_text("|"),
    "t.csv.gz": to_gzip,
}
COMPARED = {
    **MERGED,
    "t.orc": to_orc,
    "t.avro": to_avro,
    "t.arrows": to_stream,
    "t.csv.zst": to_zstd,
}


@pytest.mark.parametrize("path", COMPARED)
def test_every_format_is_compared(path):
    write = COMPARED[path]
    (found,) = compare(path, write(TABLE), write(SOURCE)).items
    assert (found.kind, found.columns) == ("changed", ["v"])
    assert (found.left["v"], found.right["v"]) == ("a", "S")


def merge(path, write):
    sides = {"base": TABLE, "source": SOURCE, "destination": DESTINATION}
    contents = {side: write(table) for side, table in sides.items()}
    return run_strategy(rows_strategy({"key": "id"}), path, **contents).files[path]


@pytest.mark.parametrize("path", MERGED)
def test_formats_that_keep_what_they_say_are_merged(path):
    write = MERGED[path]
    expected = pa.table({"id": [1, 2], "v": ["S", "D"]})
    merged = merge(path, write)
    if write is to_parquet:
        assert pq.read_table(io.BytesIO(merged)).equals(expected)
    elif write is to_arrow:
        assert pa.ipc.open_file(merged).read_all().equals(expected)
    elif write is to_gzip:
        assert gzip.decompress(merged) == gzip.decompress(write(expected))
        assert merged == merge(path, write)
    else:
        assert merged == write(expected)


@pytest.mark.parametrize("path", ["t.orc", "t.avro", "t.arrows"])
def test_other_formats_are_not_merged_by_name(path):
    with pytest.raises(Conflict, match="are compared, and not merged") as refused:
        merge(path, COMPARED[path])
    assert refused.value.kind == "merge_failed"


def test_compressed_text_that_is_damaged_is_refused():
    whole = to_gzip(TABLE)
    with pytest.raises(Conflict, match="the right cannot be read as gzip"):
        compare("t.csv.gz", whole, whole[:-12])
