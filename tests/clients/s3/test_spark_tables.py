"""Tables of Delta Lake and Iceberg on branches: the examples of docs/spark-tables.md."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from deltalake import DeltaTable
from lakefs_sdk.exceptions import ApiException
from pyiceberg.catalog import load_catalog

from anabranch.lake.spark.catalogs import iceberg_package

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

PROJECT = Path(__file__).parents[3]
PAGE = (PROJECT / "docs" / "spark-tables.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
DELTA, CATALOGS, MERGED_CATALOG, ICEBERG, READ_ICEBERG, _ = (
    EXAMPLES  # the last is of tests/spark/dataframes/test_merge_tables.py
)

DELTA_TWICE = """
spark.range(5).write.format("delta").mode("append").save("s3a://rides-of-the-city/one/trips")
spark.range(7).write.format("delta").mode("append").save("s3a://rides-of-the-city/two/trips")
print("two", spark.read.format("delta").load("s3a://rides-of-the-city/two/trips").count())
"""

READ_DELTA_MERGED = """
trips = spark.read.format("delta")
main = "s3a://rides-of-the-city/main/trips"
print("merged", trips.load(main).count(), trips.option("versionAsOf", 3).load(main).count())
"""

LATER_CATALOG = """
spark.sql("merge into night.city.trips t using (select 10L id) s on t.id = s.id "
          "when matched then delete")
print("rows", spark.table("night.city.trips").count(), spark.table("lake.city.trips").count())
settings = {row.key: row.value for row in spark.sql("set").collect()}
assert settings["spark.sql.catalog.lake.rest.auth.basic.username"] == "ACCESS_KEY_ID"
print("password", settings["spark.sql.catalog.lake.rest.auth.basic.password"])
"""

APPENDS_OF_BOTH = """
import anabranch.spark

server = anabranch.spark.Server("http://HOST:8000", "ACCESS_KEY_ID", "SECRET_ACCESS_KEY")
other = anabranch.connect("http://HOST:8000", "ACCESS_KEY_ID", "SECRET_ACCESS_KEY")
main = other.repository("rides-of-the-city").branch("main")

def append(reference, catalog, first):
    rows = spark.range(first, first + 5)
    rows.write.format("delta").mode("append").save(f"s3a://rides-of-the-city/{reference}/trips")
    rows.writeTo(f"{catalog}.city.rides").append()

def both(first, **options):
    with anabranch.spark.transaction(
        spark, server, "rides-of-the-city", "main", **options
    ) as branch:
        append(branch, branch, first)
        append("main", "lake", first + 5)
        main.commit("Meanwhile")
        seen = spark.table("lake.city.rides"), spark.table(f"{branch}.city.rides")
        print("in", *(table.count() for table in seen))
    assert spark.conf.get(f"spark.sql.catalog.{branch}", "none") == "none"

def counts():
    trips = spark.read.format("delta").load("s3a://rides-of-the-city/main/trips")
    return trips.distinct().count(), spark.table("lake.city.rides").distinct().count()

spark.sql("create namespace lake.city")
spark.sql("create table lake.city.rides (id bigint) using iceberg")
append("main", "lake", 0)
main.commit("First")
both(5, tables=["trips"])
print("united", *counts())
try:
    both(15)
except anabranch.errors.MergeConflict as error:
    print("refused", *{path.rpartition("/")[0] for path in error.paths})
