"""Merges and differences of Parquet with every type: values are those of the file."""

import io

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.formats.arrow_types import IN_PARQUET, NESTED, SCALARS, array_of, nested
from support.formats.row_comparison import compare

from anabranch.testing.strategy_runs import run_strategy
from anabranch.versioning.strategies.rows.strategy import rows_strategy

PATH = "t.parquet"


def file_of(columns, **options):
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink, **options)
    return sink.getvalue()


def column(name, shape, order):
    """Returns a column of a type in a shape, whose rows have the values at these positions; the
    third one is null.
    """
    kind, values = SCALARS[name]
    values = ([*values, None] * 4)[:6]
    array = array_of(kind, [values[number] for number in order])
    return nested(shape, array, [number == 2 for number in order])


def merge(base, source, destination, key="id"):
    run = run_strategy(
        rows_strategy({"key": key}), PATH, base=base, source=source, destination=destination
    )
    assert run.conflicts == []
    return run.files[PATH]


def read(content):
    return pq.read_table(io.BytesIO(content))


CASES = [
    (name, shape)
    for name in IN_PARQUET
    for shape in NESTED
    # Arrow does not write these
    if not (name.endswith("_view") and shape == "list_of_structs")
]


def seen_by_duckdb(content, tmp_path):
    """Returns the type and values of the column `t` for DuckDB, or how it refuses them."""
    (tmp_path / PATH).write_bytes(content)
    query = f"SELECT typeof(t), t::VARCHAR FROM read_parquet('{tmp_path / PATH}') ORDER BY id"
    try:
        return duckdb.sql(query).fetchall()
    except duckdb.Error as error:
        return type(error).__name__


@pytest.mark.parametrize(("name", "shape"), CASES)
@pytest.mark.sample(2)
def test_untouched_values_are_those_of_the_file(name, shape, tmp_path):
    untouched = column(name, shape, [0, 1, 2, 3])
    base, source, destination = (
        file_of({"id": [1, 2, 3, 4], "n": numbers, "t": untouched})
        for numbers in ([1, 2, 3, 4], [10, 2, 3, 4], [1, 20, 3, 4])
    )
    merged = merge(base, source, destination)
    found, expected = read(merged), read(destination)
    assert found["n"].to_pylist() == [10, 20, 3, 4]
    assert found.schema == expected.schema
    assert found["t"].equals(expected["t"])
    assert seen_by_duckdb(merged, tmp_path) == seen_by_duckdb(destination, tmp_path)


@pytest.mark.parametrize(("name", "shape"), CASES)
@pytest.mark.sample(2)
def test_changed_and_added_values_are_those_of_the_source(name, shape, tmp_path):
    before, changed, after = (
        column(name, shape, order) for order in ([0, 1], [1, 1], [1, 1, 2, 3])
    )
    base = file_of({"id": [1, 2], "n": [1, 2], "t": before})
    source = file_of({"id": [1, 2, 3, 4], "n": [1, 2, 3, 4], "t": after})
    destination = file_of({"id": [1, 2], "n": [1, 20], "t": before})
    expected = file_of({"id": [1, 2, 3, 4], "n": [1, 20, 3, 4], "t": after})
    merged = merge(base, source, destination)
    assert read(merged)["n"].to_pylist() == [1, 20, 3, 4]
    assert read(merged)["t"].to_pylist() == read(expected)["t"].to_pylist()
    assert seen_by_duckdb(merged, tmp_path) == seen_by_duckdb(expected, tmp_path)
    only = file_of({"id": [1, 2], "n": [1, 2], "t": changed})
    differences = compare(PATH, base, only, key=["id"]).items
    is_other = not before[0].equals(changed[0])
    assert [(each.key, each.columns) for each in differences] == [({"id": 1}, ["t"])] * is_other


@pytest.mark.parametrize("name", [name for name in IN_PARQUET if name != "null"])
@pytest.mark.sample(1)
def test_every_type_is_a_key(name):
    kind, values = SCALARS[name]
    array = array_of(kind, values)
    count = len(array)
    numbers = list(range(count))
    base = file_of({"t": array, "n": numbers})
    changed = file_of({"t": array, "n": [99, *numbers[1:]]})
    fewer = file_of({"t": array.slice(0, count - 1), "n": numbers[:-1]})
    found = compare(PATH, changed, fewer, key=["t"]).items
    assert {each.kind for each in found} == {"changed", "removed"}
    merged = read(merge(base, changed, fewer, key="t"))
    assert merged["n"].to_pylist() == [99, *numbers[1:-1]]
    assert merged["t"].to_pylist() == read(base)["t"].to_pylist()[:-1]
    keys, after = [], ""
    for _ in values:
        page = compare(PATH, None, base, key=["t"], amount=1, after=after)
        keys += [str(each.key) for each in page.items]
        after = page.next_offset
    assert not page.has_more
    assert len(set(keys)) == count
