"""Differences of rows without a key: sets of columns that are found, and whole rows, compared with
counters of Python and `EXCEPT ALL` of DuckDB.
"""

import io
import json
import math
import tempfile
from collections import Counter
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.formats.keyed_tables import QUICK, parquet
from support.formats.row_comparison import compare, offset

from anabranch.errors import Conflict, Invalid
from anabranch.versioning.strategies.rows.differences import row_differences

CELLS = st.sampled_from(["x", "y", "1", "1.0", "a\nb", 'say "z"', " ", None])
TEXT_ROWS = st.lists(st.tuples(CELLS, CELLS), max_size=8)
NUMBERS = st.sampled_from([0.0, 1.5, math.nan, math.inf, None])
LISTS = st.sampled_from([None, [], [1], [1, None], [None]])
STRUCTS = st.sampled_from([None, {"p": None, "q": []}, {"p": "x", "q": [math.nan]}])
TYPED_ROWS = st.lists(st.tuples(NUMBERS, LISTS, STRUCTS), max_size=8)
TYPES = {
    "n": pa.float64(),
    "l": pa.list_(pa.int32()),
    "s": pa.struct([("p", pa.string()), ("q", pa.list_(pa.float64()))]),
}
JSON_VALUES = st.sampled_from(
    [
        *("1", "1.0", "10e-1", "true", "null", '"1"', "-0", "0", "[]", '"\\u00e9"'),
        *('{"a": 1, "b": [2.50]}', '{"b":[25e-1],"a":1}'),
        *("1e999999999999999999999", "123456789012345678901234567890.5"),
    ]
)


def csv_file(rows):
    def cell(value):
        return "" if value is None else '"' + value.replace('"', '""') + '"'

    return ("a,b\n" + "".join(f"{cell(a)},{cell(b)}\n" for a, b in rows)).encode()


def differences(found):
    """Returns how many rows more the right side has, by row; fewer are negative."""
    counts = Counter()
    for each in found.items:
        assert (each.key, each.columns) == ({}, [])
        row = each.left if each.kind == "removed" else each.right
        assert (each.left if each.kind == "added" else each.right) is None
        text = json.dumps(row, sort_keys=True)
        assert counts[text] == 0
        counts[text] = -each.count if each.kind == "removed" else each.count
    return dict(counts)


def expected(left, right):
    counts = Counter(right)
    counts.subtract(left)
    return {row: count for row, count in counts.items() if count}


def texts(rows):
    return [json.dumps(row, sort_keys=True) for row in rows]


@QUICK
@given(TEXT_ROWS, TEXT_ROWS)
def test_whole_rows_of_csv_are_counted(left, right):
    found = compare("t.csv", csv_file(left), csv_file(right), whole_rows=True)
    sides = ([{"a": a, "b": b} for a, b in rows] for rows in (left, right))
    assert differences(found) == expected(*map(texts, sides))
    assert (found.key, found.matched_by) == ([], "whole_rows")


