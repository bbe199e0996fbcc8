"""Every format is read with the schema of the file, whatever its name is."""

from __future__ import annotations

import io
import itertools
import struct
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import get_args
from uuid import UUID

import fastavro
import pyarrow as pa
import pytest
from pyarrow import ipc, orc
from pyarrow import parquet as pq

from anabranch.tables.formats import FORMATS, FormatName, format_of
from anabranch.tables.open_table import open_table
from anabranch.tables.table import UnreadableTable

TABLE = pa.table({"id": pa.array(range(5), pa.int64()), "name": ["a", None, "c", "d", "e"]})
AVRO_TABLE = {
    "type": "record",
    "name": "r",
    "fields": [{"name": "id", "type": "long"}, {"name": "name", "type": ["null", "string"]}],
}


def written(write):
    stream = io.BytesIO()
    write(stream)
    return stream.getvalue()


def ipc_bytes(table, new):
    def write(stream):
        with new(stream, table.schema) as writer:
            if table.num_rows:
                writer.write_table(table)

    return written(write)


def avro_bytes(schema, records):
    return written(lambda stream: fastavro.writer(stream, schema, records))


def binary_files(table):
    yield "parquet", written(lambda stream: pq.write_table(table, stream))
    yield "orc", written(lambda stream: orc.write_table(table, stream))
    yield "arrow", ipc_bytes(table, ipc.new_file)
    yield "arrow", ipc_bytes(table, ipc.new_stream)


def read(content, path="", format_name=""):
    table = open_table(io.BytesIO(content), path, format_name)
    return pa.Table.from_batches(table.batches(), schema=table.schema)


def rows(content, path="", format_name=""):
    return read(content, path, format_name).to_pylist()


@pytest.mark.parametrize("path", ["", "000000_0", "t.csv", "t.jsonl"])
def test_content_says_what_a_binary_file_is(path):
    for name, content in binary_files(TABLE):
        assert read(content, path).equals(TABLE), name
    assert rows(avro_bytes(AVRO_TABLE, TABLE.to_pylist()), path) == TABLE.to_pylist()


@pytest.mark.parametrize("first", ["PAR1", "ORC", "ARROW1", "FEA", "Obj"])
def test_text_that_begins_as_a_binary_file_is_text(first):
    assert rows(f"{first},b\n1,2\n".encode(), "t.csv") == [{first: "1", "b": "2"}]


def test_a_name_that_says_nothing_needs_a_format():
    with pytest.raises(UnreadableTable) as caught:
        read(b"a,b\n1,2\n", "000000_0")
    assert caught.value.kind == "no_table"
    assert rows(b"a|b\n1|2\n", "000000_0", "psv") == [{"a": "1", "b": "2"}]
    assert rows(b'{"a": 1}\n', "000000_0", "jsonl") == [{"a": 1}]


def test_each_extension_names_a_format_and_text_may_be_compressed():
    for each in FORMATS.values():
        for extension in each.extensions:
            assert format_of(f"folder/t.{extension.upper()}") == each
            assert format_of(f"t.{extension}.gz") == (each if each.is_text else None)
    assert [format_of(path) for path in ("parquet", ".csv", "a.csv/b", "x.gz", "")] == [None] * 5


def test_files_without_rows_have_their_columns():
    for name, content in binary_files(TABLE.slice(0, 0)):
        assert read(content).schema == TABLE.schema, name
        assert open_table(io.BytesIO(content)).count_rows() == 0
    assert read(avro_bytes(AVRO_TABLE, [])).schema == TABLE.schema


def test_chosen_columns_come_in_their_order_and_each_call_begins_anew():
    files = [
        *(("", content) for _, content in binary_files(TABLE)),
        ("", avro_bytes(AVRO_TABLE, TABLE.to_pylist())),
        ("t.jsonl", b"".join(b'{"id": %d, "name": "x"}\n' % number for number in range(5))),
        ("t.csv", b"id,name\n" + b"".join(b"%d,x\n" % number for number in range(5))),
        ("t.csv", b"id,name\n" + b"".join(b"%d,x\n" % number for number in range(4)) + b"4\n"),
    ]
    for path, content in files:
        table = open_table(io.BytesIO(content), path)
        for places in ([1, 0], [1], [], [0, 1]):
            for _ in range(2):
                read = list(table.batches(places))
                assert sum(batch.num_rows for batch in read) == 5 == table.count_rows()
                names = {tuple(batch.schema.names) for batch in read}
                assert names == {tuple(["id", "name"][place] for place in places)}, path


