"""Tables of the catalog as Spark writes them: each operation of Iceberg's library, in each format
version, and merges of branches that Spark has changed.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from anabranch.testing.server import running_server

from .conftest import Lake
from .spark_process import spark_sql
from .test_docs_page import JARS

BRANCHES = ("main", "dev")
BUNDLE = (
    Path.home()
    / ".m2/repository/org/apache/iceberg/iceberg-aws-bundle/1.12.0/iceberg-aws-bundle-1.12.0.jar"
)
"""Iceberg's client of S3, where Maven keeps what it has fetched."""


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    with running_server(tmp_path_factory.mktemp("lake") / "data") as server:
        yield Lake(server)


@pytest.fixture(scope="module")
def sql(lake, spark):
    """Runs a statement, and returns its rows as tuples. Each branch is a catalog."""
    lake.branch("dev")
    server = lake.server
    files = {
        "fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        "fs.s3a.endpoint": server.url,
        "fs.s3a.endpoint.region": "us-east-1",
        "fs.s3a.path.style.access": "true",
        "fs.s3a.access.key": server.access_key_id,
        "fs.s3a.secret.key": server.secret_access_key,
    }
    settings = {}
    for catalog, mode in (*((branch, "client") for branch in BRANCHES), ("planned", "server")):
        name, branch = f"spark.sql.catalog.{catalog}", catalog if mode == "client" else "main"
        settings |= {
            name: "org.apache.iceberg.spark.SparkCatalog",
            f"{name}.type": "rest",
            f"{name}.uri": f"{lake.url}/iceberg",
            f"{name}.warehouse": f"{lake.name}/{branch}",
            f"{name}.credential": ":".join(server.auth),
            f"{name}.oauth2-server-uri": f"{lake.url}/iceberg/v1/oauth/tokens",
            f"{name}.io-impl": "org.apache.iceberg.hadoop.HadoopFileIO",
            f"{name}.cache-enabled": "false",
            **{f"{name}.hadoop.{each}": value for each, value in files.items()},
            **({} if mode == "client" else {f"{name}.scan-planning-mode": mode}),
        }
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield lambda text: [tuple(row) for row in spark.sql(text).collect()]
    for name in settings:
        spark.conf.unset(name)


def metadata(lake, table, branch="main"):
    answer = lake.http.get(lake.path(branch, f"/namespaces/city/tables/{table}"))
    assert answer.status_code == 200, answer.text
    return answer.json()["metadata"]


def ids(sql, table):
    return [row[0] for row in sql(f"select id from {table} order by id")]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.slow  # the next test and the merges write, change and rewrite tables
