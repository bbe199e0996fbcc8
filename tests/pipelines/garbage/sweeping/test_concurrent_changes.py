"""Collections during concurrent writes, commits, merges and resets; and killed sweeps."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from support.garbage import DAY, addresses, stored
from support.session.sizes import sized

from anabranch.blocks.local.store import LocalBlocks
from anabranch.errors import AnabranchError, Gone
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake, open_lake
from anabranch.model.repositories.retention import RetentionRules
from anabranch.pipelines.garbage.collector import Collector

LONG_AGO = 10 * DAY


@pytest.fixture
def old_lake(tmp_path):
    """A lake on disk whose clock is ten days behind, so that all generated addresses are old."""
    with Lake(
        MemoryStore(),
        LocalBlocks(tmp_path / "blocks"),
        cache_folder=tmp_path / "cache",
        signing_secret=b"a secret of tests",
        clock=lambda: time.time() - LONG_AGO,
    ) as lake:
        lake.repositories.create("sea", "local://sea")
        yield lake


def age(lake, address):
    """Sets the modification time of a linked object to long ago."""
    path = lake.blocks.local_path(f"local://sea/{address}")
    then = time.time() - LONG_AGO
    os.utime(path, (then, then))


def put_old(lake, branch, path, body):
    address = lake.objects.upload("sea", branch, path, [body]).entry.address
    age(lake, address)
    return address


class Writer(threading.Thread):
    """Changes its own branch and merges it into `main` until `stop` is set."""

    def __init__(self, lake, number, stop):
        super().__init__()
        self.lake, self.number, self.stop = lake, number, stop
        self.random = random.Random(number)
        self.done = 0
        self.failure = None

    def run(self):
        try:
            while not self.stop.is_set():
                self.step()
                self.done += 1
                self.stop.wait(0.1)  # each commit adds a range that the collection has to read
        except BaseException as error:  # noqa: BLE001  the test reports it
            self.failure = error

    def step(self):
        lake, own = self.lake, f"dev{self.number}"
        try:
            lake.branches.create("sea", own, "main")
            for _ in range(self.random.randint(1, 4)):
                body = b"%d" % self.random.getrandbits(64)
                put_old(lake, own, f"{self.number}/{self.random.randint(0, 5)}", body)
                if self.random.random() < 0.3:
                    lake.branches.reset("sea", own, "reset")
                if self.random.random() < 0.5:
                    lake.commits.commit("sea", own, message="m", committer="me")
            lake.refs.merge("sea", own, "main", committer="me", strategy="source-wins")
        except AnabranchError as error:
            assert error.kind in {"no_changes", "dirty_branch"}, error  # noqa: PT017
        finally:
            lake.branches.delete("sea", own)


def test_sweeps_during_writes_remove_no_readable_object(old_lake, tmp_path):
    lake = old_lake
    lake.garbage_rules.set("sea", RetentionRules(30))
    collector = Collector(lake.core, lake.blocks, tmp_path / "gc", clock=time.time)
    stop = threading.Event()
    writers = [Writer(lake, number, stop) for number in range(3)]
    for writer in writers:
        writer.start()
    swept = 0

    def fewest():
        return min(writer.done for writer in writers)

    try:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with collector.mark("sea", window_seconds=0) as run:
                swept += run.sweep().swept.objects
            if swept > sized(3, weekly=10) and fewest() > sized(1, weekly=3):
                break
    finally:
        stop.set()
        for writer in writers:
            writer.join(60)
    assert [writer.failure for writer in writers] == [None] * 3
    assert swept > 0
    read = 0
    for reference in [
        "main",
        *(commit.id for commit in lake.commits.log("sea", "main", amount=500).items),
    ]:
        for path, entry in lake.core.objects.entries(lake.core.repositories.get("sea"), reference):
            assert lake.blocks.stat(f"local://sea/{entry.address}"), path
            read += 1
    assert read > 0


def test_branch_merged_and_deleted_during_a_pass_keeps_its_objects(old_lake, tmp_path):
    lake = old_lake
    lake.garbage_rules.set("sea", RetentionRules(1))
    lake.branches.create("sea", "early", "main")
    lake.branches.create("sea", "late", "main")
    living = put_old(lake, "late", "a", b"1")
    lake.commits.commit("sea", "late", message="m", committer="me")
    real = lake.core.branches.all
    moved = []

    def scan(repository):
        """Merges and deletes `late` after `early` was read."""
        for branch in real(repository):
            yield branch
            if not moved and looking.is_set():
                moved.append(lake.refs.merge("sea", "late", "early", committer="me"))
                lake.branches.delete("sea", "late")
                yield from (later for later in real(repository) if later.id > branch.id)
                return

    looking = threading.Event()
    real_repositories = lake.core.repositories.all

    def repositories():
        looks.append(1)
        if len(looks) == 2:  # the references are read now
            looking.set()
        return real_repositories()

    looks = []
    lake.core.branches.all = scan
    lake.core.repositories.all = repositories
    collector = Collector(lake.core, lake.blocks, tmp_path / "gc", clock=time.time)
    with collector.mark("sea", window_seconds=0) as run:
        assert moved
        assert living not in addresses(run.candidates())
        run.sweep()
    assert lake.objects.open("sea", "early", "a").read_bytes() == b"1"


def test_commits_that_a_scan_misses_keep_their_objects(old_lake, tmp_path):
    """A scan of commits by id may find only the second of two commits created during the scan."""
    lake = old_lake
    lake.garbage_rules.set("sea", RetentionRules(30))
    made = []
    for number in range(3):
        put_old(lake, "main", "a", b"%d" % number)
        made.append(lake.commits.commit("sea", "main", message="m", committer="me").id)
    real = lake.core.commits.all
    lake.core.commits.all = lambda repository: (
        commit for commit in real(repository) if commit.id not in made[:2]
    )
    collector = Collector(lake.core, lake.blocks, tmp_path / "gc", clock=time.time)
    with collector.mark("sea") as run:
        assert run.summary.candidates.objects == 0
        assert run.summary.found.active_commits == 4
    assert lake.garbage_preparation.commits("sea").run_id


def test_commit_during_a_pass_keeps_its_objects(old_lake, tmp_path):
    lake = old_lake
    lake.garbage_rules.set("sea", RetentionRules(1))
    dead = put_old(lake, "main", "a", b"0")
    living = [put_old(lake, "main", name, b"1") for name in ("a", "b")]
    real = lake.core.uploads.all
    committed = []

    def uploads():
        """Commits after the uploads and before the staging areas are read."""
        yield from real()
        if not committed:
            committed.append(lake.commits.commit("sea", "main", message="m", committer="me"))
            for token in list(lake.keyvalue.scan("cleanup-tokens")):
                lake.keyvalue.drop(token[0].decode())

    lake.core.uploads.all = uploads
    collector = Collector(lake.core, lake.blocks, tmp_path / "gc", clock=time.time)
    with collector.mark("sea", window_seconds=0) as run:
        assert committed
        assert addresses(run.candidates()) == {dead}
        run.sweep()
    assert [lake.objects.stat("sea", "main", name).entry.address for name in "ab"] == living


KILLED = """
import sys, time
from pathlib import Path
from anabranch.library import open_lake
from anabranch.pipelines.garbage.collector import Collector

