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
@pytest.mark.sample(2)
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
@pytest.mark.sample(4)
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


def hive(rows):
    return "".join("\x01".join(row) + "\n" for row in rows).encode()


def test_text_without_a_header_has_numbered_columns():
    before, now = hive([["1", "2.5"], ["2", "3"]]), hive([["1", "2.5"], ["2", "4"], ["3", "5"]])
    page = compare("000000_0", before, now, file_format="csv", key=["column0"])
    changed, added = page.items
    assert (changed.left, changed.right) == (
        {"column0": "2", "column1": "3"},
        {"column0": "2", "column1": "4"},
    )
    assert added.right == {"column0": "3", "column1": "5"}
    with pytest.raises(Conflict, match="its name ends with none of"):
        compare("000000_0", before, now)


def test_a_header_of_numbers_is_one_if_the_key_names_it():
    page = compare("t.csv", b"1,2\na,b\n", b"1,2\na,c\n", key=["1"])
    assert [each.columns for each in page.items] == [["2"]]


def test_irregular_text_without_a_header_is_refused():
    with pytest.raises(Conflict, match="the right is not regular: 1 row has fewer cells"):
        compare("t.csv", hive([["1", "2"]]), hive([["1", "2"], ["3"]]))


@pytest.mark.parametrize("name", ["csv", "orc"])
def test_a_format_that_the_content_contradicts_is_refused(name):
    content = to_parquet(TABLE)
    with pytest.raises(Conflict, match=f"data.log is Parquet, not {name.upper()}"):
        compare("data.log", content, to_parquet(SOURCE), file_format=name)
