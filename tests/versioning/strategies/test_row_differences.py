"""Differences of rows, compared with dictionaries and with DuckDB."""

import io
import json
import tempfile
from decimal import Decimal
from pathlib import Path

import duckdb
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.formats.keyed_tables import COLUMNS, FORMATS, QUICK, TABLES, parquet
from support.formats.row_comparison import compare, offset

from anabranch.errors import Conflict, Invalid
from anabranch.versioning.strategies.rows import differences


def summary(page):
    return [(each.kind, *each.key.values(), each.columns) for each in page.items]


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", FORMATS)
@QUICK
@given(TABLES, TABLES)
def test_differences_are_those_of_dictionaries(name, left, right):
    write, _ = FORMATS[name]
    page = compare(f"t.{name}", write(left, COLUMNS), write(right, COLUMNS), key=["id"])
    expected = []
    for key in sorted({**left, **right}):
        before, now = left.get(key), right.get(key)
        if before != now:
            kind = "added" if before is None else "removed" if now is None else "changed"
            both = before is not None and now is not None
            columns = [each for each in COLUMNS if both and before[each] != now[each]]
            expected.append((kind, key, columns))
            (found,) = [each for each in page.items if each.key == {"id": key}]
            assert found.left == (None if before is None else {"id": key, **before})
            assert found.right == (None if now is None else {"id": key, **now})
    assert summary(page) == expected
    assert not page.has_more


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("amount", [1, 2, 7])
@pytest.mark.sample(1)
def test_pages_hold_every_difference_once_in_the_order_of_keys(name, amount):
    write, _ = FORMATS[name]
    left = {str(number): dict.fromkeys(COLUMNS, "x") for number in range(9)}
    right = {key: dict.fromkeys(COLUMNS, "y") for key in left if key != "7"}
    files = write(left, COLUMNS), write(right, COLUMNS)
    keys, after = [], ""
    while True:
        page = compare(f"t.{name}", *files, key=["id"], amount=amount, after=after)
        keys += [each.key["id"] for each in page.items]
        assert len(page.items) <= amount
        if not page.has_more:
            break
        after = page.next_offset
    assert keys == sorted(left)


TYPED = (
    "1 AS id, 1.10::decimal(10,2) AS dec, 'nan'::double AS nan, '-inf'::float AS inf, "
    "'\\xAA'::blob AS bytes, timestamp '2020-01-01 01:02:03.5' AS ts, "
    "timestamptz '2020-01-01 01:02:03+02' AS tz, "
    "timestamp_ns '2020-01-01 01:02:03.123456789' AS ns, date '20000-01-01' AS far, "
    "time '01:02:03' AS t, interval '1 month 2 days 3 seconds' AS iv, "
    "'3e33c873-98c5-4ee8-8bd9-71e13e749870'::uuid AS u, "
    "{'d': 1.5::decimal(3,1), 'b': '\\xAA'::blob} AS s, [1, NULL] AS l, map {1: 'x'} AS m, "
    "NULL::int AS nothing, true AS yes, 18446744073709551615::ubigint AS big"
)


def copied(query):
    with tempfile.TemporaryDirectory() as folder:
        duckdb.sql(f"COPY ({query}) TO '{folder}/t' (FORMAT parquet)")
        return Path(folder, "t").read_bytes()


def test_values_are_json_values():
    (added,) = compare("t.parquet", None, copied(f"SELECT {TYPED}")).items
    assert added.right == {
        "id": 1,
        "dec": "1.10",
        "nan": "NaN",
        "inf": "-Infinity",
        "bytes": "\\xaa",
        "ts": "2020-01-01 01:02:03.500000",
        "tz": "2019-12-31 23:02:03+00:00",
        "ns": "2020-01-01 01:02:03.123456789",
        "far": "20000-01-01",
        "t": "01:02:03",
        "iv": "P1M2DT3S",
        "u": "3e33c873-98c5-4ee8-8bd9-71e13e749870",
        "s": {"d": "1.5", "b": "\\xaa"},
        "l": [1, None],
        "m": {"1": "x"},
        "nothing": None,
        "yes": True,
        "big": "18446744073709551615",
    }
    assert json.loads(msgspec.json.encode(added))["right"] == added.right


def test_numbers_of_json_lines_keep_their_digits():
    line = b'{"a": 9007199254740993, "b": 1.5, "c": 0.12345678901234567890, "d": -0, "e": 1e999}'
    (added,) = compare("t.jsonl", None, line).items
    assert added.right == {
        "a": "9007199254740993",
        "b": 1.5,
        "c": "0.12345678901234567890",
        "d": 0,
        "e": "1e999",
    }


