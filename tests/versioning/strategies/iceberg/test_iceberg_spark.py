"""Iceberg tables of Spark, with deletes by position, compacted files and both format versions."""

import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[4]
PROGRAM = Path(__file__).parents[1] / "programs" / "merge_iceberg_with_spark.py"


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_tables_that_spark_wrote_are_read_by_spark(tmp_path):
    jars = PROJECT / ".components" / "jars"
    if not jars.is_dir():
        pytest.skip("Spark needs the jars that `make components` fetches")
    program = [sys.executable, PROGRAM, jars, tmp_path]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("merged ")[1:] == ["copied\n", "marked\n", "first\n"]
