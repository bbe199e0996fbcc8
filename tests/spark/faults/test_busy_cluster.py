"""Executors that are killed in the middle of jobs, with speculative execution."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


def test_jobs_survive_killed_executors_and_speculation(tmp_path):
    """Each result equals that of the local engine."""
    if not shutil.which("java"):
        pytest.skip("Spark needs Java")
    import pyspark

    # a cluster starts executors from SPARK_HOME, which a virtual environment does not set
    environment = {**os.environ, "SPARK_HOME": str(Path(pyspark.__file__).parent)}
    done = subprocess.run(
        [sys.executable, "-m", "support.faults.busy_cluster", str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    jobs = [line for line in done.stdout.splitlines() if line.startswith("done: ")]
    assert jobs == ["done: import_rows", "done: export_objects", "done: collect_garbage"]
