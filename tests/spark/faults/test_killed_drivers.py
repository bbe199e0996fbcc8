"""Drivers that are killed between the last steps of jobs.

Instead of killing a process, the folder of the lake is copied between two steps, as a killed driver
would leave it. The job goes on, and is run again in the copy.
"""

from __future__ import annotations

import shutil
import time

import pytest
from support.garbage import addresses, aged, stored

import anabranch
import anabranch.spark
from anabranch.errors import NotFound
from anabranch.pipelines.exports.export_run import ExportRun
from anabranch.pipelines.exports.folder import FolderDestination
from anabranch.pipelines.exports.state import STATE
from anabranch.pipelines.garbage.collector import Collector
from anabranch.pipelines.garbage.fence import Fence
from anabranch.pipelines.garbage.run_files import RunFiles
from anabranch.pipelines.imports.commit_import import ImportCommitter
from anabranch.spark.jobs import images
from anabranch.spark.jobs.garbage import SparkEngine

pytestmark = pytest.mark.timeout(600)

NOW = {"grace_seconds": -60, "window_seconds": -60}
OBJECTS = 20


class Copies:
    """Copies of a lake's folder, which are made between the steps of a job."""

    def __init__(self, root, folder, monkeypatch):
        self._root = root
        self._folder = folder
        self._monkeypatch = monkeypatch
        self.roots = []

    def make(self):
        copy = self._folder / str(len(self.roots))
        shutil.copytree(self._root, copy, symlinks=True)
        self.roots.append(copy)

    def before(self, owner, name, condition=lambda *_: True):
        """Makes a copy before each call of a method that fulfils a condition."""
        real = getattr(owner, name)

        def copying(*arguments, **options):
            if condition(*arguments):
                self.make()
            return real(*arguments, **options)

        self._monkeypatch.setattr(owner, name, copying)

    def after(self, owner, name):
        """Makes a copy after each call of a method."""
        real = getattr(owner, name)

        def copying(*arguments, **options):
            result = real(*arguments, **options)
            self.make()
            return result

        self._monkeypatch.setattr(owner, name, copying)

    def taken(self):
        """Returns the copies, and makes no more."""
        self._monkeypatch.undo()
        assert self.roots
        return self.roots


@pytest.fixture
def copies(tmp_path, monkeypatch):
    return Copies(tmp_path / "lake", tmp_path / "copies", monkeypatch)


@pytest.fixture
def filled(lake):
    """A lake with a commit, and as many dead objects."""
    for _ in range(2):
        for number in range(OBJECTS):
            lake.objects.upload("sea", "main", f"d/{number:02d}", [b"%d" % number])
    lake.commits.commit("sea", "main", message="m", committer="c")
    aged(lake, "local://sea")
    return lake


def contents(lake):
    return {
        f"d/{number:02d}": lake.objects.open("sea", "main", f"d/{number:02d}").read_bytes()
        for number in range(OBJECTS)
    }


CONTENTS = {f"d/{number:02d}": b"%d" % number for number in range(OBJECTS)}


def test_import_is_repeated_after_its_tables_were_written(spark, filled, copies):
    listing = spark.range(0, 300, 1, 3).selectExpr(
        "concat('f/', id) AS path",
        "concat('local://elsewhere/', id) AS physical_address",
        "id AS size",
    )

    def run(lake):
        return anabranch.spark.import_listing(
            lake, "sea", "main", listing, destination="in", verify="none"
        )

    before = filled.branches.get("sea", "main")
    copies.before(ImportCommitter, "commit")
    done = run(filled)
    (root,) = copies.taken()
    with anabranch.open(root) as lake:
        assert lake.branches.get("sea", "main") == before
        assert contents(lake) == CONTENTS
        assert run(lake).commit.metarange_id == done.commit.metarange_id
        assert lake.commits.get("sea", "main").parents == (before.commit_id,)