print("after", *counts())
"""


@pytest.fixture
def run(server, repo, tmp_path):
    """Returns a function that runs a program and returns its exit code, output and errors."""
    jars = PROJECT / ".components" / "jars"
    if not jars.is_dir():
        pytest.skip("Spark needs the jars that `make components` fetches")
    settings = {
        "spark.driver.extraClassPath": f"{jars}/*",
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
    }
    builder = 'SparkSession.builder.master("local[2]")'
    builder += "".join(f".config({name!r}, {value!r})" for name, value in settings.items())
    environment = {
        **os.environ,
        "PYTHONPATH": str(PROJECT / "src"),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }

    def run_program(*parts, python=sys.executable):
        program = "\n".join(parts)
        for old, new in (
            ("SparkSession.builder", builder),
            ("rides-of-the-city", repo.id),
            ("http://HOST:8000", server.url),
            ("SECRET_ACCESS_KEY", server.secret_access_key),
            ("ACCESS_KEY_ID", server.access_key_id),
        ):
            program = program.replace(old, new)
        done = subprocess.run(
            [str(python), "-c", program],
            env={**environment, "PYSPARK_PYTHON": str(python)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    return run_program


def test_versions_of_the_page_are_those_of_the_jars():
    pom = (PROJECT / "tools" / "spark" / "pom.xml").read_text(encoding="utf-8")
    for name, version in re.findall(r"packages=\[\"[\w.]+:([\w.-]+):([\d.]+)\"\]", PAGE):
        listed = (PROJECT / "tools" / "spark" / "jars.sha256").read_text(encoding="utf-8")
        assert f"<artifactId>{name}</artifactId>" in pom
        assert f"  {name}-{version}.jar\n" in listed
    _, name, version = iceberg_package("4.1").split(":")
    assert f"  {name}-{version}.jar\n" in listed
    assert f"`iceberg-spark-runtime` {version}" in PAGE


@pytest.fixture
def fresh_python(tmp_path):
    """The Python of a new environment, made by the first line of the page; the checkout takes the
    place of the package."""
    line = re.search(r"^    pip install 'anabranch\[(\w+)\]'$", PAGE, re.MULTILINE)
    assert line is not None
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"][line[1]]]
    python = tmp_path / "environment" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "environment"], check=True)
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted],
        check=True,
    )
    return python


def test_examples_run_in_a_fresh_environment_of_the_first_line(run, repo, fresh_python):
    code, _, errors = run(DELTA, python=fresh_python)
    assert code == 0, errors
    repo.branch("night")
    code, _, errors = run(ICEBERG, python=fresh_python)
    assert code == 0, errors


def test_delta_example_and_merge_of_two_writers(run, server, repo):
    """After the example, the package deltalake reads main, and two branches write, conflict and are
    merged by a rule."""
    code, _, errors = run(DELTA)
    assert code == 0, errors
    options = {
        "AWS_ENDPOINT_URL": server.url,
        "AWS_ACCESS_KEY_ID": server.access_key_id,
        "AWS_SECRET_ACCESS_KEY": server.secret_access_key,
        "AWS_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
    }
    table = DeltaTable(f"s3://{repo.id}/main/trips", storage_options=options)
    assert table.version() == 2
    assert table.to_pyarrow_table().num_rows == 1500

    for name in ("one", "two"):
        repo.branch(name)
    session = DELTA[: DELTA.index("with ")]
    code, output, errors = run(session, DELTA_TWICE)
    assert code == 0, errors
    assert "two 1507" in output
    for name in ("one", "two"):
        repo.commit(f"Trips of {name}", name)
    repo.merge("one")
    with pytest.raises(ApiException) as caught:
        repo.merge("two")
    assert caught.value.status == 409
    assert f"_delta_log/{3:020}.json" in caught.value.body

    rules = "rules:\n  - {path: 'trips/_delta_log/**', strategy: delta}\n"
    repo.sdk.objects_api.upload_object(
        repo.id, "main", "_lakefs_merge.yaml", content=rules.encode()
    )
    repo.commit("Rules of merging", "main")
    repo.merge("two")
    assert DeltaTable(f"s3://{repo.id}/main/trips", storage_options=options).version() == 4
    code, output, errors = run(session, READ_DELTA_MERGED)
    assert code == 0, errors
    assert "merged 1512 1505" in output


def test_catalogs_example_and_deletion_of_the_branch(run, server, repo):
    """After the example, the branch of the table is deleted, and the table is read by Spark and by
    pyiceberg. Delta's tables and a catalog may be in one session."""
    repo.branch("night")
    code, _, errors = run(CATALOGS, MERGED_CATALOG)
    assert code == 0, errors
    repo.sdk.branches_api.delete_branch(repo.id, "night")
    repo.branch("night")
    delta = '.config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")'
    session = CATALOGS[: CATALOGS.index("spark.sql(")]
    session = session.replace('appName("trips")', f'appName("trips"){delta}')
    code, output, errors = run(session, LATER_CATALOG)
    assert code == 0, errors
    assert "rows 989 990" in output
    assert "password *********(redacted)" in output
    table = load_catalog(
        "lake",
        type="rest",
        uri=f"{server.url}/iceberg",
        warehouse=f"lakefs://{repo.id}/main",
        credential=f"{server.access_key_id}:{server.secret_access_key}",
        **{"oauth2-server-uri": f"{server.url}/iceberg/v1/oauth/tokens"},
    ).load_table("city.trips")
    assert table.scan().to_arrow().num_rows == 990


def test_a_transaction_unites_what_both_sides_append(run):
    """To a table of Delta, which the transaction names, and to one of the catalog."""
    configured = (
        '.config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")'
        '.config("spark.sql.catalog.spark_catalog", '
        '"org.apache.spark.sql.delta.catalog.DeltaCatalog")'
    )
    session = CATALOGS[: CATALOGS.index("spark.sql(")]
    session = session.replace('appName("trips")', f'appName("trips"){configured}')
    session = session.replace(', "night": "rides-of-the-city/night"', "")
    code, output, errors = run(session, APPENDS_OF_BOTH)
    assert code == 0, errors
    assert [line.split() for line in output.splitlines()[-5:]] == [
        ["in", "10", "10"],
        ["united", "15", "15"],
        ["in", "20", "20"],
        ["refused", "trips/_delta_log"],
        ["after", "20", "20"],
    ]


def test_iceberg_example_and_deletion_of_the_branch(run, repo):
    """After the example, the branch of the table is deleted, and the table cannot be read."""
    repo.branch("night")
    code, _, errors = run(ICEBERG)
    assert code == 0, errors
    assert all(path.startswith("iceberg/city/trips/") for path in repo.paths("night"))
    repo.commit("Trips", "night")
    repo.merge("night")
    session = ICEBERG[: ICEBERG.index("spark.range")]
    later = 'spark.sql("insert into main.city.trips values (1, 1.0)")'
    code, _, errors = run(session, READ_ICEBERG, later)
    assert code == 0, errors
    assert [x.path for x in repo.sdk.branches_api.diff_branch(repo.id, "night").results]
    repo.sdk.branches_api.delete_branch(repo.id, "night")
    code, _, errors = run(session, READ_ICEBERG)
    assert code != 0
    assert "night" in errors
