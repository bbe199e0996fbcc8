"""A lake in a folder where the system has no functions that only Linux has, as on macOS.

The functions are removed from `os` in a process of its own, before the package is imported.
"""

import subprocess
import sys
from pathlib import Path

import pytest

LINUX_ONLY = [
    "O_TMPFILE",
    "copy_file_range",
    "fdatasync",
    "memfd_create",
    "pipe2",
    "posix_fadvise",
    "posix_fallocate",
    "sched_getaffinity",
]
PROGRAM = f"""
import os, sys
for name in {LINUX_ONLY}:
    delattr(os, name)
import anabranch

with anabranch.open(sys.argv[1]) as lake:
    lake.repositories.create("sea", "local://sea")
    for name, data in (("small", b"a"), ("large", bytes(3_000_000))):
        lake.objects.upload("sea", "main", name, [data])
    lake.commits.commit("sea", "main", message="Both", committer="ada")
with anabranch.open(sys.argv[1]) as lake:
    for name in ("small", "large"):
        print(len(lake.objects.open("sea", "main", name).read_bytes()))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have none of these")
def test_lake_works_without_functions_of_linux(tmp_path):
    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM, tmp_path / "lake"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.stdout == "1\n3000000\n", finished.stderr


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_macos_has_every_function_that_is_called(tmp_path):
    pytest.importorskip("mypy")
    finished = subprocess.run(
        [sys.executable, "-m", "mypy", "--platform", "darwin", "--cache-dir", tmp_path],
        cwd=Path(__file__).parent.parent.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert finished.returncode == 0, finished.stdout