@pytest.mark.slow
def test_export_is_completed_after_its_data_or_some_of_its_notes_were_written(
    spark, filled, copies, tmp_path, monkeypatch
):
    """The destination is in the lake's folder, so that it is copied as well."""
    write = FolderDestination.write_notes

    def write_one_by_one(destination, notes):
        for name, text in notes.items():
            write(destination, {name: text})
            copies.make()

    end = ExportRun.end

    def end_in_steps(export_run):
        copies.make()
        with monkeypatch.context() as patched:
            patched.setattr(FolderDestination, "write_notes", write_one_by_one)
            return end(export_run)

    monkeypatch.setattr(ExportRun, "end", end_in_steps)
    clock = iter(range(1_700_000_000, 1_800_000_000, 1_000))
    run_at = {"clock": lambda: next(clock)}
    target = tmp_path / "lake" / "out"
    anabranch.spark.export(spark, filled, "sea", "main", str(target), **run_at)
    first = len(copies.roots)
    filled.objects.delete("sea", "main", "d/00")
    second_commit = filled.commits.commit("sea", "main", message="m", committer="c").id
    anabranch.spark.export(spark, filled, "sea", "main", str(target), **run_at)
    roots = copies.taken()
    assert (first, len(roots) - first) == (3, 4)
    for number, root in enumerate(roots):
        out = root / "out"
        with anabranch.open(root) as lake:
            again = anabranch.spark.export(spark, lake, "sea", "main", str(out), **run_at)
            assert again.stored == 0
            assert again.removed <= 1
            assert again.commit == lake.branches.get("sea", "main").commit_id
            assert (again.commit == second_commit) == (number >= first)
            expected = dict(CONTENTS)
            if number >= first:
                del expected["d/00"]
        exported = {f"d/{path.name}": path.read_bytes() for path in (out / "d").iterdir()}
        assert exported == expected
        others = {path.name for path in out.iterdir()} - {"d", STATE}
        assert others == {again.marker}


def mark(lake, folder, engine):
    collector = Collector(lake.core, lake.blocks, folder / "gc", clock=time.time)
    return collector.mark("sea", engine=engine, **NOW)


@pytest.mark.slow
def test_garbage_is_collected_by_the_next_run_of_either_engine(spark, filled, copies, tmp_path):
    """The driver is killed after it has written the candidates, after it has written tombstones,
    before it removes these, before it reports the sweep, and before it removes old runs.
    """
    with mark(filled, tmp_path, SparkEngine(spark, tasks=2)) as run:
        dead = addresses(run.due())
        assert len(dead) == OBJECTS
        copies.make()
        copies.after(Fence, "begin_round")
        copies.before(Fence, "end_round")
        copies.before(RunFiles, "write_summary", lambda _, summary: summary.state == "swept")
        copies.before(RunFiles, "remove_old_runs")
        assert run.sweep().swept.objects == OBJECTS
    time.sleep(1.1)  # ids of runs within a second are not ordered
    found = []
    for number, root in enumerate(copies.taken()):
        engine = SparkEngine(spark, tasks=2) if number == 1 else None
        with anabranch.open(root) as lake:
            left = dead & stored(lake, "local://sea")
            with mark(lake, root, engine) as run:
                assert addresses(run.due()) == left
                summary = run.sweep()
            assert (summary.swept.objects, summary.missing.objects) == (len(left), 0)
            assert summary.state == "swept"
            assert not dead & stored(lake, "local://sea")
            assert contents(lake) == CONTENTS
        found.append(len(left))
    assert len(found) == 5
    # after a crash the store's journal may bring back small objects that a task has removed
    assert found[:2] == [OBJECTS, OBJECTS]


@pytest.mark.slow
def test_image_is_built_again_after_its_tables_were_written(spark, filled, copies):
    text = "ADD lakefs://sea/main moved/"
    copies.after(images._OverlayWriter, "write")
    image = anabranch.spark.build_image(spark, filled, "v1", text)
    (root,) = copies.taken()
    with anabranch.open(root) as lake:
        with pytest.raises(NotFound):
            lake.images.get("v1")
        assert anabranch.spark.build_image(spark, lake, "v1", text).plan == image.plan
