"""The examples of docs/iceberg.md, word for word, against a server with the repository `rides`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.clients.duckdb_catalog import MISSING_EXTENSIONS, load_iceberg
from support.session.forked_python import forked_python

from anabranch.testing.server import running_server

from .conftest import Lake, ids

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs" / "iceberg.md").read_text(encoding="utf-8")
JARS = PROJECT / ".components" / "jars"
S3A = """
for branch in ("main", "night"):
    builder.config(
        f"spark.sql.catalog.{branch}.io-impl", "org.apache.iceberg.hadoop.HadoopFileIO"
    )
for name, value in SETTINGS.items():
    builder.config(name, value)
"""
"""What the tests of Spark have in place of Iceberg's AWS bundle: S3A for the files."""


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def filled(tmp_path):
    """Fills in the address and the keys of a server of its own."""
    with running_server(tmp_path / "data") as server:
        lake = Lake(server, "rides")
        body = {"name": "rides", "storage_namespace": "local://rides"}
        assert lake.api.post("/repositories", json=body).status_code == 201

        def fill(text):
            text = text.replace("http://HOST:8000", server.url)
            text = text.replace("SECRET_ACCESS_KEY", server.secret_access_key)
            return text.replace("ACCESS_KEY_ID", server.access_key_id)

        fill.lake = lake
        yield fill


def run(program, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_examples_of_pyiceberg_the_sql_and_the_commands_run(filled, tmp_path):
    run("\n".join(filled(text) for text in blocks("python")[:2]), tmp_path)
    messages = filled.lake.messages()
    assert messages[0] == "Merge 'night' into 'main'"
    assert messages[-2] == "Iceberg: create namespace city"
    query = {"sql": blocks("sql")[1], "tables": {}}
    answer = filled.lake.api.post("/repositories/rides/refs/main/query", json=query)
    assert answer.json()["rows"] == [[3]]
    table = filled.lake.catalog().load_table("city.trips")
    old = table.metadata.model_copy(
        update={
            "location": "s3://rides/main/old",
            "snapshots": [],
            "refs": {},
            "current_snapshot_id": None,
            "snapshot_log": [],
            "metadata_log": [],
        }
    )
    place = f"{filled.lake.root}/branches/main/objects"
    params = {"path": "old/metadata/v3.metadata.json"}
    content = old.model_dump_json(by_alias=True).encode()
    assert filled.lake.api.post(place, params=params, content=content).status_code == 201
    server = filled.lake.server
    outputs = {}
    for command in re.findall(r"^\| `anabranch (table .*?)` \|", PAGE, re.MULTILINE):
        done = subprocess.run(
            [forked_python(), "-m", "anabranch", *command.split()],
            cwd=tmp_path,
            env={
                **os.environ,
                "HOME": str(tmp_path),
                "ANABRANCH_SERVER": server.url,
                "ANABRANCH_ACCESS_KEY_ID": server.access_key_id,
                "ANABRANCH_SECRET_ACCESS_KEY": server.secret_access_key,
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        outputs[command.split()[1]] = done.stdout
    named = {"list", "show", "history", "diff", "register", "unregister", "expire"}
    assert set(outputs) == named
    assert "city.trips\ttable\ticeberg v2\t3\t" in outputs["list"]
    assert "Registered lakefs://rides/main/city.old" in outputs["register"]
    assert "has 2" in outputs["expire"]
    assert "Unregistered lakefs://rides/main/city.old" in outputs["unregister"]
    last = ["Iceberg: unregister city.old", "Iceberg: register city.old"]
    assert filled.lake.messages()[:2] == last


@pytest.mark.slow
@pytest.mark.skipif(
    bool(MISSING_EXTENSIONS), reason=f"needs DuckDB's extensions {MISSING_EXTENSIONS}"
)
def test_the_examples_of_duckdb_run(filled, tmp_path):
    import duckdb

    run("\n".join(filled(text) for text in blocks("python")[:2]), tmp_path)
    database = duckdb.connect()
    load_iceberg(database)
    for statement in filled(blocks("sql")[0]).split(";"):
        if statement.strip():
            database.execute(statement)
    assert ids(filled.lake.catalog().load_table("city.trips")) == [1, 2, 3, 5]
    assert database.sql("SELECT id FROM rides.city.long").fetchall() == [(2,)]
    database.execute(
        "BEGIN; INSERT INTO rides.city.trips VALUES (6, 1.0);"
        "INSERT INTO rides.city.long VALUES (7, 9.0); COMMIT"
    )
    assert filled.lake.messages()[0] == "Iceberg: change city.long, city.trips"


# tables that Spark writes through the catalog are those of `test_spark_tables`
@pytest.mark.slow
@pytest.mark.systems
@pytest.mark.timeout(600)
def test_the_examples_of_spark_run(filled, tmp_path):
    if not JARS.is_dir():
        pytest.skip("Spark needs the jars that `make components` fetches")
    server = filled.lake.server
    settings = {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.jars.packages": "",
        "spark.driver.extraClassPath": f"{JARS}/*",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.local.dir": str(tmp_path / "local"),
        "spark.sql.warehouse.dir": str(tmp_path / "warehouse"),
        "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        "spark.hadoop.fs.s3a.endpoint": server.url,
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.access.key": server.access_key_id,
        "spark.hadoop.fs.s3a.secret.key": server.secret_access_key,
    }
    first, second, configured, merged = (filled(text) for text in blocks("python"))
    session = "spark = builder.getOrCreate()\n"
    assert session in configured
    configured = configured.replace(session, f"SETTINGS = {settings!r}{S3A}{session}")
    checks = """
spark.sql("create view night.city.seen as select count(*) n from night.city.trips")
assert spark.table("night.city.seen").first()[0] == 4
spark.sql("alter table night.city.trips add column tip double")
spark.sql("create table night.city.made using iceberg partitioned by (part) as "
          "select id, id % 2 part from range(10)")
spark.sql("alter table night.city.made rename to city.rest")
spark.sql("delete from night.city.rest where id < 5")
spark.sql("call night.system.rewrite_data_files('city.rest')")
spark.sql("call night.system.expire_snapshots(table => 'city.rest', retain_last => 1, "
          "older_than => timestamp '2999-01-01 00:00:00')")
assert spark.table("night.city.rest").count() == 5
assert spark.table("night.city.rest.snapshots").count() == 1
first = spark.table("main.city.trips.history").orderBy("made_current_at").first()
old = spark.sql(f"select count(*) from main.city.trips version as of {first['snapshot_id']}")
assert old.first()[0] == 2
spark.sql("drop view night.city.seen")
spark.sql("drop table night.city.rest purge")
spark.stop()
"""
    run(f"{first}\n{second}\n{configured}\n{merged}\n{checks}", tmp_path)
    kept = filled.lake.catalog("night~2").load_table("city.rest")
    assert ids(kept) == [5, 6, 7, 8, 9]