lake = open_lake(sys.argv[1])
collector = Collector(lake.core, lake.blocks, Path(sys.argv[1], "gc"), clock=time.time)
with collector.mark("sea", grace_seconds=-60, window_seconds=-60) as run:
    print(run.summary.due.objects, flush=True)
    from anabranch.pipelines.garbage.sweeping import sweep
    sweep.BATCH_SIZE = 5
    run.sweep(rate=10)
"""


@pytest.mark.slow
def test_next_run_completes_a_killed_sweep(tmp_path):
    with open_lake(tmp_path) as lake:
        lake.repositories.create("sea", "local://sea")
        for number in range(200):
            lake.objects.upload("sea", "main", "a", [b"%d" % number])
        kept = lake.objects.stat("sea", "main", "a").entry.address
        before = {name for name in stored(lake, "local://sea") if name.startswith("data/")}
        ran = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(tmp_path)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        try:
            assert ran.stdout.readline() == "199\n"
            until = time.monotonic() + 60
            while len(before - stored(lake, "local://sea")) < 20 and time.monotonic() < until:
                time.sleep(0.01)
        finally:
            ran.send_signal(signal.SIGKILL)
            ran.wait(60)
            ran.stdout.close()
        left = before & stored(lake, "local://sea")
        assert 1 < len(left) <= 180
        assert lake.objects.open("sea", "main", "a").read_bytes() == b"199"
        collector = Collector(lake.core, lake.blocks, tmp_path / "gc", clock=time.time)
        with collector.mark("sea", grace_seconds=-60, window_seconds=-60) as run:
            assert addresses(run.candidates()) == left - {kept}
            assert run.sweep().swept.objects == len(left) - 1
        assert before & stored(lake, "local://sea") == {kept}


def test_range_that_vanishes_during_a_sweep_fails_it(old_lake, tmp_path):
    lake = old_lake
    dead = [put_old(lake, "main", "a", b"%d" % number) for number in range(5)][:-1]
    collector = Collector(lake.core, lake.blocks, tmp_path / "gc", clock=time.time)
    with collector.mark("sea", window_seconds=0) as run:
        assert addresses(run.candidates()) == set(dead)
        commit = lake.commits.commit("sea", "main", message="m", committer="me")
        lost = lake.core.trees.open(lake.core.repositories.get("sea"), commit.metarange_id).ranges()
        Path(lake.blocks.local_path(f"local://sea/_lakefs/{lost[0].id}")).unlink()
        with pytest.raises(Gone, match=lost[0].id):
            run.sweep()
        assert (run.summary.state, run.summary.swept.objects) == ("failed", 0)
    assert set(dead) <= stored(lake, "local://sea")