def test_tables_of_each_format_version(lake, sql, version):
    table = f"main.city.v{version}"
    sql(
        f"create table {table} (id bigint not null, at timestamp,"
        "place struct<x: double, y: double>, tags array<string>, parts map<string, int>) "
        f"using iceberg partitioned by (days(at)) tblproperties ('format-version' = '{version}')"
    )
    at, place = "timestamp '2026-01-02 03:04:05'", "named_struct('x', 1.0D, 'y', 2.0D)"
    row = f"{at}, {place}, array('a'), map('b', 3)"
    for number in range(1, 4):
        sql(f"insert into {table} values ({number}, {row})")
    assert ids(sql, table) == [1, 2, 3]
    sql(f"alter table {table} add column note string after id")
    sql(f"alter table {table} rename column note to remark")
    sql(f"alter table {table} drop column tags")
    sql(f"alter table {table} add partition field bucket(4, id)")
    sql(f"alter table {table} drop partition field days(at)")
    sql(f"alter table {table} write ordered by id desc nulls last")
    sql(f"alter table {table} set identifier fields id")
    sql(f"alter table {table} set tblproperties ('steward' = 'ada', 'gone' = '1')")
    sql(f"alter table {table} unset tblproperties ('gone')")
    sql(f"insert into {table} select id + 10, 'x', at, place, parts from {table}")
    assert ids(sql, table) == [1, 2, 3, 11, 12, 13]
    sql(f"alter table {table} create tag first")
    sql(f"alter table {table} create branch audit retain 7 days")
    sql(f"insert into {table}.branch_audit values (99, 'y', null, null, null)")
    assert ids(sql, table) == [1, 2, 3, 11, 12, 13]
    assert ids(sql, f"{table}.branch_audit")[-1] == 99
    sql(f"call main.system.fast_forward('city.v{version}', 'main', 'audit')")
    assert ids(sql, table) == [1, 2, 3, 11, 12, 13, 99]
    sql(f"delete from {table} where id = 99")
    sql(f"update {table} set remark = 'z' where id = 1")
    assert sql(f"select remark from {table} where id = 1") == [("z",)]
    sql(
        f"call main.system.rewrite_data_files(table => 'city.v{version}', "
        "options => map('min-input-files', '2'))"
    )
    sql(f"call main.system.rewrite_manifests('city.v{version}')")
    sql(f"alter table {table} drop branch audit")
    sql(
        f"call main.system.expire_snapshots(table => 'city.v{version}', "
        "older_than => timestamp '2100-01-01 00:00:00', retain_last => 2)"
    )
    assert ids(sql, table) == [1, 2, 3, 11, 12, 13]
    assert len(sql(f"select * from {table} version as of 'first'")) == 6
    stored = metadata(lake, f"v{version}")
    assert stored["format-version"] == version
    assert stored["properties"]["steward"] == "ada"
    assert "gone" not in stored["properties"]
    logged = [each["snapshot-id"] for each in stored["snapshot-log"]]
    assert logged[-1] == stored["current-snapshot-id"]
    assert ("next-row-id" in stored) == (version == 3)
    for newer in range(version + 1, 4):
        sql(f"alter table {table} set tblproperties ('format-version' = '{newer}')")
        assert metadata(lake, f"v{version}")["format-version"] == newer
        sql(
            f"insert into {table} select id + {newer * 100}, remark, at, place, parts "
            f"from {table} where id < 4"
        )
    assert ids(sql, table)[:6] == [1, 2, 3, 11, 12, 13]
    assert len(ids(sql, table)) == len(set(ids(sql, table))) == 6 + 3 * (3 - version)


@pytest.mark.timeout(600)
def test_a_table_is_replaced_and_changed(lake, sql):
    sql("create table main.city.made using iceberg as select id, id % 2 as part from range(10)")
    sql(
        "create or replace table main.city.made using iceberg partitioned by (part) "
        "as select id, id % 3 as part, 'new' as note from range(6)"
    )
    assert ids(sql, "main.city.made") == [0, 1, 2, 3, 4, 5]
    stored = metadata(lake, "made")
    assert [each["name"] for each in stored["partition-specs"][-1]["fields"]] == ["part"]
    columns = {field["name"]: field["id"] for field in stored["schemas"][-1]["fields"]}
    assert columns == {"id": 1, "part": 2, "note": 3}
    assert len(sql("select * from main.city.made.history")) == 2
    sql("alter table main.city.made create tag replaced")
    sql("alter table main.city.made add column size int")
    sql("alter table main.city.made add partition field bucket(4, id)")
    sql("alter table main.city.made set tblproperties ('steward' = 'ada')")
    sql("insert into main.city.made values (6, 0, 'more', 1)")
    assert len(sql("select * from main.city.made version as of 'replaced'")) == 6
    assert ids(sql, "main.city.made") == [0, 1, 2, 3, 4, 5, 6]
    stored = metadata(lake, "made")
    assert len(stored["partition-specs"][-1]["fields"]) == 2
    assert stored["properties"]["steward"] == "ada"


@pytest.mark.timeout(600)
def test_spark_plans_scans_itself_unless_its_catalog_says_that_the_server_must(sql):
    sql("create table main.city.scanned (id bigint) using iceberg")
    sql("insert into main.city.scanned values (1), (2)")
    assert sql("select id from main.city.scanned where id > 1") == [(2,)]
    with pytest.raises(
        (Py4JJavaError, PySparkException), match="requires server-side scan planning"
    ):
        sql("select id from planned.city.scanned where id > 1")


