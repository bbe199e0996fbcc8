"""Schemas of Arrow are declared to Spark, or refused with the type."""

from __future__ import annotations

import pyarrow as pa
import pytest

from anabranch.errors import NotSupported
from anabranch.spark.planning.declaration import declaration
from anabranch.spark.planning.scan_plan import map_in_tasks

FLAGS = pa.schema([("number", pa.int64()), ("flag", pa.bool_()), ("all", pa.list_(pa.bool_()))])


def test_types_have_the_names_of_spark():
    assert declaration(FLAGS) == "number BIGINT, flag BOOLEAN, all ARRAY<BOOLEAN>"


@pytest.mark.parametrize("kind", [pa.decimal128(9, 2), pa.list_(pa.uint8())])
def test_another_type_is_refused_by_name(kind):
    with pytest.raises(NotSupported, match=r"decimal128|uint8"):
        declaration(pa.schema([("column", kind)]))


@pytest.mark.timeout(600)
def test_tasks_return_flags(spark):
    rows = [{"number": number, "flag": flag, "all": [flag]} for number, flag in ROWS]
    found = map_in_tasks(spark, [rows], read, FLAGS).collect()
    assert [row.asDict() for row in found] == rows


ROWS = [(1, True), (2, False), (3, None)]


def read(rows):
    yield pa.RecordBatch.from_pylist(rows, schema=FLAGS)
