"""Checks of the schemas of tables."""

import pyarrow as pa

from .test_table_checks import branch_anew, fails, parquet, run

UNCHANGED = {"path": "t/*", "schema": "unchanged"}


def test_a_changed_schema_is_refused_with_its_differences(lake):
    old = {"a": [1], "b": ["x"], "c": [1.5]}
    lake.save("main", {"t/1.parquet": parquet(old)})
    branch_anew(lake)
    lake.save("dev", {"t/1.parquet": parquet({**old, "a": [2]})})
    run(lake, UNCHANGED)
    lake.save("dev", {"t/1.parquet": parquet({"a": ["2"], "c": [2.5], "d": [1]})})
    assert fails(lake, UNCHANGED) == (
        "t/1.parquet: column a is string instead of int64; its schema must be that of t/1.parquet "
        "on main; t/1.parquet: column b is missing; its schema must be that of t/1.parquet on "
        "main; t/1.parquet: column d is new; its schema must be that of t/1.parquet on main"
    )


def test_a_commit_is_named_by_the_beginning_of_its_id(lake):
    base = lake.save("main", {"t/1.csv": b"a\n1\n"})
    branch_anew(lake)
    lake.put("dev", **{"t/1.csv": b"b\n1\n"})
    reason = fails(lake, UNCHANGED, base=base)
    assert f"its schema must be that of t/1.csv on {base[:12]};" in reason


def test_the_order_of_columns_and_whether_they_are_null_belong_to_a_schema(lake):
    schema = pa.schema([pa.field("a", pa.int64(), nullable=False), pa.field("b", pa.int64())])
    lake.save("main", {"t/1.parquet": parquet(pa.table([[1], [2]], schema=schema))})
    branch_anew(lake)
    nullable = pa.schema([pa.field("a", pa.int64()), pa.field("b", pa.int64())])
    lake.save("dev", {"t/1.parquet": parquet(pa.table([[1], [2]], schema=nullable))})
    assert "column a may be null now" in fails(lake, UNCHANGED)
    other = pa.schema([schema.field("b"), schema.field("a")])
    lake.save("dev", {"t/1.parquet": parquet(pa.table([[1], [2]], schema=other))})
    assert "its columns are in another order than a, b" in fails(lake, UNCHANGED)


def test_a_new_table_has_the_schema_of_its_neighbours(lake):
    lake.save("main", {"t/1.csv": b"a,b\n1,2\n", "u/1.csv": b"z\n"})
    branch_anew(lake)
    lake.save("dev", {"t/2.csv": b"a,b\n3,4\n", "new/1.csv": b"q\n1\n"})
    run(lake, {**UNCHANGED, "path": "*/*"}, reference="dev", base="main~1")
    run(lake, UNCHANGED)
    lake.save("dev", {"t/2.csv": b"a,c\n3,4\n"})
    assert "t/2.csv: column b is missing; its schema must be that of t/1.csv" in (
        fails(lake, UNCHANGED)
    )


def test_a_schema_can_be_that_of_a_file(lake):
    lake.save("dev", {"schemas/t.parquet": parquet({"a": [1]}), "t/1.parquet": parquet({"a": [2]})})
    rule = {"path": "t/*", "schema": {"file": "schemas/t.parquet"}}
    run(lake, rule)
    lake.save("dev", {"t/2.parquet": parquet({"a": [2.5]})})
    assert "t/2.parquet: column a is double instead of int64" in fails(lake, rule)
    missing = {"path": "t/*", "schema": {"file": "schemas/other.parquet"}}
    assert "the file of its schema is missing" in fails(lake, missing)
