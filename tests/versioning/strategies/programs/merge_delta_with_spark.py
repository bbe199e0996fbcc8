"""Merges tables that Spark wrote on two branches, and reads the results with Spark.

Usage: merge_delta_with_spark.py JARS FOLDER
"""

import sys
from pathlib import Path

from support.merged_trees import branch_folder, merge_folders
from support.services.spark import spark_session

from anabranch.versioning.strategies.delta.strategy import delta_strategy

SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.sources.partitionOverwriteMode": "dynamic",
}
PROPERTIES = {
    "plain": "'delta.enableChangeDataFeed' = 'true'",
    "vectors": "'delta.enableDeletionVectors' = 'true', 'delta.checkpointPolicy' = 'v2'",
    "mapped": "'delta.columnMapping.mode' = 'name', 'delta.enableInCommitTimestamps' = 'true'",
}


def sql(spark, folder, *statements):
    for statement in statements:
        spark.sql(statement.replace("TABLE", f"delta.`{folder / 'table'}`"))


def rows(spark, folder, version=None):
    travel = "" if version is None else f" version as of {version}"
    table = spark.sql(f"select id, day from delta.`{folder / 'table'}`{travel}")
    return sorted((row.id, row.day) for row in table.collect())


def insert(*pairs):
    return "insert into TABLE values " + ", ".join(f"({number}, '{day}')" for number, day in pairs)


def check(spark, folder, properties):
    base = folder / "base"
    spark.sql(
        f"create table delta.`{base / 'table'}` (id bigint, day string) using delta "
        f"partitioned by (day) tblproperties ('delta.checkpointInterval' = '3', {properties})"
    )
    start = [(1, "a b"), (2, "a b"), (3, "ü:%"), (4, "x"), (5, "y")]
    sql(spark, base, insert(*start))
    source, destination = (branch_folder(base, side) for side in ("source", "destination"))
    sql(
        spark,
        source,
        insert((10, "a b"), (11, "z")),
        "delete from TABLE where day = 'ü:%'",
        "insert overwrite TABLE values (12, 'x')",
        *(insert((number, "z")) for number in range(20, 24)),
        "optimize TABLE where day = 'z'",
    )
    sql(
        spark,
        destination,
        insert((13, "t")),
        "delete from TABLE where id = 1",
        "update TABLE set id = 50 where day = 'y'",
        *(insert((number, "w")) for number in range(30, 34)),
    )
    expected = [(2, "a b"), (10, "a b"), (13, "t"), (12, "x"), (50, "y"), (11, "z")]
    expected += [(number, "z") for number in range(20, 24)]
    expected += [(number, "w") for number in range(30, 34)]

    merged = folder / "merged"
    run = merge_folders(delta_strategy({}), base, source, destination, merged)
    assert run.conflicts == [], run.conflicts
    assert rows(spark, merged) == sorted(expected)
    for version in range(9):
        assert rows(spark, merged, version) == rows(spark, destination, version)
    history = spark.sql(f"describe history delta.`{merged / 'table'}`").collect()
    assert [row.version for row in history] == list(range(len(history)))[::-1]
    times = [row.timestamp for row in history]
    assert times == sorted(times, reverse=True)

    # the merged table is written to, checkpointed and merged again with its source
    more = [(number, "v") for number in range(60, 64)]
    sql(spark, merged, *(insert(row) for row in more))
    later = branch_folder(source, "later")
    sql(spark, later, "delete from TABLE where day = 'z'")
    again = folder / "again"
    run = merge_folders(delta_strategy({}), source, later, merged, again)
    assert run.conflicts == [], run.conflicts
    expected = [row for row in expected if row[1] != "z"]
    assert rows(spark, again) == sorted(expected + more)

    # rows that MERGE inserts on both sides depend on the table
    sides = [branch_folder(again, f"upsert-{number}") for number in range(2)]
    for side in sides:
        sql(
            spark,
            side,
            "merge into TABLE t using (select 99 as id, 'v' as day) s on t.id = s.id "
            "when not matched then insert *",
        )
    run = merge_folders(delta_strategy({}), again, *sides, folder / "upserts")
    assert ["depends on rows" in each.message for each in run.conflicts] == [True]


def main():
    jars, folder = map(Path, sys.argv[1:])
    with spark_session(SETTINGS, jars=jars, folder=folder) as spark:
        for name, properties in PROPERTIES.items():
            (folder / name).mkdir()
            check(spark, folder / name, properties)
            print("merged", name, flush=True)


if __name__ == "__main__":
    main()