def test_repeated_names_of_columns_are_told_apart_by_their_places():
    twice = pa.table([pa.array([1]), pa.array(["x"])], names=["a", "a"])
    for content in (ipc_bytes(twice, ipc.new_file), dict(binary_files(twice))["parquet"]):
        table = open_table(io.BytesIO(content))
        (batch,) = table.batches([1])
        assert batch.column(0).to_pylist() == ["x"]


# Kinds of Avro schemas: the schema, values, and the Arrow type that has the same values.
NAMED = {"type": "record", "name": "inner", "fields": [{"name": "x", "type": "int"}]}
NANOS = {"type": "long", "logicalType": "timestamp-nanos"}
MOMENT = datetime(2024, 5, 6, 7, 8, 9, 123000, tzinfo=UTC)
NAIVE = datetime(2024, 1, 2, 3, 4, 5, 6)  # noqa: DTZ001  a local timestamp has no zone
FAR = datetime(9999, 12, 31)  # noqa: DTZ001
KINDS = {
    "null": ("null", [None], pa.null()),
    "boolean": ("boolean", [True, False], pa.bool_()),
    "int": ("int", [-(2**31), 2**31 - 1], pa.int32()),
    "long": ("long", [-(2**63), 2**63 - 1], pa.int64()),
    "float": ("float", [0.5, float("inf")], pa.float32()),
    "double": ("double", [0.1, -1e308], pa.float64()),
    "string": ("string", ["", "é"], pa.string()),
    "bytes": ("bytes", [b"", b"\x00\xff"], pa.binary()),
    "fixed": ({"type": "fixed", "name": "f", "size": 2}, [b"ab"], pa.binary(2)),
    "enum": ({"type": "enum", "name": "e", "symbols": ["A", "B"]}, ["B", "A"], pa.string()),
    "array": ({"type": "array", "items": "int"}, [[1, 2], []], pa.list_(pa.int32())),
    "record": (NAMED, [{"x": 1}], pa.struct([("x", pa.int32())])),
    "nullable": (["string", "null"], ["x", None], pa.string()),
    "wide integers": (["null", "int", "long"], [1, 2**40, None], pa.int64()),
    "date": ({"type": "int", "logicalType": "date"}, [date(1, 1, 1)], pa.date32()),
    "time-millis": (
        {"type": "int", "logicalType": "time-millis"},
        [time(1, 2, 3, 4000)],
        pa.time32("ms"),
    ),
    "time-micros": (
        {"type": "long", "logicalType": "time-micros"},
        [time(1, 2, 3, 4)],
        pa.time64("us"),
    ),
    "timestamp-millis": (
        {"type": "long", "logicalType": "timestamp-millis"},
        [MOMENT],
        pa.timestamp("ms", "UTC"),
    ),
    "timestamp-micros": (
        {"type": "long", "logicalType": "timestamp-micros"},
        [datetime(9999, 12, 31, tzinfo=UTC)],
        pa.timestamp("us", "UTC"),
    ),
    "local-timestamp-micros": (
        {"type": "long", "logicalType": "local-timestamp-micros"},
        [NAIVE],
        pa.timestamp("us"),
    ),
    "decimal": (
        {"type": "bytes", "logicalType": "decimal", "precision": 50, "scale": 2},
        [Decimal("-123456789012345678901234567890123456789012345678.90")],
        pa.decimal256(50, 2),
    ),
    "fixed decimal": (
        {"type": "fixed", "name": "d", "size": 8, "logicalType": "decimal", "precision": 18},
        [Decimal(-12)],
        pa.decimal128(18, 0),
    ),
    "unknown logical type": ({"type": "int", "logicalType": "mood"}, [3], pa.int32()),
}


