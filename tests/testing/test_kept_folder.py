"""Kept folders go when their owner does, with what runs over them, and never before."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.eventually import eventually
from support.services.guarded_tmpdir import PREFIX, kept_folder
from support.services.postgres import postgres_programs

OWN = """
import sys
from support.services.guarded_tmpdir import kept_folder
with kept_folder() as folder:
    print(folder, flush=True)
    sys.stdin.read()
"""
RUN_POSTGRES = """
import sys
from support.services.guarded_tmpdir import kept_folder
from support.services.postgres import Cluster, postgres_programs
with kept_folder() as folder:
    print(folder, flush=True)
    cluster = Cluster(postgres_programs(), folder)
    cluster.start()
    print(cluster.port, flush=True)
    sys.stdin.read()
"""


@contextmanager
def running(program):
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        try:
            yield process, Path(process.stdout.readline().strip())
        finally:
            process.kill()


def processes_over(folder):
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if os.fsencode(folder) in words:
            found.append(int(entry.name))
    return found


def test_a_folder_is_removed_after_use():
    with kept_folder() as folder:
        (folder / "a").mkdir()
        (folder / "a" / "b").write_bytes(b"1")
    assert not folder.exists()
    assert processes_over(folder) == []


def test_a_folder_is_removed_though_its_user_raises():
    with pytest.raises(ZeroDivisionError), kept_folder() as folder:
        raise ZeroDivisionError
    assert not folder.exists()


def test_who_is_killed_leaves_no_folder():
    with running(OWN) as (owner, folder):
        assert folder.is_dir()
        owner.kill()
        eventually(lambda: not folder.exists() and processes_over(folder) == [])


@pytest.mark.slow
@pytest.mark.skipif(postgres_programs() is None, reason="PostgreSQL is not installed")
@pytest.mark.parametrize("started", [False, True])
def test_who_is_killed_leaves_no_server(started):
    with running(RUN_POSTGRES) as (owner, folder):
        if started:
            assert int(owner.stdout.readline())
        else:
            eventually((folder / "data").exists)  # in the middle of initdb
        owner.kill()
        eventually(lambda: not folder.exists() and processes_over(folder) == [])


def test_what_a_killed_keeper_left_is_removed_by_the_next():
    with running(OWN) as (owner, left), running(OWN) as (_, owned):
        # a process that has just begun its program has no words in /proc for a moment
        eventually(lambda: processes_over(left) != [])
        (keeper,) = processes_over(left)
        os.kill(keeper, signal.SIGKILL)
        eventually(lambda: processes_over(left) == [])
        with kept_folder():
            assert left.is_dir(), "its owner lives"
        owner.kill()
        owner.wait()
        assert left.is_dir(), "no process is left to remove it"
        with kept_folder() as mine:
            assert not left.exists()
            assert owned.is_dir()
            assert mine.is_dir()
            assert mine.name.startswith(PREFIX)
