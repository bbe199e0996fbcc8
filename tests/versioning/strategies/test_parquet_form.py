"""What a merged Parquet file keeps beside its values, and what other readers see of it."""

import datetime as dt
import io
import json
from decimal import Decimal

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.formats.parquet_annotations import annotated

from anabranch.errors import Conflict
from anabranch.testing.strategy_runs import run_strategy
from anabranch.versioning.strategies.rows.strategy import rows_strategy

SPARK = b"org.apache.spark.sql.parquet.row.metadata"
FAR = dt.datetime(9999, 12, 31)  # noqa: DTZ001  without a zone


def written(columns, metadata=None, **options):
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    if metadata:
        table = table.replace_schema_metadata(metadata)
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def merge(base, source, destination):
    run = run_strategy(
        rows_strategy({"key": "id"}),
        "t.parquet",
        base=base,
        source=source,
        destination=destination,
    )
    assert run.conflicts == []
    return run.files["t.parquet"]


def opened(content):
    return pq.ParquetFile(io.BytesIO(content))


def three(column, **options):
    """Returns versions with a column that no side changes."""
    return [
        written({"id": [1, 2], "n": numbers, "t": column}, **options)
        for numbers in ([1, 2], [10, 2], [1, 20])
    ]


def physical(content, name):
    schema = opened(content).schema
    return next(
        schema.column(n).physical_type for n in range(len(schema)) if schema.column(n).name == name
    )


def test_codecs_dictionaries_and_encodings_of_each_column_are_kept():
    options = {
        "compression": {"id": "zstd", "n": "none", "t": "gzip"},
        "use_dictionary": ["t"],
        "column_encoding": {"id": "DELTA_BINARY_PACKED", "n": "PLAIN"},
        "write_page_index": True,
    }
    merged = merge(*three(["a", "b"], **options))
    group = opened(merged).metadata.row_group(0)
    columns = {group.column(n).path_in_schema: group.column(n) for n in range(3)}
    codecs = {name: column.compression for name, column in columns.items()}
    assert codecs == {"id": "ZSTD", "n": "UNCOMPRESSED", "t": "GZIP"}
    assert [columns[name].has_dictionary_page for name in ("id", "n", "t")] == [False, False, True]
    assert "DELTA_BINARY_PACKED" in columns["id"].encodings
    assert columns["id"].has_column_index


def test_sizes_of_row_groups_are_kept():
    numbers = list(range(1000))
    base = written({"id": numbers, "n": numbers}, row_group_size=300)
    source = written({"id": [*numbers, 1000], "n": [*numbers, 1000]})
    destination = written({"id": numbers, "n": [-1, *numbers[1:]]}, row_group_size=300)
    about = opened(merge(base, source, destination)).metadata
    sizes = [about.row_group(number).num_rows for number in range(about.num_row_groups)]
    assert sizes == [300, 300, 300, 101]


@pytest.mark.parametrize(
    ("times", "unit"),
    [([FAR, FAR.replace(year=1)], "us"), ([1704067200123456789, None], "ns")],
)
def test_int96_timestamps_stay_as_they_are(times, unit):
    column = pa.array(times, pa.timestamp(unit))
    merged = merge(*three(column, use_deprecated_int96_timestamps=True))
    assert physical(merged, "t") == "INT96"
    read = pq.ParquetFile(io.BytesIO(merged), coerce_int96_timestamp_unit=unit).read()
    assert read["t"].combine_chunks().equals(column)


def test_int96_beside_other_timestamps_becomes_microseconds_in_utc():
    old = pa.array([FAR, None], pa.timestamp("us"))
    base, _, destination = three(old, use_deprecated_int96_timestamps=True)
    times = {"id": [1, 2], "n": [10, 2], "t": old}
    source = written({**times, "u": pa.array([1, 2], pa.timestamp("us", "UTC"))})
    merged = merge(base, source, destination)
    assert physical(merged, "t") == "INT64"
    assert opened(merged).read()["t"].to_pylist() == [FAR.replace(tzinfo=dt.UTC), None]


