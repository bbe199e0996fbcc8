"""Carriers of values: equal and ordered in DuckDB as the values are in the file."""

import duckdb
import pyarrow as pa
import pytest
from support.formats.arrow_types import NESTED, SCALARS, array_of, nested

from anabranch.tables.carriage import carriage_of, carry


def column(name, repeat=1):
    kind, values = SCALARS[name]
    return array_of(kind, [*(list(values) * repeat), None])


def in_duckdb(carried):
    table = pa.table({"n": range(len(carried)), "v": carried})
    with duckdb.connect() as connection:
        connection.register("t", table)
        same = "a.v IS NOT DISTINCT FROM b.v"
        query = f"SELECT a.n, b.n FROM t a CROSS JOIN t b WHERE {same} ORDER BY ALL"
        return connection.execute(query).fetchall()


@pytest.mark.parametrize("shape", NESTED)
@pytest.mark.parametrize("name", SCALARS)
@pytest.mark.sample(10)
def test_values_are_equal_in_duckdb_where_they_are_in_arrow(name, shape):
    array = column(name)
    values = nested(shape, array)
    values.validate(full=True)
    carried = carry(values)
    assert carried.type == carriage_of(values.type).carrier
    carried.validate(full=True)
    numbers = range(len(values))
    expected = [(a, b) for a in numbers for b in numbers if values[a].equals(values[b])]
    assert in_duckdb(carried) == expected


@pytest.mark.parametrize("shape", NESTED)
@pytest.mark.parametrize("name", SCALARS)
@pytest.mark.sample(40)
def test_slices_are_carried_as_the_whole(name, shape):
    whole = nested(shape, column(name, repeat=3))
    carried = carry(whole)
    for start in range(len(whole)):
        part = carry(whole.slice(start, 2))
        part.validate(full=True)
        assert part.equals(carried.slice(start, 2))


@pytest.mark.parametrize("name", [name for name in SCALARS if "dictionary" not in name])
@pytest.mark.sample(10)
def test_the_order_of_carriers_is_that_of_values(name):
    kind, values = SCALARS[name]
    array = array_of(kind, values)
    with duckdb.connect() as connection:
        connection.register("t", pa.table({"n": range(len(array)), "v": carry(array)}))
        found = [row[0] for row in connection.execute("SELECT n FROM t ORDER BY v").fetchall()]
    assert [values[number] for number in found] == sorted(values, key=lambda v: (v is None, v))


def test_unions_are_refused_also_within_other_types():
    union = pa.dense_union([pa.field("a", pa.int8()), pa.field("b", pa.string())])
    for kind in (union, pa.list_(union), pa.struct([("u", union)]), pa.map_(pa.string(), union)):
        assert carriage_of(kind).how == "refused"
    assert carriage_of(pa.list_(pa.decimal256(50, 2))).how == "bytes"
    assert carriage_of(pa.decimal128(5, -2)).how == "bytes"


def test_texts_that_are_not_utf_8_are_carried():
    bad = pa.array([b"\xff\xfe", b"a"]).cast(pa.binary())
    texts = pa.StringArray.from_buffers(2, bad.buffers()[1], bad.buffers()[2])
    assert in_duckdb(carry(texts)) == [(0, 0), (1, 1)]