def test_nested_values_of_clashing_types_are_compared_with_their_kind():
    def file(kind, value):
        return parquet({"id": pa.int64(), "v": kind}, [(1, value)])

    large = 2**53 + 1
    numbers = file(pa.list_(pa.int64()), [large])
    assert len(compare("t.parquet", numbers, file(pa.list_(pa.string()), [str(large)])).items) == 1
    fields = [("x", pa.int64())], [("x", pa.binary())]
    one, other = (pa.struct(each) for each in fields)
    assert compare("t.parquet", file(one, {"x": 1}), file(one, {"x": 1})).items == []
    assert len(compare("t.parquet", file(one, {"x": 1}), file(other, {"x": b"1"})).items) == 1


def test_nothing_differs_between_equal_tables_of_all_types():
    one, other = copied(f"SELECT {TYPED}"), copied(f"SELECT * FROM (SELECT {TYPED})")
    assert compare("t.parquet", one, other).items == []


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("DECIMAL(20,2)", ["-1.50", "0.00", "2.10", "10.00"]),
        ("DOUBLE", ["-1.5", "0.1", "1e300", "inf", "nan"]),
        ("BLOB", ["\\x00\\xFF", "\\x22\\x5C", "a", "\\xFF"]),
        ("TIMESTAMP", ["1999-01-01 00:00:00.000001", "2020-01-01 00:00:00"]),
        ("TIMESTAMP WITH TIME ZONE", ["1999-01-01 00:00:00+00", "2020-01-01 00:00:00+05"]),
        ("TIMESTAMP_NS", ["2020-01-01 00:00:00.000000001", "2020-01-01 00:00:00.000000002"]),
        ("DATE", ["0001-01-01", "2020-02-29", "20000-01-01"]),
        ("UUID", ["00000000-0000-0000-0000-000000000001", "ffffffff-0000-0000-0000-000000000001"]),
        ("VARCHAR", ["", "\n", "'", '"', "a,b", "\u00e9", "\U0001f600"]),
        ("BOOLEAN", ["false", "true"]),
        ("UBIGINT", ["2", "10", "18446744073709551615"]),
    ],
)
@pytest.mark.sample(1)
def test_pages_continue_after_keys_of_any_type(kind, values):
    rows = ", ".join("({})".format("'" + value.replace("'", "''") + "'") for value in values)
    content = copied(f"SELECT k::{kind} AS k, k::{kind} AS k2 FROM (VALUES {rows}) AS t(k)")
    for key in (["k"], ["k", "k2"]):
        found, after = [], ""
        for _ in values:
            page = compare("t.parquet", None, content, key=key, amount=1, after=after)
            found += page.items
            after = page.next_offset
        assert not page.has_more
        assert len({json.dumps(each.key) for each in found}) == len(values)


def test_columns_that_one_side_lacks_differ_where_they_have_a_value():
    left, right = b"id,a,old\n1,x,o\n2,x,\n", b"id,new,a\n1,n,x\n2,,x\n"
    (found,) = compare("t.csv", left, right).items
    assert (found.key, found.columns) == ({"id": "1"}, ["new", "old"])
    assert found.left == {"id": "1", "a": "x", "old": "o"}
    assert list(found.right) == ["id", "new", "a"]


def test_widened_types_differ_by_value_and_other_types_always():
    def table(kind, values):
        return parquet({"id": pa.int64(), "v": kind}, list(enumerate(values)))

    narrow = table(pa.int32(), [1, 2])
    wide = table(pa.float64(), [1.0, 2.5])
    assert summary(compare("t.parquet", narrow, wide)) == [("changed", 1, ["v"])]
    texts = table(pa.string(), ["1", "2"])
    found = compare("t.parquet", narrow, texts).items
    assert [(each.left["v"], each.right["v"]) for each in found] == [(1, "1"), (2, "2")]


def test_json_lines_differ_by_value_not_by_spelling():
    left = b'{"id": 1, "n": 1.50}\n{"id": 2, "n": 1}\n{"id": 3, "n": {"a": [1]}}\n'
    right = b'{"n":15e-1,"id":1}\n{"id": 2, "n": true}\n{"id": 3, "n": {"a": [1.0]}, "z": null}\n'
    found = compare("t.jsonl", left, right).items
    assert [(each.key["id"], each.columns) for each in found] == [(2, ["n"]), (3, ["z"])]


