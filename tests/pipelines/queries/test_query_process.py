"""The process of a query, before it is forked."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
from pathlib import Path
from anabranch.pipelines.queries import query_process
query_process.prepare()
names = [(task / "comm").read_text().strip() for task in Path("/proc/self/task").iterdir()]
print(*(name for name in names if name != "jemalloc_bg_thd"))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="threads are listed on Linux only")
def test_no_thread_is_lost_by_a_fork():
    """Only jemalloc's own, which it starts again in the process that is forked."""
    environment = {"OPENBLAS_NUM_THREADS": "1", "PATH": "/usr/bin"}
    command = [sys.executable, "-c", SCRIPT]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert len(ran.stdout.split()) == 1, ran.stdout
