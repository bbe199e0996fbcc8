"""Spark through S3A: tables written to a branch are committed, merged and read back unchanged."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event
from typing import NamedTuple

import pyspark
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from support.clients.s3_client import s3_client
from support.services.hadoop import HadoopFileSystem

import anabranch.spark

pytestmark = pytest.mark.timeout(600)

PROJECT = Path(__file__).parents[3]
PAGE = (PROJECT / "docs" / "spark-s3a.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)

# as an option of a write it works only because each test has its own repository, and therefore a
# new file system object in Hadoop
IN_MEMORY = "fs.s3a.committer.magic.track.commits.in.memory.enabled"
COMMITTERS = {
    "magic": {"fs.s3a.committer.name": "magic", IN_MEMORY: "false"},
    "magic in memory": {"fs.s3a.committer.name": "magic", IN_MEMORY: "true"},
    "directory": {"fs.s3a.committer.name": "directory"},
    "partitioned": {"fs.s3a.committer.name": "partitioned"},
    "file": {"fs.s3a.committer.name": "file"},
}

# rows of a partition that waits 50 ms at each row
WAITING_ROWS = 2000
ATTEMPTS = 5


class FailingTable(NamedTuple):
    """A table whose last partition fails, and whether it failed after the others were written."""

    table: DataFrame
    failed_last: Callable[[], bool]


@pytest.fixture
def root(repo):
    """The path of the branch `dev` of a new repository."""
    repo.branch("dev")
    return f"s3a://{repo.id}/dev"


@pytest.fixture(scope="module")
def rides(spark):
    """A table with columns of many types and special characters, in two partitions."""
    cities = f.array(*(f.lit(name) for name in ("a b", "é/漢=%", "plain", None)))
    return (
        spark.range(0, 2000, 1, 2)
        .select(
            "id",
            f.element_at(cities, (f.col("id") % 4 + 1).cast("int")).alias("city"),
            (f.col("id") % 3).cast("int").alias("day"),
            (f.col("id") / 7).alias("distance"),
            f.col("id").cast("decimal(20,4)").alias("price"),
            f.expr("timestamp '2026-11-21 10:00:00' + make_dt_interval(id)").alias("at"),
            f.expr("if(id % 5 = 0, null, array(cast(id as string), '😀'))").alias("words"),
        )
        .cache()
    )


def rows(table):
    """Returns the sorted rows of a table."""
    names = ("id", "city", "day", "distance", "price", "at", "words")
    return sorted(map(tuple, table.select(*names).collect()))


def files(repo, ref, path):
    """Returns the paths of the Parquet files under a path."""
    return [name for name in repo.paths(ref) if name.startswith(path) and ".parquet" in name]


def uploads(server, repo):
    """Returns the unfinished multipart uploads."""
    boto = s3_client(server, s3={"addressing_style": "path"})
    return boto.list_multipart_uploads(Bucket=repo.id).get("Uploads", [])


def test_jars_have_the_version_of_sparks_hadoop():
    jar = next((Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar"))
    version = jar.stem.removeprefix("hadoop-client-api-")
    assert f"<hadoop>{version}</hadoop>" in (PROJECT / "tools" / "spark" / "pom.xml").read_text()
    assert f"org.apache.hadoop:hadoop-aws:{version}," in PAGE


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
@pytest.mark.sample(1)
def test_example_of_the_page_runs(spark, server, client, repo, example):
    for old, new in (
        ("rides-of-the-city", repo.id),
        ("http://HOST:8000", server.url),
        ("SECRET_ACCESS_KEY", server.secret_access_key),
        ("ACCESS_KEY_ID", server.access_key_id),
    ):
        example = example.replace(old, new)
    exec(example, {"spark": spark, "client": client, "anabranch": anabranch})  # noqa: S102


def test_partitioned_table_is_merged_to_main_and_tagged(spark, lake, repo, root, rides):
    rides.write.partitionBy("city").parquet(f"{root}/rides")
    assert repo.paths("main") == []
    written = files(repo, "dev", "rides/")
    assert {path.split("/")[1] for path in written} == {
        "city=a b",
        "city=é%2F漢%3D%25",
        "city=plain",
        "city=__HIVE_DEFAULT_PARTITION__",
    }
    lake.branch("dev").commit("Rides")
    lake.branch("dev").merge_into(lake.branch("main"))
    lake.tag("v1").create("main")
    assert files(repo, "main", "rides/") == written

    # later changes of the branches do not change the tag
    rides.limit(1).write.mode("overwrite").parquet(f"{root}/rides")
    lake.branch("dev").commit("Overwritten")
    lake.branch("dev").merge_into(lake.branch("main"))
    assert spark.read.parquet(f"s3a://{repo.id}/main/rides").count() == 1
    table = spark.read.parquet(f"s3a://{repo.id}/v1/rides")
    assert rows(table) == rows(rides)
    assert rows(table.where("day = 1 and city = 'é/漢=%'")) == rows(
        rides.where("day = 1 and city = 'é/漢=%'")
    )


@pytest.mark.slow  # the committer's test appends, below
def test_append_adds_rows_and_a_second_write_without_mode_fails(spark, root, rides):
    for part in (rides.where("id < 500"), rides.where("id >= 500")):
        part.write.mode("append").partitionBy("day").parquet(f"{root}/rides")
    assert rows(spark.read.parquet(f"{root}/rides")) == rows(rides)
    with pytest.raises(PySparkException, match="already exists"):
        rides.write.parquet(f"{root}/rides")
    assert rows(spark.read.parquet(f"{root}/rides")) == rows(rides)


@pytest.mark.parametrize(
    ("mode", "options"),
    [
        (
            "append",
            {
                "fs.s3a.committer.name": "partitioned",
                "fs.s3a.committer.staging.conflict-mode": "replace",
            },
        ),
        ("overwrite", {"fs.s3a.committer.name": "file", "partitionOverwriteMode": "dynamic"}),
    ],
    ids=["partitioned", "file"],
)
@pytest.mark.slow  # committers that are not the default one
def test_only_written_partitions_are_overwritten(spark, repo, root, rides, mode, options):
    rides.write.partitionBy("day").parquet(f"{root}/rides")
    before = files(repo, "dev", "rides/")
    newer = rides.where("day = 1").withColumn("distance", f.lit(0.0))
    newer.write.mode(mode).options(**options).partitionBy("day").parquet(f"{root}/rides")
    expected = rides.withColumn(
        "distance", f.when(f.col("day") == 1, 0.0).otherwise(f.col("distance"))
    )
    assert rows(spark.read.parquet(f"{root}/rides")) == rows(expected)
    untouched = [path for path in before if "day=1" not in path]
    after = files(repo, "dev", "rides/")
    assert [path for path in after if "day=1" not in path] == untouched
    assert not set(before).difference(untouched).intersection(after)


@pytest.mark.slow  # a refusal of Hadoop's
def test_magic_committer_refuses_dynamic_partition_overwrite(repo, root, rides):
    rides.write.partitionBy("day").parquet(f"{root}/rides")
    before = repo.paths("dev")
    writer = rides.where("day = 1").write.mode("overwrite").partitionBy("day")
    with pytest.raises(Py4JJavaError, match="does not support dynamicPartitionOverwrite"):
        writer.option("partitionOverwriteMode", "dynamic").parquet(f"{root}/rides")
    assert repo.paths("dev") == before


@pytest.mark.parametrize("committer", COMMITTERS)
@pytest.mark.sample(1)
def test_committer_writes_all_rows_and_leaves_no_uploads(
    spark, server, repo, root, rides, committer
):
    options = COMMITTERS[committer]
    for _ in range(2):
        rides.write.mode("append").options(**options).partitionBy("day").parquet(f"{root}/rides")
    # the only other objects are directory markers
    others = {path for path in repo.paths("dev") if ".parquet" not in path}
    assert others <= {"rides/", "rides/_SUCCESS"} | {f"rides/day={day}/" for day in range(3)}
    assert rows(spark.read.parquet(f"{root}/rides")) == rows(rides.union(rides))
    assert uploads(server, repo) == []


def failing(spark):
    """Returns a table whose last row raises an error."""
    stop = "raise_error('stop here')"
    return spark.range(0, 300, 1, 1).withColumn("text", f.expr(f"if(id = 299, {stop}, '')"))


@pytest.mark.parametrize("committer", COMMITTERS)
@pytest.mark.sample(1)
def test_failed_job_leaves_no_files(spark, server, repo, root, committer):
    """Its task has already uploaded two files when it fails."""
    writer = failing(spark).write.options(**COMMITTERS[committer], maxRecordsPerFile=100)
    with pytest.raises(PySparkException, match="stop here"):
        writer.parquet(f"{root}/table")
    assert [path for path in repo.paths("dev") if not path.endswith("/")] == []
    assert uploads(server, repo) == []


@contextmanager
def failing_last(spark):
    """Gives a table in three partitions, of which the third raises an error after the first two are
    written.

    The third partition sleeps at each row until a property of the Java process is set. A thread
    sets it when Spark reports that two tasks are complete.
    """
    properties, name = spark._jvm.java.lang.System, f"go-{uuid.uuid4().hex}"
    tracker, ended = spark.sparkContext.statusTracker(), Event()

    def watch():
        while not ended.wait(0.05):
            stages = map(tracker.getStageInfo, tracker.getActiveStageIds())
            if (3, 2) in [(stage.numTasks, stage.numCompletedTasks) for stage in stages if stage]:
                properties.setProperty(name, "yes")

    waiting = (
        f"id >= {2 * WAITING_ROWS} and reflect('java.lang.System', 'getProperty', '{name}') is null"
    )
    text = f"""case when id = {3 * WAITING_ROWS - 1} then raise_error('stop here') when {waiting}
        then coalesce(reflect('java.lang.Thread', 'sleep', 50L), '') else '' end"""
    with ThreadPoolExecutor(1) as pool:
        watcher = pool.submit(watch)
        try:
            table = spark.range(0, 3 * WAITING_ROWS, 1, 3).withColumn("text", f.expr(text))
            yield FailingTable(table, lambda: properties.getProperty(name) is not None)
        finally:
            ended.set()
    watcher.result()


@pytest.mark.parametrize(
    ("options", "remaining"),
    [
        (COMMITTERS["magic"], 0),
        pytest.param(
            COMMITTERS["file"] | {"mapreduce.fileoutputcommitter.algorithm.version": "2"},
            2,
            # sometimes the last task fails before the others are complete
            marks=pytest.mark.slow,
        ),
    ],
    ids=["magic", "file, version 2"],
)
@pytest.mark.slow  # a job that fails is above
def test_files_of_completed_tasks_of_a_failed_job(
    spark, lake, server, repo, root, options, remaining
):
    """Two of three tasks are complete. Version 2 of the file committer has already moved their
    files to the table; a reset of the branch removes them.
    """
    spark.range(10).write.parquet(f"{root}/table")
    lake.branch("dev").commit("A table")
    committed = repo.paths("dev")
    for _ in range(ATTEMPTS):
        with (
            failing_last(spark) as failing_table,
            pytest.raises(PySparkException, match="stop here"),
        ):
            failing_table.table.write.mode("append").options(**options).parquet(f"{root}/table")
        if failing_table.failed_last():
            break
        lake.branch("dev").reset_changes()  # the last task failed too early: try read
    assert failing_table.failed_last()
    assert len(set(files(repo, "dev", "table/")).difference(committed)) == remaining
    assert uploads(server, repo) == []
    lake.branch("dev").reset_changes()
    assert repo.paths("dev") == committed


@pytest.mark.slow  # Spark's formats over the same requests as Parquet's
def test_csv_json_and_orc_are_read_back(spark, root, rides):
    simple = rides.select("id", "city", "distance").where("city is not null")
    for name, options in (("csv", {"header": "true"}), ("json", {}), ("orc", {})):
        simple.write.format(name).options(**options).save(f"{root}/{name}")
        read = (
            spark.read.format(name).options(**options).schema(simple.schema).load(f"{root}/{name}")
        )
        assert sorted(read.collect()) == sorted(simple.collect())


@pytest.mark.slow  # test_s3a_filesystem.py reads ranges
def test_parquet_column_and_row_selection(spark, repo, root, rides):
    rides.coalesce(1).write.parquet(f"{root}/rides")
    with closing(HadoopFileSystem(spark, f"s3a://{repo.id}")) as system:
        (path,) = (name for name in repo.paths("dev") if name.endswith(".parquet"))
        assert system.read(f"dev/{path}")[:4] == b"PAR1"
    table = spark.read.parquet(f"{root}/rides").select("id", "words").where("id > 1990")
    assert [row.id for row in table.orderBy("id").collect()] == list(range(1991, 2000))
