"""dbt with Spark, as docs/ecosystem.md says: a run builds Iceberg tables on a branch of its own,
and `main` has them once the tests of the run have passed. pyiceberg reads what is there.

The files are read and written by S3A, whose jars the other tests of Spark have, and not by the AWS
bundle of Iceberg.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pyarrow as pa
import pyspark
import pytest
from pyiceberg.catalog import load_catalog
from support.checkout import ROOT

import anabranch
from anabranch.testing.server import running_server

from .conftest import commands, connected

pytestmark = [pytest.mark.slow, pytest.mark.systems, pytest.mark.timeout(900)]
"""Each run of dbt starts Java."""

JARS = ROOT / ".components" / "jars"
PACKAGES = re.compile(r" +spark\.jars\.packages: .*\n.*\n")
DEFAULTS = """
spark.driver.extraClassPath {jars}/*
spark.master local[2]
spark.driver.host 127.0.0.1
spark.driver.bindAddress 127.0.0.1
spark.driver.memory 1g
spark.ui.enabled false
spark.sql.shuffle.partitions 1
spark.local.dir {folder}/local
spark.sql.warehouse.dir {folder}/warehouse
spark.sql.catalog.lake.io-impl org.apache.iceberg.hadoop.HadoopFileIO
spark.hadoop.fs.s3.impl org.apache.hadoop.fs.s3a.S3AFileSystem
spark.hadoop.fs.s3a.endpoint {server.url}
spark.hadoop.fs.s3a.endpoint.region us-east-1
spark.hadoop.fs.s3a.path.style.access true
spark.hadoop.fs.s3a.access.key {server.access_key_id}
spark.hadoop.fs.s3a.secret.key {server.secret_access_key}
"""


class Rides:
    """A server with the table `city.trips` in a repository, and runs of dbt on it."""

    def __init__(self, server, folder, shell):
        self.server, self.folder, self.shell = server, folder, shell
        self.lake = anabranch.connect(server.url, *server.auth)
        self.lake.repositories.create("rides")
        self.catalog("main").create_namespace("city")
        schema = pa.schema([("id", pa.int64()), ("distance", pa.float64())])
        self.catalog("main").create_table("city.trips", schema)
        self.add({1: 2.5, 2: 7.0})

    def catalog(self, reference):
        return load_catalog(
            "rides",
            type="rest",
            uri=f"{self.server.url}/iceberg",
            warehouse=f"rides/{reference}",
            credential=":".join(self.server.auth),
        )

    def add(self, trips):
        """Adds trips to the table on main, by their ids."""
        rows = pa.table({"id": list(trips), "distance": list(trips.values())})
        self.catalog("main").load_table("city.trips").append(rows)

    def run(self, branch):
        """Runs the commands of the page on a branch that they create."""
        (self.folder / "spark-defaults.conf").write_text(
            DEFAULTS.format(jars=JARS, folder=self.folder, server=self.server)
        )
        script, found = PACKAGES.subn("", connected(commands("dbt and Spark"), self.server))
        assert found == 1
        home = Path(pyspark.__path__[0])
        return self.shell(
            "dbt",
            script.replace("BRANCH=dbt-1", f"BRANCH={branch}"),
            SPARK_HOME=str(home),
            SPARK_CONF_DIR=str(self.folder),
            SPARK_LOCAL_IP="127.0.0.1",
            PYTHONPATH=":".join(map(str, [ROOT / "src", *home.glob("python/lib/*.zip")])),
        )

    def long(self, reference):
        """Returns the rows of the table that dbt has built, as pyiceberg reads them."""
        rows = self.catalog(reference).load_table("city.long").scan().to_arrow().to_pylist()
        return sorted((row["id"], row["distance"]) for row in rows)

    def messages(self, reference):
        return [each.message for each in self.lake.commits.log("rides", reference, amount=3).items]


@pytest.fixture
def rides(tmp_path, shell):
    if not (JARS.is_dir() and shutil.which("java")):
        pytest.skip("Spark needs Java, and the jars that `make components` fetches")
    with running_server(tmp_path / "lake") as server:
        yield Rides(server, tmp_path, shell)


def test_a_run_builds_a_table_on_its_branch_which_is_merged(rides):
    ran = rides.run("dbt-1")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "PASS=3" in ran.stdout
    assert rides.long("main") == rides.long("dbt-1") == [(2, 7.0)]
    assert rides.messages("main")[:2] == ["Merge 'dbt-1' into 'main'", "Iceberg: create city.long"]
    assert rides.messages("main~1") == [
        "Iceberg: append to city.trips",
        "Iceberg: create city.trips",
        "Iceberg: create namespace city",
    ]


@pytest.mark.timeout(1800)
def test_a_run_whose_tests_fail_is_not_merged(rides):
    assert rides.run("dbt-1").returncode == 0
    for later in ({3: 9.0}, {4: 8.0}, {4: 8.5}):
        rides.add(later)
    ran = rides.run("dbt-2")
    assert ran.returncode != 0
    assert "unique_long_id" in ran.stdout
    assert rides.long("main") == [(2, 7.0)]
    # the model was merged into the table of its branch
    assert rides.long("dbt-2") == [(2, 7.0), (3, 9.0), (4, 8.0), (4, 8.5)]
    assert rides.messages("dbt-2")[0] == "Iceberg: overwrite in city.long"