def test_int96_with_nanoseconds_and_far_years_is_refused_by_name():
    # a file of Impala or Hive may have both; Arrow writes either
    near = pa.array([1704067200123456789, 0], pa.timestamp("ns"))
    far = pa.array([FAR, None], pa.timestamp("us"))
    options = {"use_deprecated_int96_timestamps": True}
    near_files, far_files = three(near, **options), three(far, **options)
    with pytest.raises(Conflict, match="the column 't'"):
        merge(near_files[0], near_files[1], far_files[2])


@pytest.mark.parametrize("digits", [5, 15])
def test_decimals_stay_integers(digits):
    column = pa.array([Decimal("1.50"), None], pa.decimal128(digits, 2))
    as_integers = merge(*three(column, store_decimal_as_integer=True))
    assert physical(as_integers, "t") == ("INT32" if digits < 10 else "INT64")
    assert physical(merge(*three(column)), "t") == "FIXED_LEN_BYTE_ARRAY"


def test_field_ids_are_kept_and_must_differ():
    def table(columns):
        fields = [
            pa.field(name, pa.int64(), metadata={"PARQUET:field_id": str(number)})
            for name, (number, _) in columns.items()
        ]
        return written(
            pa.table([values for _, values in columns.values()], schema=pa.schema(fields))
        )

    base = table({"id": (1, [1]), "n": (2, [1])})
    source = table({"id": (1, [1]), "n": (2, [1]), "x": (3, [1])})
    merged = merge(base, source, table({"id": (1, [1]), "n": (2, [5])}))
    found = {each.name: each.metadata[b"PARQUET:field_id"] for each in opened(merged).schema_arrow}
    assert found == {"id": b"1", "n": b"2", "x": b"3"}
    with pytest.raises(Conflict, match="'x' and 'y' both have the field id 3"):
        merge(base, source, table({"id": (1, [1]), "n": (2, [1]), "y": (3, [1])}))


@pytest.mark.parametrize(("converted", "title"), [(4, "ENUM"), (19, "JSON"), (20, "BSON")])
def test_annotations_that_arrow_does_not_write_are_kept(converted, title):
    files = [annotated(content, "t", field=(6, 5, converted)) for content in three([b"{}", b"[]"])]
    assert opened(files[0]).schema.column(2).converted_type == title
    merged = merge(*files)
    assert opened(merged).schema.column(2).converted_type == title
    assert opened(merged).read()["t"].to_pylist() == opened(files[2]).read()["t"].to_pylist()


def spark_schema(fields):
    listed = [{"name": n, "type": t, "nullable": True, "metadata": {}} for n, t in fields.items()]
    return {SPARK: json.dumps({"type": "struct", "fields": listed}), "owner": "ada"}


def test_the_schema_of_spark_follows_the_columns():
    narrow = {"id": "integer", "n": "integer"}
    wide = {"id": "integer", "n": "long", "s": "string"}
    base = written(
        {"id": pa.array([1], pa.int32()), "n": pa.array([1], pa.int32())}, spark_schema(narrow)
    )
    more = {"id": pa.array([1], pa.int32()), "n": pa.array([2**40]), "s": ["x"]}
    destination = {"id": pa.array([1, 2], pa.int32()), "n": pa.array([1, 5], pa.int32())}
    merged = merge(
        base, written(more, spark_schema(wide)), written(destination, spark_schema(narrow))
    )
    metadata = opened(merged).metadata.metadata
    fields = json.loads(metadata[SPARK])["fields"]
    assert {field["name"]: field["type"] for field in fields} == wide
    assert metadata[b"owner"] == b"ada"
    same = merge(base, base, written(destination, spark_schema(narrow)))
    assert opened(same).metadata.metadata[SPARK] == spark_schema(narrow)[SPARK].encode()


@pytest.mark.parametrize("key", ["iceberg.schema", "parquet.avro.schema", "avro.schema"])
def test_other_schemas_are_left_out_where_columns_changed(key):
    base = written({"id": [1], "n": [1]}, {key: "{}"})
    kept = merge(base, base, written({"id": [1], "n": [2]}, {key: "{}"}))
    assert opened(kept).metadata.metadata[key.encode()] == b"{}"
    added = written({"id": [1], "n": [1], "x": [1]}, {"other": "1"})
    changed = merge(base, added, written({"id": [1], "n": [2]}, {key: "{}"}))
    assert key.encode() not in opened(changed).metadata.metadata


