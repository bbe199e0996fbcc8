"""Columns in SQL: each value of each type is that of the file, or is refused."""

from __future__ import annotations

import json

import duckdb
import pyarrow as pa
import pytest
from support.formats.arrow_types import NESTED, SCALARS, array_of, nested

from anabranch.tables.json_values import json_column
from anabranch.tables.sql_columns import sql_array, sql_column


@pytest.fixture(scope="module")
def connection():
    config = {"arrow_lossless_conversion": "true"}
    with duckdb.connect(config=config) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        yield connection


def through_sql(connection, array):
    held = sql_array(array)
    assert held.type == sql_column(array.type).type
    connection.register("held", pa.table({"v": held}))
    return json_column(connection.execute("SELECT v FROM held").to_arrow_table().column("v"))


def with_null(name):
    kind, values = SCALARS[name]
    return pa.concat_arrays([array_of(kind, values), pa.nulls(1, kind)])


def without_zones(value):
    """Returns a value of times with nanoseconds as SQL has it: in UTC, without a zone."""
    if isinstance(value, dict):
        return {name: without_zones(each) for name, each in value.items()}
    if isinstance(value, list):
        return [without_zones(each) for each in value]
    return value.removesuffix("+00:00") if isinstance(value, str) else value


def parsed(found, expected):
    """Returns a value of SQL in which structs that are texts there are objects again: those whose
    fields differ in case only.
    """
    if isinstance(expected, dict) and isinstance(found, str):
        return json.loads(found)
    if isinstance(expected, list):
        return [parsed(*pair) for pair in zip(found, expected, strict=True)]
    return found


@pytest.mark.parametrize("shape", NESTED)
@pytest.mark.parametrize("name", SCALARS)
@pytest.mark.sample(40)
def test_every_value_is_the_same_in_sql(connection, name, shape):
    array = nested(shape, array_of(*SCALARS[name]))
    expected = json_column(array)
    found = through_sql(connection, array)
    is_zoned = "ns" in str(array.type) and "tz=" in str(array.type)
    if is_zoned:
        expected = without_zones(expected)
    shown = [parsed(*pair) for pair in zip(found, json_column(array), strict=True)]
    assert (without_zones(shown) if is_zoned else shown) == expected


def test_nulls_are_nulls(connection):
    for name in SCALARS:
        if name != "run_end_encoded":
            assert through_sql(connection, with_null(name))[-1] is None


def test_fields_that_differ_in_case_are_json(connection):
    array = pa.array([{"x": 2**60, "X": None}, None])
    assert through_sql(connection, array) == ['{"x": "1152921504606846976", "X": null}', None]
