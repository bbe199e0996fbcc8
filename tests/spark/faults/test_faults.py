"""Faults: killed workers and drivers, missing and damaged tables, unsupported versions of Spark."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from support.faults.crashing_worker import WorkerKillingStore
from support.progress import CallbackProgress

import anabranch.spark
from anabranch.errors import Corrupt, Gone, NotSupported
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake
from anabranch.pipelines.exports.folder import FolderDestination
from anabranch.pipelines.exports.state import read_state

pytestmark = pytest.mark.timeout(600)

WORKER_ERRORS = (PySparkException, Py4JJavaError)

COLUMNS = (
    "concat('p', lpad(id % 7, 2, '0'), '/f', lpad(id, 6, '0')) AS path",
    "concat('s3://elsewhere/', id) AS physical_address",
    "id AS size",
)


@pytest.fixture
def killing(tmp_path):
    """Returns a function that wraps an opener so that it kills one worker, after `after` others."""
    folder = tmp_path / "opened"
    folder.mkdir()
    return lambda opener, after: WorkerKillingStore(opener, folder, after, os.getpid())


@pytest.fixture
def filled(lake):
    for number in range(30):
        lake.objects.upload("sea", "main", f"d/{number:02d}", [b"%d" % number])
    lake.commits.commit("sea", "main", message="m", committer="c")
    return lake


def import_unverified(*listing, **options):
    """Imports a listing without comparing it with the store."""
    return anabranch.spark.import_listing(*listing, verify="none", **options)


def test_import_can_be_repeated_after_a_worker_was_killed(spark, emulated_s3, killing, tmp_path):
    emulated_s3.make_bucket("tasks-killing")
    store = killing(emulated_s3.task_store(), 0)
    listing = spark.range(0, 3_000, 1, 3).selectExpr(*COLUMNS)
    with Lake(
        MemoryStore(), emulated_s3.blocks(), cache_folder=tmp_path / "c", signing_secret=b"s"
    ) as remote:
        remote.repositories.create("land", "s3://tasks-killing/land")
        before = remote.branches.get("land", "main")
        with pytest.raises(WORKER_ERRORS, match="worker exited unexpectedly"):
            import_unverified(remote, "land", "main", listing, store=store)
        assert remote.branches.get("land", "main") == before
        result = import_unverified(remote, "land", "main", listing, store=store)
        remote.branches.create("land", "local", "main~1")
        expected = remote.import_listing("land", "local", listing.toArrow(), verify="none")
    assert result.commit.metarange_id == expected.commit.metarange_id


@pytest.mark.slow
def test_export_can_be_repeated_after_a_worker_was_killed(spark, filled, killing, tmp_path):
    store = killing(filled.blocks.opener(), 3)
    advances = []

    def export():
        return anabranch.spark.export(
            *(spark, filled, "sea", "main", str(tmp_path / "out")),
            store=store,
            progress=CallbackProgress(advances.append),
            entries_per_task=5,
            tasks_at_once=1,
        )

    with pytest.raises(WORKER_ERRORS, match="worker exited unexpectedly"):
        export()
    destination = FolderDestination(tmp_path / "out")
    assert read_state(destination).complete == ""
    assert not [path for path in destination.paths() if path.startswith("EXPORT_")]
    assert export().marker
    for number in range(30):
        assert (tmp_path / "out" / "d" / f"{number:02d}").read_bytes() == b"%d" % number


def test_missing_or_damaged_range_fails_an_export_with_its_name(spark, filled, tmp_path):
    tree = filled.commits.get("sea", "main").metarange_id
    (table,) = filled.core.trees.open(filled.core.repositories.get("sea"), tree).ranges()
    file = Path(filled.blocks.local_path(f"local://sea/_lakefs/{table.id}"))
    content = file.read_bytes()
    file.write_bytes(content[:40] + b"\0" + content[41:])
    export = (spark, filled, "sea", "main", str(tmp_path / "out"))
    with pytest.raises(Corrupt, match=table.id):
        anabranch.spark.export(*export)
    file.unlink()
    with pytest.raises(Gone, match=table.id):
        anabranch.spark.export(*export)
    file.write_bytes(content)
    assert anabranch.spark.export(*export).stored == 30


def test_old_versions_of_spark_are_refused(lake, tmp_path):
    old = SimpleNamespace(version="3.4.4")
    listing = SimpleNamespace(sparkSession=old, columns=[])
    with pytest.raises(NotSupported, match=r"3\.4\.4 is too old"):
        anabranch.spark.import_listing(lake, "sea", "main", listing)
    with pytest.raises(NotSupported, match=r"3\.4\.4 is too old"):
        anabranch.spark.export(old, lake, "sea", "main", str(tmp_path / "out"))
    with pytest.raises(NotSupported, match=r"3\.4\.4 is too old"):
        anabranch.spark.objects(old, lake, "sea", "main")
    assert not (tmp_path / "out").exists()


PROGRAM = """
import json, os, sys
import anabranch, anabranch.spark
from pyspark.sql import SparkSession
folder, job, mode, columns = sys.argv[1:]
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
spark = builder.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
class Progress:
    def begin(self, step, total):
        pass
    def advance(self, amount):
        if mode == "kill":
            os.kill(os.getpid(), 9)
with anabranch.open(folder + "/lake") as lake:
    if job == "export":
        out = folder + "/out"
        options = {"entries_per_task": 5, "tasks_at_once": 2, "progress": Progress()}
        done = anabranch.spark.export(spark, lake, "sea", "main", out, **options)
    else:
        listing = spark.range(0, 3000, 1, 3).selectExpr(*json.loads(columns))
        if mode == "kill":
            from anabranch.pipelines.imports import commit_import as committer
            committer.ImportCommitter.commit = lambda *_: Progress().advance(0)
        done = anabranch.spark.import_listing(lake, "sea", "main", listing, verify="none")
print("done", done)
"""


@pytest.mark.slow
@pytest.mark.parametrize("job", ["export", "import"])
def test_job_can_be_repeated_after_the_driver_was_killed(tmp_path, job):
    """An export is killed after its first tasks, an import before its commit."""
    with anabranch.open(tmp_path / "lake") as lake:
        lake.repositories.create("sea", "local://sea")
        for number in range(30):
            lake.objects.upload("sea", "main", f"d/{number:02d}", [b"%d" % number])
        lake.commits.commit("sea", "main", message="m", committer="c")
        before = lake.branches.get("sea", "main")

    columns = json.dumps([each.replace("s3://", "local://") for each in COLUMNS])

    def run(mode):
        return subprocess.run(
            [sys.executable, "-c", PROGRAM, str(tmp_path), job, mode, columns],
            env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

    assert run("kill").returncode == -9
    with anabranch.open(tmp_path / "lake") as lake:
        assert lake.branches.get("sea", "main") == before
    done = run("finish")
    assert done.returncode == 0, done.stderr
    assert "done" in done.stdout
    if job == "export":
        exported = {path.name: path.read_bytes() for path in (tmp_path / "out" / "d").iterdir()}
        assert exported == {f"{number:02d}": b"%d" % number for number in range(30)}
        assert "stored=30" not in done.stdout, "the export began again instead of continuing"
    else:
        assert "objects=3000" in done.stdout