def avro_column(kind, values):
    schema = {"type": "record", "name": "r", "fields": [{"name": "v", "type": kind}]}
    return read(avro_bytes(schema, [{"v": value} for value in values]))["v"]


@pytest.mark.parametrize("kind", KINDS)
def test_avro_values_are_those_that_were_written(kind):
    schema, values, expected = KINDS[kind]
    column = avro_column(schema, values)
    assert column.type == expected
    assert column.to_pylist() == values
    inside = avro_column({"type": "array", "items": schema}, [values, []])
    assert inside.to_pylist() == [values, []]
    entries = avro_column({"type": "map", "values": schema}, [{"k": values[0]}, {}])
    assert entries.to_pylist() == [[("k", values[0])], []]
    assert pa.types.is_map(entries.type)
    fields = {"type": "record", "name": "around", "fields": [{"name": "y", "type": schema}]}
    assert avro_column(fields, [{"y": values[0]}]).to_pylist() == [{"y": values[0]}]
    if not isinstance(schema, list) and schema != "null":
        nullable = avro_column(["null", schema], [None, *values])
        assert (nullable.type, nullable.to_pylist()) == (expected, [None, *values])


def test_avro_nanoseconds_uuids_and_durations():
    column = avro_column(NANOS, [1704067200123456789])
    assert column.cast(pa.int64()).to_pylist() == [1704067200123456789]
    fixed = {"type": "fixed", "name": "u", "size": 16, "logicalType": "uuid"}
    assert avro_column(fixed, [UUID(int=7).bytes]).to_pylist() == [UUID(int=7)]
    text = {"type": "string", "logicalType": "uuid"}
    assert avro_column(text, [UUID(int=7)]).to_pylist() == [str(UUID(int=7))]
    duration = {"type": "fixed", "name": "d", "size": 12, "logicalType": "duration"}
    column = avro_column(duration, [struct.pack("<III", 1, 2, 3)])
    assert column.to_pylist() == [pa.MonthDayNano([1, 2, 3_000_000])]


def test_avro_unions_of_several_types_are_structs_of_members():
    other = {"type": "record", "name": "other", "fields": [{"name": "x", "type": "int"}]}
    schema = ["null", "int", "string", NAMED, other, {"type": "array", "items": "long"}]
    values = [1, "s", ("inner", {"x": 2}), ("other", {"x": 3}), [4], None]
    column = avro_column(schema, values)
    members = [
        None if row is None else {name: value for name, value in row.items() if value is not None}
        for row in column.to_pylist()
    ]
    assert members == [
        {"member0": 1},
        {"member1": "s"},
        {"member2": {"x": 2}},
        {"member3": {"x": 3}},
        {"member4": [4]},
        None,
    ]


def test_an_avro_record_that_contains_itself_is_text_and_hides_no_other_column():
    schema = {
        "type": "record",
        "name": "node",
        "fields": [{"name": "v", "type": "int"}, {"name": "next", "type": ["null", "node"]}],
    }
    content = avro_bytes(schema, [{"v": 1, "next": {"v": 2, "next": None}}])
    assert rows(content) == [{"v": 1, "next": '{"v": 2, "next": null}'}]
    (note,) = open_table(io.BytesIO(content)).notes
    assert "next" in note.text


@pytest.mark.slow
def test_late_keys_and_values_of_avro_are_read():
    kind = {"type": "map", "values": "int"}
    values = [{"a": 1}] * 70_000 + [{"zz": 2}]
    assert avro_column(kind, values)[-1].as_py() == [("zz", 2)]
    assert avro_column(["null", "string"], [None] * 70_000 + ["x"])[-1].as_py() == "x"


