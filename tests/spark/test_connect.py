"""Spark Connect: all functions work with a remote session, as on managed services."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

PROGRAM = """
import sys
import time
from pathlib import Path
import anabranch, anabranch.spark
from anabranch.errors import Invalid
from anabranch.pipelines.garbage.collector import Collector
from anabranch.spark.jobs.garbage import SparkEngine
from pyspark.sql import SparkSession

folder = Path(sys.argv[1])
builder = SparkSession.builder.config("spark.ui.enabled", "false")
spark = builder.config("spark.driver.bindAddress", "127.0.0.1").remote("local[2]").getOrCreate()
assert "connect" in type(spark).__module__, type(spark)
print("session", flush=True)

with anabranch.open(folder / "lake") as lake:
    lake.repositories.create("sea", "local://sea")
    for number in range(30):
        lake.objects.upload("sea", "main", f"d/{number:02d}", [b"%d" % number])
    lake.commits.commit("sea", "main", message="m", committer="c")
    listing = spark.range(0, 3000, 1, 3).selectExpr(
        "concat('f', lpad(id, 6, '0')) AS path",
        "concat('local://elsewhere/', id) AS physical_address",
        "id AS size",
    )
    result = anabranch.spark.import_listing(
        lake, "sea", "main", listing, destination="in", verify="none"
    )
    assert result.objects == 3000
    try:
        anabranch.spark.import_listing(lake, "sea", "main", listing, destination="in")
    except Invalid as error:
        assert error.kind == "unverified_rows", error
    else:
        raise AssertionError("objects that are not stored were imported")
    print("import", flush=True)

    assert anabranch.spark.objects(spark, lake, "sea", "main").count() == 3030
    changes = anabranch.spark.changes(spark, lake, "sea", "main~1", "main")
    assert {row["change"]: row["count"] for row in changes.groupBy("change").count().collect()} == {
        "added": 3000
    }
    print("functions", flush=True)

    anabranch.spark.register(spark, str(folder / "lake"))
    table = spark.read.format("anabranch").options(repository="sea", reference="main", prefix="d/")
    assert table.load().count() == 30
    print("format", flush=True)

    lake.branches.create("sea", "kept", "main~1")
    done = anabranch.spark.export(spark, lake, "sea", "kept", str(folder / "out"))
    assert done.stored == 30
    assert (folder / "out" / "d" / "07").read_bytes() == b"7"
    print("export", flush=True)

    for _ in range(2):
        for number in range(5):
            lake.objects.upload("sea", "kept", f"d/{number:02d}", [b"the first five are lost"])
    collector = Collector(lake.core, lake.blocks, folder / "gc", clock=time.time)
    engine = SparkEngine(spark)
    with collector.mark("sea", grace_seconds=-5, window_seconds=-5, engine=engine) as run:
        assert run.summary.engine == "spark"
        candidates = sum(batch.num_rows for batch in run.candidates())
        assert candidates == 5, candidates
        assert run.sweep().swept.objects == 5
        assert run.summary.missing.objects == 0
    lost = f"local://sea/data/{'c' * 20}/{'c' * 20}"
    for path in ("x", "y"):
        lake.staging.stage("sea", "main", path, address=lost, checksum="0" * 32, size=1)
        if path == "x":
            lake.commits.commit("sea", "main", message="m", committer="c")
    with collector.mark("sea", engine=SparkEngine(spark), check_only=True) as run:
        missing = run.summary.missing
        assert (missing.objects, missing.references) == (1, 2), missing
        assert {(each.path, *each.references) for each in missing.shown} == {
            ("x", "branch main"), ("y", "staged on main")
        }
    print("garbage", flush=True)

tables = [
    spark.createDataFrame([(1, name), (2, "same")], "id int, name string")
    for name in ("old", "new", "old")
]
merge = anabranch.spark.merge_tables(spark, *tables, key="id")
merge.write(str(folder / "merged"))
assert {row.name for row in spark.read.parquet(str(folder / "merged")).collect()} == {"new", "same"}
print("merge", flush=True)
spark.stop()
"""


def test_all_functions_work_with_a_remote_session(tmp_path):
    """The Spark Connect server and its client are separate processes."""
    pytest.importorskip("grpc_status", reason="Spark Connect is not installed")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    steps = ["session", "import", "functions", "format", "export", "garbage", "merge"]
    assert done.stdout.split() == steps