def test_a_page_ends_with_the_row_that_makes_it_too_large(monkeypatch):
    monkeypatch.setattr(differences, "MAX_PAGE_BYTES", 1000)
    content = "id,a\n" + "".join(f"{number},{'x' * 400}\n" for number in range(1, 6))
    first = compare("t.csv", None, content.encode())
    assert (len(first.items), first.has_more) == (3, True)
    rest = compare("t.csv", None, content.encode(), after=first.next_offset)
    assert [each.key["id"] for each in rest.items] == ["4", "5"]


@pytest.mark.parametrize("after", ["1", "x", "[1]", "[]", '["1","2"]', "{}", "\ud800"])
def test_an_offset_of_another_listing_is_refused(after):
    with pytest.raises(Invalid) as refused:
        compare("t.csv", b"id\n1\n", b"id\n2\n", after=after)
    assert refused.value.kind == "invalid_after"


@pytest.mark.parametrize("after", ["x", "2020-13-01", "'); DROP TABLE x; --"])
def test_an_offset_that_is_no_key_of_the_table_is_refused(after):
    content = parquet({"id": pa.int64()}, [(1,)])
    with pytest.raises(Conflict, match="Could not convert"):
        compare("t.parquet", None, content, after=offset("found", ["id"], [after]))


@pytest.mark.parametrize(
    ("path", "content", "key", "reason"),
    [
        ("t.csv", b"id,a\n1,x\n1,y\n", ["id"], "the right has the key id=1 more than once"),
        ("t.csv", b"a\nx\n", ["id"], "the right has no key column 'id'"),
        ("t.parquet", b"PAR1 not", ["id"], "the right cannot be read as Parquet"),
        ("t.jsonl", b"{", ["id"], "the right cannot be read as JSON lines: line 1"),
        ("t.bin", b"id\n1\n", [], r"t\.bin is no table"),
    ],
)
def test_what_is_no_table_is_refused_with_the_reason(path, content, key, reason):
    with pytest.raises(Conflict, match=reason) as refused:
        compare(path, None, content, key=key)
    assert refused.value.kind == "merge_failed"
    assert tempfile.gettempdir() not in str(refused.value)


def test_a_file_whose_pages_are_damaged_is_refused_without_its_path():
    sink = io.BytesIO()
    values = [str(Decimal(number) / 7) for number in range(5000)]
    pq.write_table(pa.table({"id": range(5000), "v": values}), sink, compression="snappy")
    content = sink.getvalue()
    damaged = content[:2000] + b"\xff" * 20_000 + content[22_000:]
    with pytest.raises(Conflict) as refused:
        compare("t.parquet", content, damaged, key=["id"])
    assert tempfile.gettempdir() not in str(refused.value)


TYPES = st.sampled_from(["INTEGER", "BIGINT", "DOUBLE", "VARCHAR", "DATE"])


@QUICK
@given(TYPES, st.lists(st.tuples(st.integers(1, 30), st.integers(1, 9)), max_size=30), st.data())
def test_parquet_differences_are_those_of_sql(kind, rows, data):
    base = dict(rows)
    changed = {
        key: data.draw(st.sampled_from([value, value + 1]))
        for key, value in base.items()
        if data.draw(st.booleans())
    } | dict(data.draw(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 9)), max_size=5)))
    names = []
    with tempfile.TemporaryDirectory() as folder:
        for name, table in (("left", base), ("right", changed)):
            value = "date '2020-01-01' + v::INTEGER" if kind == "DATE" else f"v::{kind}"
            listed = ", ".join(f"({key}, {cell})" for key, cell in table.items()) or "(0, 0)"
            where = "" if table else " WHERE false"
            query = f"SELECT k::INTEGER AS k, {value} AS v FROM (VALUES {listed}) t(k, v){where}"
            names.append(f"{folder}/{name}")
            duckdb.sql(f"COPY ({query}) TO '{names[-1]}' (FORMAT parquet)")
        left, right = (f"SELECT * FROM read_parquet('{name}')" for name in names)
        gone = duckdb.sql(f"({left}) EXCEPT ({right})").fetchall()
        new = duckdb.sql(f"({right}) EXCEPT ({left})").fetchall()
        page = compare("t.parquet", *(Path(name).read_bytes() for name in names), key=["k"])
    assert {each.key["k"] for each in page.items} == {row[0] for row in (*gone, *new)}
    assert sorted(each.left["k"] for each in page.items if each.left) == sorted(r[0] for r in gone)
    assert sorted(each.right["k"] for each in page.items if each.right) == sorted(r[0] for r in new)
