"""Temporary files of a killed run, which the next run removes."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest
from support.session.forked_python import forked_python

PROGRAM = """
import os, signal, sys, time
from pathlib import Path
import anabranch
from anabranch.pipelines.garbage.collector import Collector

with anabranch.open(sys.argv[1]) as lake:
    if not lake.repositories.list(amount=1).items:
        lake.repositories.create("sea", "local://sea")
        lake.objects.upload("sea", "main", "a", [b"1"])
    collector = Collector(lake.core, lake.blocks, Path(sys.argv[1], "gc"), clock=time.time)
    with collector.mark("sea") as run:
        print(*sorted(os.listdir(os.environ["TMPDIR"])), flush=True)
        if sys.argv[2] == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
"""


def run(folder, temporary, how):
    done = subprocess.run(
        [forked_python(), "-c", PROGRAM, folder, how],
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout.split()


@pytest.mark.slow
def test_next_run_removes_local_files_of_a_killed_run(tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    code, (killed,) = run(tmp_path / "lake", temporary, "killed")
    assert code == -signal.SIGKILL
    names = {path.name for path in (temporary / killed).iterdir()}
    assert {"candidates.parquet", "listing.arrow"} <= names
    code, (other,) = run(tmp_path / "lake", temporary, "ended")
    assert (code, other != killed) == (0, True)
    assert not list(temporary.iterdir())
