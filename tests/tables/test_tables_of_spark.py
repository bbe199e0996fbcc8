"""Tables that Spark wrote: deletion vectors, mapped columns, merge-on-read, other checkpoints."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
PROGRAM = Path(__file__).parent / "programs" / "read_tables_of_spark.py"
NAMES = ["vectors", "named", "numbered", "first", "marked", "whole", "third"]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_rows_are_those_that_spark_reads(tmp_path):
    jars = PROJECT / ".components" / "jars"
    if not jars.is_dir():
        pytest.skip("Spark needs the jars that `make components` fetches")
    done = subprocess.run(
        [sys.executable, PROGRAM, jars, tmp_path, *NAMES],
        capture_output=True,
        text=True,
        check=False,
        # pytest finds `support` by a setting of its own
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("read ")[1:] == [f"{name}\n" for name in NAMES]