@pytest.mark.timeout(600)
def test_types_of_version_3(lake, sql):
    sql(
        "create table main.city.new (id bigint, any variant, n int) using iceberg "
        "tblproperties ('format-version' = '3')"
    )
    sql("insert into main.city.new select 1, parse_json('{\"a\": 1}'), 2")
    sql("insert into main.city.new select 2, parse_json('[1, 2]'), 3")
    assert len(sql("select * from main.city.new")) == 2
    stored = metadata(lake, "new")
    assert [each["type"] for each in stored["schemas"][-1]["fields"]] == ["long", "variant", "int"]
    rows = sql("select id, _row_id, _last_updated_sequence_number from main.city.new order by id")
    assert rows == [(1, 0, 1), (2, 1, 2)]
    assert stored["next-row-id"] == 2


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "mode", ["copy-on-write", pytest.param("merge-on-read", marks=pytest.mark.slow)]
)
def test_branches_that_spark_has_changed_are_merged(lake, sql, mode):
    name = mode.replace("-", "_")
    levels = ", ".join(
        f"'write.{each}.mode' = '{mode}', 'write.{each}.isolation-level' = 'snapshot'"
        for each in ("delete", "update", "merge")
    )
    sql(
        f"create table main.city.{name} (id bigint, day string, value int) using iceberg "
        f"partitioned by (day) tblproperties ({levels})"
    )
    sql(f"insert into main.city.{name} select id, concat('d', id % 3), 0 from range(9)")
    assert lake.merge("main", "dev").status_code == 200
    sql(f"update dev.city.{name} set value = 1 where day = 'd0' and id > 0")
    sql(f"insert into dev.city.{name} values (20, 'd2', 2)")
    sql(f"delete from main.city.{name} where id = 4")
    sql(f"insert into main.city.{name} values (21, 'd0', 3)")
    answer = lake.merge("dev")
    assert answer.status_code == 200, answer.text
    found = sql(f"select id, value from main.city.{name} order by id")
    expected = dict.fromkeys(range(9), 0) | {3: 1, 6: 1, 20: 2, 21: 3}
    del expected[4]
    assert found == sorted(expected.items())
    rows = lake.catalog().load_table(f"city.{name}").scan().to_arrow().to_pydict()
    assert dict(zip(rows["id"], rows["value"], strict=True)) == expected
    sql(f"insert into main.city.{name} values (22, 'd1', 4)")
    assert dict(sql(f"select id, value from main.city.{name}")) == expected | {22: 4}