@pytest.mark.parametrize("name", ["parquet", "orc", "arrow", "avro"])
def test_damaged_files_are_refused_in_one_sentence(name):
    files = {**dict(binary_files(TABLE)), "avro": avro_bytes(AVRO_TABLE, TABLE.to_pylist())}
    content = files[name]
    for damaged in (b"", content[:20], content[: len(content) // 2], b"x" * 100):
        with pytest.raises(UnreadableTable) as caught:
            read(damaged, f"t.{name}")
        assert "\n" not in caught.value.message
        assert "/" not in caught.value.message


JSON = {
    "integers": ([1, -(2**63)], pa.int64()),
    "20 digits": ([12345678901234567890, 1], pa.decimal128(38, 0)),
    "numbers": ([1, 0.1, 1e300], pa.float64()),
    "booleans": ([True, False], pa.bool_()),
    "texts": (["a", "2024-01-01"], pa.string()),
    "lists": ([[1, 2], []], pa.list_(pa.int64())),
}


@pytest.mark.parametrize("kind", JSON)
def test_json_values_keep_their_digits(kind):
    import json

    values, expected = JSON[kind]
    lines = "".join(json.dumps({"v": value}) + "\n" for value in [None, *values]).encode()
    column = read(lines, "t.jsonl")["v"]
    assert (column.type, column.to_pylist()) == (expected, [None, *values])
    document = json.dumps([{"v": value} for value in values], indent=1).encode()
    assert read(document, "t.json")["v"].to_pylist() == values


def test_json_keys_that_come_late_and_kinds_that_differ():
    lines = b'{"a": 1}\n' * 3 + b'{"a": "x", "b": {"c": [1.5]}}\n{"b": {"d": 1}}\n'
    assert rows(lines, "t.jsonl")[2:] == [
        {"a": "1", "b": None},
        {"a": '"x"', "b": {"c": [1.5], "d": None}},
        {"a": None, "b": {"c": None, "d": 1}},
    ]
    digits = b'{"v": 0.12345678901234567890}\n{"v": 1.5}\n{"v": 2}\n'
    expected = [Decimal("0.12345678901234567890"), Decimal("1.5"), Decimal(2)]
    assert read(digits, "t.jsonl")["v"].to_pylist() == expected


def test_a_json_document_that_is_too_large_is_refused_by_name():
    for content in (b'{"v": "' + b"a" * (17 << 20) + b'"}', b"[" + b"[],\n" * (5 << 20) + b"1]"):
        with pytest.raises(UnreadableTable) as caught:
            read(content, "t.json")
        assert caught.value.kind == "document_too_large"


@pytest.mark.slow
def test_batches_of_wide_tables_are_small():
    wide = b",".join(b"c%d" % number for number in range(5000)) + b"\n"
    content = wide + (b",".join([b"1"] * 5000) + b"\n") * 600
    table = open_table(io.BytesIO(content), "t.csv")
    sizes = [batch.num_rows for batch in itertools.islice(table.batches(), 3)]
    assert max(sizes) < 600


def test_requests_and_commands_take_the_names_of_all_formats():
    assert set(get_args(FormatName)) == {*FORMATS, "ndjson"}


@pytest.mark.parametrize(
    ("path", "content", "note"),
    [
        ("t.jsonl", b'{"a": 1, "a": 2}\n{"a": 3}\n', "1 row has an object with a name twice, 'a'"),
        (
            "t.jsonl",
            b'{"a": {"b": "x", "b": 1}}\n' * 2,
            "2 rows have an object with a name twice, 'b'",
        ),
        ("t.json", b'[{"a": [{"c\\"": 1, "c\\u0022": 2}]}]', "It has an object with a name twice"),
    ],
)
def test_objects_with_a_name_twice_are_said(path, content, note):
    table = open_table(io.BytesIO(content), path)
    (said,) = [each for each in table.notes if not each.is_usual]
    assert note in said.text
    assert said.changes_rows


def test_escapes_and_empty_names_are_no_names_twice():
    lines = [b'{"": "", "a\\\\": "\\"", "b": "\\\\"}', b'{"a": 1, "b": {"a": 1}}', b'{"n": 1e400}']
    table = open_table(io.BytesIO(b"\n".join(lines)), "t.jsonl")
    assert not [each for each in table.notes if not each.is_usual]
