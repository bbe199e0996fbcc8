"""Parquet files of Spark that the strategy `rows` has merged, as Spark reads them."""

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pytest

from anabranch.testing.strategy_runs import run_strategy
from anabranch.versioning.strategies.rows.strategy import rows_strategy

pytestmark = pytest.mark.timeout(600)

SCHEMA = (
    "id int, n int, t timestamp, local timestamp_ntz, day date, d decimal(38, 10), "
    "e decimal(9, 2), b binary, s struct<x: int, y: array<string>>, m map<string, double>"
)
FAR = dt.datetime(9999, 12, 31, 23, 59, 59, 999999)  # noqa: DTZ001  as Spark takes them
NEAR = dt.datetime(2024, 1, 1, 0, 0, 0, 123456)  # noqa: DTZ001


def rows(numbers):
    values = [
        (FAR, FAR, dt.date(1, 1, 1), Decimal("1234567890123456789012345678.0123456789")),
        (NEAR, NEAR, dt.date(9999, 12, 31), None),
        (None, None, None, Decimal("-0.5")),
    ]
    more = [
        (Decimal("1.50"), b"\x00\xff", (1, ["a", None]), {"k": 1.5}),
        (None, None, None, None),
        (Decimal("-1234567.89"), b"", (None, []), {}),
    ]
    return [(number + 1, n, *values[number], *more[number]) for number, n in enumerate(numbers)]


def written(spark, folder, numbers, timestamps, added=""):
    names = "id, n, t, local, day, d, e, b, s, m"
    table = spark.createDataFrame(rows(numbers), SCHEMA)
    variant = """parse_json('{"a": ' || id || '}') AS v"""
    table = table.selectExpr(*names.split(", "), variant, *([added] if added else []))
    spark.conf.set("spark.sql.parquet.outputTimestampType", timestamps)
    try:
        table.coalesce(1).write.parquet(str(folder))
    finally:
        spark.conf.unset("spark.sql.parquet.outputTimestampType")
    (file,) = Path(folder).glob("*.parquet")
    return file.read_bytes()


@pytest.mark.parametrize("timestamps", ["INT96", "TIMESTAMP_MICROS"])
@pytest.mark.sample(1)
def test_spark_reads_merged_files_as_its_own(spark, tmp_path, timestamps):
    base = written(spark, tmp_path / "base", [1, 2, 3], timestamps)
    source = written(spark, tmp_path / "source", [10, 2, 3], timestamps, "'new' AS added")
    destination = written(spark, tmp_path / "destination", [1, 20, 3], timestamps)
    expected = written(spark, tmp_path / "expected", [10, 20, 3], timestamps, "'new' AS added")
    run = run_strategy(
        rows_strategy({"key": "id"}),
        "t.parquet",
        base=base,
        source=source,
        destination=destination,
    )
    assert run.conflicts == []
    (tmp_path / "merged.parquet").write_bytes(run.files["t.parquet"])
    (tmp_path / "expected.parquet").write_bytes(expected)
    found, wanted = (
        spark.read.parquet(str(tmp_path / name)).selectExpr("* EXCEPT (v)", "to_json(v) AS v")
        for name in ("merged.parquet", "expected.parquet")
    )
    assert {f.name: f.dataType for f in found.schema} == {f.name: f.dataType for f in wanted.schema}
    assert found.orderBy("id").select(*wanted.columns).collect() == wanted.orderBy("id").collect()