@pytest.mark.slow  # the test after it appends on both branches, too
@pytest.mark.timeout(600)
def test_appends_to_a_table_of_version_3_are_merged(lake, sql):
    sql(
        "create table main.city.lineage (id bigint, day string) using iceberg "
        "tblproperties ('format-version' = '3')"
    )
    sql("insert into main.city.lineage select id, 'base' from range(5)")
    assert lake.merge("main", "dev").status_code == 200
    for number in (10, 11):
        sql(f"insert into dev.city.lineage select id + {number} * 10, 'dev' from range(3)")
        sql(f"insert into main.city.lineage select id + {number} * 100, 'main' from range(2)")
    sql("delete from main.city.lineage where id = 4")
    assert lake.merge("dev").status_code == 200
    sql("insert into main.city.lineage values (9, 'later')")
    rows = sql("select id, _row_id, _last_updated_sequence_number from main.city.lineage")
    assert sorted(row[0] for row in rows) == [
        *(0, 1, 2, 3, 9),
        *(100, 101, 102, 110, 111, 112),
        *(1000, 1001, 1100, 1101),
    ]
    assert len({row[1] for row in rows}) == len(rows)
    assert {row[0]: row[1] for row in rows if row[0] < 4} == {0: 0, 1: 1, 2: 2, 3: 3}
    stored = metadata(lake, "lineage")
    assert max(row[1] for row in rows) < stored["next-row-id"]
    assert lake.merge("main", "dev").status_code == 200
    sql("insert into main.city.lineage values (50, 'main')")
    sql("insert into dev.city.lineage values (60, 'dev')")
    sql("update dev.city.lineage set day = 'new' where id = 60")
    refused = lake.merge("dev")
    assert refused.status_code == 409
    assert "which it had added" in refused.json()["conflicts"][0]["reason"]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "mode", [pytest.param("copy-on-write", marks=pytest.mark.slow), "merge-on-read"]
)
def test_rows_of_version_3_keep_their_ids_whatever_both_branches_did(lake, sql, mode):
    """Each row has the id that it had, and new ones have ids of their own, as Spark reads them."""
    name = f"ids_{mode.replace('-', '_')}"
    levels = ", ".join(
        f"'write.{each}.mode' = '{mode}', 'write.{each}.isolation-level' = 'snapshot'"
        for each in ("delete", "update", "merge")
    )
    sql(
        f"create table main.city.{name} (id bigint, day string, value int) using iceberg "
        f"partitioned by (day) tblproperties ('format-version' = '3', {levels})"
    )
    sql(f"insert into main.city.{name} select id, concat('d', id % 4), 0 from range(16)")
    sql(f"delete from main.city.{name} where id in (12, 13)")  # deletion vectors that are replaced
    columns = "id, value, _row_id, _last_updated_sequence_number"
    base = {row[0]: row for row in sql(f"select {columns} from main.city.{name}")}
    assert lake.merge("main", "dev").status_code == 200
    sql(f"update dev.city.{name} set value = 1 where day = 'd0' and id > 0")
    sql(f"delete from dev.city.{name} where id in (1, 5)")
    sql(f"insert into dev.city.{name} values (20, 'd3', 2), (21, 'd1', 2)")
    sql(f"update main.city.{name} set value = 3 where id = 2")
    sql(f"delete from main.city.{name} where id = 3")
    sql(f"insert into main.city.{name} values (30, 'd0', 4), (31, 'd2', 4)")
    kept = {row[0]: row for row in sql(f"select {columns} from main.city.{name}")}
    answer = lake.merge("dev")
    assert answer.status_code == 200, answer.text
    stored = metadata(lake, name)
    merged = {row[0]: row for row in sql(f"select {columns} from main.city.{name}")}
    values = {row[0]: row[1] for row in merged.values()}
    expected = {number: 0 for number in range(16) if number not in {1, 3, 5, 12, 13}}
    expected |= {4: 1, 8: 1, 2: 3, 20: 2, 21: 2, 30: 4, 31: 4}
    assert values == expected
    ids_of_rows = [row[2] for row in merged.values()]
    assert len(set(ids_of_rows)) == len(ids_of_rows)
    assert all(merged[number][2] == base[number][2] for number in base if number in merged)
    last = stored["last-sequence-number"]
    for number, row in merged.items():
        came = last if number in {4, 8, 20, 21} else kept[number][3]
        assert row[3] == came, row
        assert row[2] < stored["next-row-id"]
    (snapshot,) = (
        each for each in stored["snapshots"] if each["snapshot-id"] == stored["current-snapshot-id"]
    )
    assert snapshot["first-row-id"] + snapshot["added-rows"] == stored["next-row-id"]
    # what is written later continues with the ids
    sql(f"insert into main.city.{name} values (40, 'd0', 5)")
    sql(f"update main.city.{name} set value = 9 where id in (8, 20)")
    sql(
        f"call main.system.rewrite_data_files(table => 'city.{name}', "
        "options => map('rewrite-all', 'true'))"
    )
    later = {row[0]: row for row in sql(f"select {columns} from main.city.{name}")}
    assert {number: row[2] for number, row in later.items() if number != 40} == {
        number: row[2] for number, row in merged.items()
    }
    assert later[40][2] >= stored["next-row-id"]
    refused = _refusal_of_copied_rows(lake, sql, name)
    assert "it had added" in refused