def test_pandas_sees_index_and_categories_after_a_merge():
    frame = pd.DataFrame(
        {"id": [1, 2], "c": pd.Categorical(["a", "b"]), "n": pd.array([1, None], "Int64")}
    )
    source = pd.concat([frame, pd.DataFrame({"id": [3], "c": ["z"], "n": [7]})], ignore_index=True)
    source["c"] = source["c"].astype("category")
    source["n"] = source["n"].astype("Int64")
    source["when"] = pd.to_datetime(["2024-01-01 00:00:00.123456789"] * 3, utc=True)
    destination = frame.assign(n=pd.array([5, None], "Int64"))
    files = [written(pa.Table.from_pandas(each)) for each in (frame, source, destination)]
    merged = pd.read_parquet(io.BytesIO(merge(*files)))
    assert list(merged.index) == [0, 1, 2]
    assert list(merged["c"]) == ["a", "b", "z"]
    assert str(merged["c"].dtype) == "category"
    assert str(merged["n"].dtype) == "Int64"
    assert list(merged["n"]) == [5, pd.NA, 7]
    assert merged["when"].equals(source["when"])


def test_null_in_a_column_that_may_not_be_null_is_refused_by_name():
    strict = pa.schema([pa.field("id", pa.int64()), pa.field("v", pa.int64(), nullable=False)])
    base = written(pa.table({"id": [1], "v": [1]}, strict))
    source = written({"id": [1, 2], "v": [1, None]})
    with pytest.raises(Conflict, match="the column 'v' may not be null at the destination"):
        merge(base, source, written(pa.table({"id": [1, 3], "v": [1, 3]}, strict)))
    kept = merge(base, written({"id": [1, 2], "v": [1, 2]}), base)
    assert not opened(kept).schema_arrow.field("v").nullable
    inner = pa.struct([pa.field("x", pa.int64(), nullable=False)])
    one = pa.array([{"x": 1}], inner)
    loose = pa.array([{"x": 1}, {"x": None}], pa.struct([("x", pa.int64())]))
    base = written({"id": [1], "n": [1], "s": one})
    source = written({"id": [1, 2], "n": [1, 1], "s": loose})
    merged = merge(base, source, written({"id": [1], "n": [2], "s": one}))
    assert opened(merged).read()["s"].to_pylist() == [{"x": 1}, {"x": None}]


def test_duckdb_reads_what_is_merged(tmp_path):
    (tmp_path / "t.parquet").write_bytes(merge(*three([{"a": 1, "b": [1]}, None])))
    found = duckdb.sql(f"SELECT n, t FROM '{tmp_path / 't.parquet'}' ORDER BY id").fetchall()
    assert found == [(10, {"a": 1, "b": [1]}), (20, None)]


@pytest.mark.slow
def test_three_thousand_columns_are_merged_and_compared():
    names = [f"c{number}" for number in range(3000)]
    sides = []
    for place, value in ((0, 0), (17, 1), (2999, 2)):
        cells = {name: [0, 0] for name in names}
        cells[names[place]] = [value, 0]
        sides.append(written({"id": [1, 2], **cells}))
    found = opened(merge(*sides)).read()
    assert (found["c17"][0].as_py(), found["c2999"][0].as_py(), found["c5"][0].as_py()) == (1, 2, 0)


def test_a_wider_type_has_annotations_of_its_own():
    narrow, wide = pa.int16(), pa.int32()
    base = written({"id": [1], "v": pa.array([1], narrow)})
    source = written({"id": [1], "v": pa.array([100_000], wide)})
    destination = written({"id": [1, 2], "v": pa.array([1, 2], narrow)})
    merged = merge(base, source, destination)
    table = pq.read_table(io.BytesIO(merged))
    assert table.schema.field("v").type == wide
    assert table["v"].to_pylist() == [100_000, 2]