def plain(value):
    """Returns a value as the JSON value that a comparison returns."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity"
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list) else value


@QUICK
@given(TYPED_ROWS, TYPED_ROWS)
def test_whole_rows_of_parquet_are_counted_as_python_and_sql_count_them(left, right):
    files = parquet(TYPES, left), parquet(TYPES, right)
    found = compare("t.parquet", *files, whole_rows=True)
    sides = ([plain(dict(zip(TYPES, row, strict=True))) for row in rows] for rows in (left, right))
    assert differences(found) == expected(*map(texts, sides))
    with tempfile.TemporaryDirectory() as folder:
        queries = []
        for name, content in zip(("left", "right"), files, strict=True):
            Path(folder, name).write_bytes(content)
            queries.append(f"SELECT * FROM read_parquet('{folder}/{name}')")
        gone = duckdb.sql(f"({queries[0]}) EXCEPT ALL ({queries[1]})").fetchall()
        new = duckdb.sql(f"({queries[1]}) EXCEPT ALL ({queries[0]})").fetchall()
    assert sum(each.count for each in found.items if each.kind == "removed") == len(gone)
    assert sum(each.count for each in found.items if each.kind == "added") == len(new)


LINES = st.lists(st.tuples(JSON_VALUES, st.booleans()), max_size=8)


@QUICK
@given(LINES, LINES)
def test_json_lines_are_counted_by_value(left, right):
    def content(rows):
        return "".join(
            f'{{"v": {value}, "w": 1}}\n' if order else f'{{"w":1.0,"v":{value}}}\n'
            for value, order in rows
        )

    same = {"1.0": "1", "10e-1": "1", "-0": "0", '{"b":[25e-1],"a":1}': '{"a": 1, "b": [2.50]}'}
    found = compare("t.jsonl", *(content(rows).encode() for rows in (left, right)), whole_rows=True)
    sides = ([same.get(value, value) for value, _ in rows] for rows in (left, right))
    counts = sorted(expected(*sides).values())
    signed = [each.count if each.kind == "added" else -each.count for each in found.items]
    assert sorted(signed) == counts


@pytest.mark.parametrize("name", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("amount", [1, 2, 3, 5])
@pytest.mark.sample(2)
def test_pages_hold_every_row_once(name, amount):
    left, right = ["a", "b", "b", "c", "e"], ["b", "c", "c", "c", "d", "b", "d", "f"]
    write = {
        "csv": lambda rows: "".join(["v\n", *(f"{row}\n" for row in rows)]).encode(),
        "parquet": lambda rows: parquet({"v": pa.string()}, [(row,) for row in rows]),
        "jsonl": lambda rows: "".join(f'{{"v": "{row}"}}\n' for row in rows).encode(),
    }[name]
    found, after = [], ""
    while True:
        page = compare(f"t.{name}", write(left), write(right), amount=amount, after=after)
        assert (page.matched_by, page.key) == ("whole_rows", [])
        found += [(each.kind, (each.left or each.right)["v"], each.count) for each in page.items]
        if not page.has_more:
            break
        after = page.next_offset
    assert found == [
        ("removed", "a", 1),
        ("added", "c", 2),
        ("removed", "e", 1),
        ("added", "d", 2),
        ("added", "f", 1),
    ]


def table(**columns):
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


DAYS = {
    "day": [day for day in range(1, 31) for _ in range(6)],
    "carrier": [carrier for _ in range(30) for carrier in "ABABAB"],
    "number": [number for _ in range(30) for number in (1, 1, 2, 2, 3, 3)],
    "delay": [float(index % 7) for index in range(180)],
    "gate": [None, *(str(index % 5) for index in range(179))],
    "year": [2013] * 180,
}


def test_a_set_of_columns_is_found_and_all_pages_use_it():
    changed = {**DAYS, "delay": [*DAYS["delay"][:100], -1.0, -2.0, *DAYS["delay"][102:]]}
    first = compare("t.parquet", table(**DAYS), table(**changed), amount=1)
    assert (first.matched_by, first.key) == ("found", ["day", "carrier", "number"])
    rest = compare("t.parquet", table(**DAYS), table(**changed), amount=1, after=first.next_offset)
    assert (rest.matched_by, rest.key, rest.has_more) == ("found", first.key, False)
    assert [each.columns for each in (*first.items, *rest.items)] == [["delay"]] * 2


def test_the_set_is_taken_that_most_rows_share():
    left = {"a": [1, 1, 2, 2], "b": [1, 2, 1, 2], "c": [3, 4, 4, 3], "d": ["x", "x", "x", "x"]}
    right = {**left, "b": [5, 6, 5, 6], "d": ["y"] * 4}
    found = compare("t.parquet", table(**left), table(**right))
    assert (found.matched_by, found.key) == ("found", ["a", "c"])
    assert {tuple(each.columns) for each in found.items} == {("b", "d")}


@pytest.mark.parametrize(
    "columns",
    [
        {"a": ["x", "x", "y"], "b": [1.0, 2.0, 1.0]},
        {"a": ["x", "x", "y"], "b": [1, None, 1]},
        {"a": ["x", "x", "y"], "b": [[1], [2], [1]]},
        {"a": ["x", "x", "y"], "b": [{"p": 1}, {"p": 2}, {"p": 1}]},
        {"a": ["x", "x", "y"], "b": ["0.5", "1.5", "0.5"]},
    ],
)
def test_measured_missing_and_nested_values_are_no_part_of_a_found_key(columns):
    found = compare("t.parquet", None, table(**columns))
    assert found.matched_by == "whole_rows"


def test_a_set_that_is_unique_in_the_sample_only_is_not_used():
    columns = {"a": [index % 100 for index in range(9000)], "b": [i // 100 for i in range(9000)]}
    columns = {name: [*values, values[0]] for name, values in columns.items()}
    found = compare("t.parquet", None, table(**columns), amount=3)
    assert (found.matched_by, found.items[0].count) == ("whole_rows", 2)


@pytest.mark.slow
def test_types_that_clash_and_columns_that_one_side_lacks():
    left = table(a=[1, 1], b=[None, None], c=pa.array(["2020-01-01"] * 2))
    right = table(a=["1", "1"], c=pa.array(["2020-01-01"] * 2))
    found = compare("t.parquet", left, right)
    assert [(each.kind, each.count) for each in found.items] == [("removed", 2), ("added", 2)]
    same = compare("t.parquet", table(a=[1, 1], b=pa.array([None] * 2, "int32")), table(a=[1, 1]))
    assert (same.items, same.matched_by) == ([], "whole_rows")
    wider = compare("t.parquet", table(a=pa.array([1, 1], "int8")), table(a=[1.0, 1.0, 1.5, 1.5]))
    assert [(each.right, each.count) for each in wider.items] == [({"a": 1.5}, 2)]


@pytest.mark.parametrize(
    ("path", "content", "reason"),
    [
        ("t.jsonl", b"[1]\n", "the right has a line that is no object"),
        ("t.jsonl", b'{"a": 1, "a": 1}\n', "has the member 'a' twice"),
    ],
)
def test_lines_that_cannot_be_compared_are_refused(path, content, reason):
    with pytest.raises(Conflict, match=reason):
        compare(path, b'{"b": 1}\n', content, whole_rows=True)


def test_a_key_and_whole_rows_exclude_each_other(tmp_path):
    with pytest.raises(Invalid, match="exclude each other") as refused:
        row_differences(
            "t.csv", None, None, key=["a"], whole_rows=True, amount=1, folder=str(tmp_path)
        )
    assert refused.value.kind == "invalid_key"


@pytest.mark.parametrize("position", [[], ["1"], ["x", "added"], ["1", "changed"], ["²", "added"]])
def test_an_offset_that_is_no_position_is_refused(position):
    with pytest.raises(Invalid) as refused:
        compare("t.csv", None, b"a\nx\nx\n", after=offset("whole_rows", [], position))
    assert refused.value.kind == "invalid_after"
