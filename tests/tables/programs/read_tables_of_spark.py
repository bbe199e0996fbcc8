"""Writes tables with Spark, and reads each version of them with Spark and as live rows.

Usage: read_tables_of_spark.py JARS FOLDER NAME…
"""

import sys
from pathlib import Path

from support.formats.folder_objects import FolderObjects, live_rows
from support.formats.table_rows import comparable_rows
from support.services.spark import spark_session

from anabranch.tables.delta.snapshot import read_delta_table, read_delta_versions
from anabranch.tables.iceberg.snapshot import read_iceberg_table, read_iceberg_versions
from anabranch.tables.live_rows.addresses import TablePlace

SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension,"
    "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.ice.type": "hadoop",
    "spark.sql.catalog.ice.cache-enabled": "false",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.session.timeZone": "UTC",
}
COLUMNS = (
    "id bigint, text string, day date, price decimal(38, 6), at timestamp, local timestamp_ntz, "
    "flag boolean, raw binary, level double, ratio float, small {small}, "
    "nested struct<x: int, words: array<string>>, by_name map<string, struct<y: int>>"
)
INTEGERS = {"small": "int"}
ROW = (
    "select id, if(id % 4 = 0, null, concat('ü/: =', id % 3)) text, "
    "date_add(date'1905-02-28', cast(id * 300 as int)) day, "
    "cast(if(id % 2 = 0, 12345678901234567890123456789012.000001, -1.5) as decimal(38, 6)) price, "
    "timestamp'1899-12-31 23:59:59.000007' + make_interval(id) at, "
    "timestamp_ntz'2024-03-31 02:30:00' + make_interval(0, 0, 0, id) local, "
    "id % 2 = 0 flag, encode(concat('b', id % 2), 'utf-8') raw, "
    "if(id % 3 = 0, double('NaN'), id / 7) level, cast(id / 3 as float) ratio, "
    "cast(-id as int) small, "
    "if(id % 5 = 0, null, named_struct('x', cast(id as int), 'words', array('q', null))) nested, "
    "map('k', named_struct('y', cast(id as int)), 'n', null) by_name from range({}, {})"
)
DELTA = {
    "vectors": "'delta.enableDeletionVectors' = 'true', 'delta.checkpointInterval' = '3'",
    "named": "'delta.columnMapping.mode' = 'name', 'delta.checkpointPolicy' = 'v2', "
    "'delta.enableDeletionVectors' = 'true', 'delta.checkpointInterval' = '4'",
    "numbered": "'delta.columnMapping.mode' = 'id', 'delta.enableTypeWidening' = 'true'",
}
ICEBERG = {
    "first": "'format-version' = '1'",
    "marked": "'format-version' = '2', 'write.delete.mode' = 'merge-on-read', "
    "'write.update.mode' = 'merge-on-read', 'write.merge.mode' = 'merge-on-read'",
    "whole": "'format-version' = '2', 'write.delete.mode' = 'merge-on-read', "
    "'write.update.mode' = 'merge-on-read', 'write.delete.granularity' = 'partition'",
    "third": "'format-version' = '3', 'write.delete.mode' = 'merge-on-read', "
    "'write.update.mode' = 'merge-on-read'",
}
PARTITIONS = {
    "vectors": "flag",
    "named": "text",
    "numbered": "day, flag",
    "first": "flag",
    "marked": "bucket(3, id), text",
    "whole": "days(at)",
    "third": "truncate(3, text), flag",
}
CHANGES = (
    "insert into TABLE " + ROW.format(0, 20),
    "delete from TABLE where id in (3, 4, 11)",
    "insert into TABLE " + ROW.format(20, 30),
    "update TABLE set text = 'new' where id % 6 = 1",
    "delete from TABLE where id = 21",
    "merge into TABLE t using (" + ROW.format(28, 33) + ") s on t.id = s.id "
    "when matched then update set price = 0 when not matched then insert *",
)


def same(spark_rows, found, name):
    expected = spark_rows.toArrow()
    assert found.column_names == expected.column_names, (name, found.column_names)
    ours, theirs = comparable_rows(found), comparable_rows(expected)
    differing = [pair for pair in zip(ours, theirs, strict=False) if pair[0] != pair[1]]
    assert ours == theirs, (name, len(ours), len(theirs), differing[:1])


def check_delta(spark, folder, name, properties, partition):
    path = folder / name
    table = f"delta.`{path}`"
    objects, place = FolderObjects(folder), TablePlace("sea", f"{name}/")

    def compare():
        for each in read_delta_versions(objects, place, 3):
            rows = spark.sql(f"select * from {table} version as of {each.version}")
            same(rows, live_rows(read_delta_table(objects, place, each.version), objects), name)

    spark.sql(
        f"create table {table} ({COLUMNS.format(**INTEGERS)}) using delta "
        f"partitioned by ({partition}) tblproperties ({properties})"
    )
    for change in CHANGES:
        spark.sql(change.replace("TABLE", table))
        compare()
    spark.sql(f"alter table {table} add columns (more string, nested.z bigint after x)")
    if "columnMapping" in properties:
        spark.sql(f"alter table {table} rename column price to cost")
        spark.sql(f"alter table {table} rename column nested.x to xx")
        spark.sql(f"alter table {table} drop column ratio")
    if "TypeWidening" in properties:
        spark.sql(f"alter table {table} alter column small type bigint")
    spark.sql(
        f"insert into {table} (id, more, {partition}) select 100, 'm', {partition} "
        f"from {table} limit 1"
    )
    compare()
    spark.sql(f"optimize {table}")
    compare()


def check_iceberg(spark, folder, name, properties, partition):
    table = f"ice.{name}.t"
    objects, place = FolderObjects(folder), TablePlace("sea", f"{name}/t/")

    def compare():
        for each in read_iceberg_versions(objects, place, 2):
            rows = spark.sql(f"select * from {table} version as of {each.version}")
            same(rows, live_rows(read_iceberg_table(objects, place, each.version), objects), name)
        same(spark.table(table), live_rows(read_iceberg_table(objects, place), objects), name)

    columns = COLUMNS.format(**INTEGERS)
    spark.sql(
        f"create table {table} ({columns}) using iceberg partitioned by ({partition}) "
        f"tblproperties ({properties})"
    )
    for change in CHANGES:
        spark.sql(change.replace("TABLE", table))
        compare()
    for change in (
        "add columns (more string, nested.z bigint)",
        "rename column id to number",
        "rename column nested.x to xx",
        "rename column by_name.value.y to yy",
        "drop column level",
        "alter column small type bigint",
        "alter column ratio type double",
        "add column id string first",
        "add partition field truncate(2, text)",
    ):
        spark.sql(f"alter table {table} {change}")
    spark.sql(f"insert into {table} (number, more, small) values (100, 'm', {2**40})")
    compare()
    spark.sql(f"delete from {table} where number in (5, 100)")
    compare()


def main():
    jars, folder = map(Path, sys.argv[1:3])
    names = sys.argv[3:]
    settings = {**SETTINGS, "spark.sql.catalog.ice.warehouse": (folder / "ice").as_uri()}
    with spark_session(settings, jars=jars, folder=folder) as spark:
        for name in names:
            if name in DELTA:
                check_delta(spark, folder / "delta", name, DELTA[name], PARTITIONS[name])
            else:
                check_iceberg(spark, folder / "ice", name, ICEBERG[name], PARTITIONS[name])
            print("read", name, flush=True)


if __name__ == "__main__":
    main()
