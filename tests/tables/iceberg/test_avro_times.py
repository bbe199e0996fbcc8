"""Dates and times of any year in Avro files, as fastavro writes them where Python has them."""

import datetime as dt
import io
import json

import duckdb
import fastavro
import pytest

from anabranch.tables.iceberg.avro_files import read_avro, write_avro
from anabranch.tables.iceberg.avro_times import TimeValue
from anabranch.tables.iceberg.named_files import needed_by_manifest

NAMES = {
    "date": "int",
    "time-millis": "int",
    "time-micros": "long",
    "timestamp-millis": "long",
    "timestamp-micros": "long",
    "local-timestamp-micros": "long",
    "timestamp-nanos": "long",
}
FIELDS = [
    {"name": name.replace("-", "_"), "type": ["null", {"type": kind, "logicalType": name}]}
    for name, kind in NAMES.items()
]
SCHEMA = {"type": "record", "name": "r", "fields": FIELDS}
MOMENT = dt.datetime(2024, 2, 29, 1, 2, 3, 4000, tzinfo=dt.UTC)
PYTHON = [
    *(MOMENT.date(), MOMENT.time(), MOMENT.time(), MOMENT, MOMENT),
    *(MOMENT.replace(tzinfo=None), 5),
]
FAR = [4_000_000, 86_400_000, 86_400_000_000, 10**16, -(10**17), 2**62, -(2**62)]


def written(values):
    stream = io.BytesIO()
    record = dict(zip((field["name"] for field in FIELDS), values, strict=True))
    fastavro.writer(stream, SCHEMA, [record], codec="deflate")
    return stream.getvalue()


def texts(content):
    """Returns the values of the record in a file as texts."""
    file = read_avro("f", content)
    units, (record,) = file.times(), file.records
    return [str(TimeValue(record[name], units[name])) for name in units]


def test_texts_are_those_of_the_values():
    stamp = "2024-02-29 01:02:03.004000"
    clock = "01:02:03.004000"
    nanoseconds = "1970-01-01 00:00:00.000000005"
    assert texts(written(PYTHON)) == [
        *("2024-02-29", clock, clock, stamp, stamp, stamp, nanoseconds)
    ]


def test_values_that_python_does_not_have_are_read_and_written():
    content = written(FAR)
    with pytest.raises((ValueError, OverflowError)):
        list(fastavro.reader(io.BytesIO(content)))
    file = read_avro("f", content)
    assert list(file.records[0].values()) == FAR
    (day,) = duckdb.sql(f"SELECT (DATE '1970-01-01' + {FAR[0]})::VARCHAR").fetchone()
    assert texts(content)[:3] == [day, "24:00:00", "24:00:00"]
    again = read_avro("g", write_avro(file.schema, file.metadata, file.records))
    assert (again.schema, again.records) == (file.schema, file.records)


def test_files_are_found_in_a_manifest_with_such_a_partition():
    partition = {"type": "record", "name": "p", "fields": FIELDS[:1]}
    described = [
        {"name": "file_path", "type": "string", "field-id": 100},
        {"name": "partition", "type": partition, "field-id": 102},
    ]
    data_file = {"type": "record", "name": "d", "fields": described}
    fields = [
        {"name": "status", "type": "int", "field-id": 0},
        {"name": "data_file", "type": data_file, "field-id": 2},
    ]
    schema = {"type": "record", "name": "entry", "fields": fields}
    record = {"status": 1, "data_file": {"file_path": "s3://a/b", "partition": {"date": 10**7}}}
    content = write_avro(json.loads(json.dumps(schema)), {}, [record])
    assert needed_by_manifest("m", content) == {"s3://a/b"}
