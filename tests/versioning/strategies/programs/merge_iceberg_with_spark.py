"""Merges tables that Spark wrote on two branches, and reads the results with Spark.

Each branch is a folder with a Hadoop catalog of its own. Usage: merge_iceberg_with_spark.py JARS
FOLDER
"""

import sys
from pathlib import Path

from support.merged_trees import branch_folder, merge_folders
from support.services.spark import spark_session

from anabranch.versioning.strategies.iceberg.strategy import iceberg_strategy

EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
SETTINGS = {"spark.sql.extensions": EXTENSIONS}
PROPERTIES = {
    "copied": "'format-version' = '2'",
    "marked": "'format-version' = '2', 'write.delete.mode' = 'merge-on-read'",
    "first": "'format-version' = '1'",
}


class Branches:
    def __init__(self, spark, folder):
        self.spark = spark
        self.folder = folder
        self._name = folder.name

    def catalog(self, branch):
        name = f"{self._name}_{branch}".replace("-", "_")
        prefix = f"spark.sql.catalog.{name}"
        self.spark.conf.set(prefix, "org.apache.iceberg.spark.SparkCatalog")
        self.spark.conf.set(f"{prefix}.type", "hadoop")
        self.spark.conf.set(f"{prefix}.warehouse", (self.folder / branch).as_uri())
        self.spark.conf.set(f"{prefix}.cache-enabled", "false")
        return name

    def sql(self, branch, *statements):
        name = self.catalog(branch)
        for statement in statements:
            self.spark.sql(
                statement.replace("TABLE", f"{name}.city.trips").replace("CATALOG", name)
            )

    def rows(self, branch):
        table = self.spark.sql(
            f"select id, cast(at as date) day from {self.catalog(branch)}.city.trips"
        )
        return sorted((row.id, str(row.day)[-2:]) for row in table.collect())

    def branch(self, start, *names):
        for name in names:
            branch_folder(self.folder / start, name)

    def merge(self, base, source, destination, merged):
        """Merges branches; the files of the result are given their addresses in its folder."""
        options = {"location": f"{(self.folder / merged).as_uri()}/city/trips"}
        names = (base, source, destination, merged)
        return merge_folders(iceberg_strategy(options), *(self.folder / name for name in names))


def insert(*pairs):
    values = (f"({number}, timestamp '2026-01-{day} 12:00:00')" for number, day in pairs)
    return "insert into TABLE values " + ", ".join(values)


def check(branches, properties):
    branches.sql(
        "base",
        "create table TABLE (id bigint, at timestamp) using iceberg partitioned by (days(at)) "
        f"tblproperties ({properties})",
        insert((1, "01"), (2, "01"), (3, "02"), (4, "03"), (5, "04"), (6, "04")),
    )
    branches.branch("base", "source", "destination")
    branches.sql(
        "source",
        insert((10, "01"), (11, "05")),
        "delete from TABLE where id = 5",
        insert((12, "05")),
        "call CATALOG.system.rewrite_data_files(table => 'city.trips', "
        "options => map('min-input-files', '2'))",
    )
    branches.sql(
        "destination",
        insert((13, "07"), (14, "06")),
        "delete from TABLE where id = 3",
        "update TABLE set id = 40 where id = 4",
    )
    run = branches.merge("base", "source", "destination", "merged")
    assert run.conflicts == [], run.conflicts
    expected = [(1, "01"), (2, "01"), (10, "01"), (13, "07"), (40, "03"), (6, "04")]
    expected = sorted([*expected, (11, "05"), (12, "05"), (14, "06")])
    assert branches.rows("merged") == expected, branches.rows("merged")

    # the result is written to, and merged again with the branch that it came from
    branches.sql("merged", insert((15, "07")), "delete from TABLE where id = 12")
    branches.branch("source", "later")
    branches.sql("later", insert((16, "07")))
    run = branches.merge("source", "later", "merged", "again")
    assert run.conflicts == [], run.conflicts
    expected = sorted(row for row in [*expected, (15, "07"), (16, "07")] if row[0] != 12)
    assert branches.rows("again") == expected, branches.rows("again")
    branches.sql("again", "call CATALOG.system.rewrite_manifests('city.trips')")
    assert branches.rows("again") == expected

    # both change rows of one partition
    branches.branch("again", "left", "right")
    branches.sql("left", "delete from TABLE where id = 1")
    branches.sql("right", "delete from TABLE where id = 2")
    run = branches.merge("again", "left", "right", "never")
    assert {each.message.split(" of the ")[-1] for each in run.conflicts} >= {"partition"}


def main():
    jars, folder = map(Path, sys.argv[1:])
    with spark_session(SETTINGS, jars=jars, folder=folder) as spark:
        for name, properties in PROPERTIES.items():
            (folder / name / "base").mkdir(parents=True)
            check(Branches(spark, folder / name), properties)
            print("merged", name, flush=True)


if __name__ == "__main__":
    main()
