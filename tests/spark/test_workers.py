"""Processes of tasks in tests have imported what tasks need, and look into no archives."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pyarrow as pa
import pytest
from support.session.forked_python import can_fork
from support.session.spark_workers import spark_python

from anabranch.spark.planning.scan_plan import map_in_tasks

pytestmark = pytest.mark.timeout(600)


def look(_):
    archives = [hasattr(each, "archive") for each in sys.path_importer_cache.values()]
    imported = "anabranch.spark.jobs.verification" in sys.modules
    yield pa.RecordBatch.from_pydict({"archives": [sum(archives)], "imported": [int(imported)]})


def test_tasks_begin_with_modules_and_without_archives(spark):
    schema = pa.schema([("archives", pa.int64()), ("imported", pa.int64())])
    (row,) = map_in_tasks(spark, [0], look, schema).collect()
    if can_fork():
        assert (row["archives"], row["imported"]) == (0, 1)


@pytest.mark.slow  # each task of the other tests is run by it
def test_the_program_runs_a_module_with_its_words(tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run(
        [spark_python(tmp_path), "-m", "json.tool", "--compact"],
        input='{"a":  1}',
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(ran.stdout) == {"a": 1}
    assert ran.stdout == '{"a":1}\n'