@pytest.mark.timeout(600)
def test_deletion_vectors_in_one_file_are_all_merged(lake, sql):
    modes = ", ".join(f"'write.{each}.mode' = 'merge-on-read'" for each in ("delete", "update"))
    levels = ", ".join(
        f"'write.{each}.isolation-level' = 'snapshot'" for each in ("delete", "update", "merge")
    )
    sql(
        "create table main.city.vectors (id bigint) using iceberg "
        f"tblproperties ('format-version' = '3', {modes}, {levels})"
    )
    for begin in (0, 10, 20):
        sql(f"insert into main.city.vectors select /*+ coalesce(1) */ {begin} + id from range(5)")
    assert lake.merge("main", "dev").status_code == 200
    sql("delete from dev.city.vectors where id % 10 = 1")
    files = sql("select file_path, referenced_data_file from dev.city.vectors.delete_files")
    assert len({row[1] for row in files}) == 3
    assert len({row[0] for row in files}) < 3  # so one file has several
    sql("insert into main.city.vectors values (100)")
    answer = lake.merge("dev")
    assert answer.status_code == 200, answer.text
    left = [each for each in (*range(5), *range(10, 15), *range(20, 25)) if each % 10 != 1]
    assert ids(sql, "main.city.vectors") == [*left, 100]


def _refusal_of_copied_rows(lake, sql, name):
    """Returns why a merge is refused whose source has changed a row that it had added."""
    assert lake.merge("main", "dev").status_code == 200
    sql(f"insert into dev.city.{name} values (50, 'd1', 0), (51, 'd1', 0)")
    sql(f"update dev.city.{name} set value = 1 where id = 50")
    sql(f"insert into main.city.{name} values (60, 'd2', 0)")
    answer = lake.merge("dev")
    assert answer.status_code == 409
    return answer.json()["conflicts"][0]["reason"]


@pytest.mark.slow  # beside pyiceberg's client, in tests/iceberg/access/test_remote_signing.py
@pytest.mark.timeout(600)
def test_files_that_are_signed_for(lake, tmp_path):
    """Java's client of S3, which keeps no keys: each of its requests is signed by the catalog."""
    runtime = next(iter(JARS.glob("iceberg-spark-runtime-*.jar")), None)
    if not (runtime and BUNDLE.is_file() and shutil.which("java")):
        pytest.skip("Spark needs Java, the jars that `make components` fetches, and Iceberg's AWS")
    jars = tmp_path / "jars"  # without other versions of AWS's classes
    jars.mkdir()
    for jar in (runtime, BUNDLE):
        (jars / jar.name).symlink_to(jar.resolve())
    name = "spark.sql.catalog.signed"
    settings = {
        name: "org.apache.iceberg.spark.SparkCatalog",
        f"{name}.type": "rest",
        f"{name}.uri": f"{lake.url}/iceberg",
        f"{name}.warehouse": f"{lake.name}/main",
        f"{name}.credential": ":".join(lake.server.auth),
        f"{name}.oauth2-server-uri": f"{lake.url}/iceberg/v1/oauth/tokens",
        f"{name}.io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        f"{name}.header.X-Iceberg-Access-Delegation": "remote-signing",
        f"{name}.cache-enabled": "false",
    }
    with spark_sql(settings, jars=jars, folder=tmp_path) as sql:
        sql("create table signed.city.signed (id bigint) using iceberg")
        sql("insert into signed.city.signed values (1), (2)")
        sql("insert into signed.city.signed values (3)")
        assert ids(sql, "signed.city.signed") == [1, 2, 3]
        sql("create table signed.city.filled using iceberg as select * from signed.city.signed")
        assert ids(sql, "signed.city.filled") == [1, 2, 3]
        sql("drop table signed.city.signed purge")
