"""Imports concurrent with sweeps: the objects of an import's commit exist, even if sweeps run
between reading the rows and the commit, and its new tables are never removed.
"""

from __future__ import annotations

import threading
import time

import pyarrow as pa
import pytest
from support.garbage import addresses, aged, put, stored

from anabranch import _kernel as kernel
from anabranch.blocks.local.store import LocalBlocks
from anabranch.errors import Conflict
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake
from anabranch.model.imports import ImportSource
from anabranch.pipelines.garbage.collector import Collector
from anabranch.pipelines.images.overlay import write_overlay
from anabranch.pipelines.imports.commit_import import ImportRequest
from anabranch.pipelines.imports.listings.import_listing import LakeTarget, ListingRequest
from anabranch.pipelines.imports.listings.local_engine import import_listing
from anabranch.pipelines.imports.listings.row_validation import LISTED
from anabranch.testing.stores import FaultyBlocks, FaultyStore

NOW = {"grace_seconds": -5, "window_seconds": -5}


def no_fault(_operation, _subject):
    """Does nothing before a step."""


class Scenario:
    """Repositories `sea` and `land`, and an object of `sea` that nothing references."""

    def __init__(self, folder):
        self.keyvalue = FaultyStore(MemoryStore(), no_fault)
        blocks = LocalBlocks(
            folder / "blocks", import_enabled=True, external_prefixes=[str(folder / "blocks")]
        )
        self.blocks = FaultyBlocks(blocks, no_fault)
        self.lake = Lake(
            self.keyvalue, self.blocks, cache_folder=folder / "cache", signing_secret=b"secret"
        )
        for name in ("sea", "land"):
            self.lake.repositories.create(name, f"local://{name}")
        put(self.lake, "kept")
        self.lake.commits.commit("sea", "main", message="m", committer="c")
        self.left = put(self.lake, "left", body=b"left")
        self.address = self.lake.objects.stat("sea", "main", "left").physical_address
        self.lake.objects.delete("sea", "main", "left")
        aged(self.lake, "local://sea")
        self.collector = Collector(self.lake.core, self.blocks, folder / "gc", clock=time.time)

    def sweep(self):
        with self.collector.mark("sea", **NOW) as run:
            assert addresses(run.candidates()) == {self.left}
            return run.sweep().swept.objects

    def rows(self, *actions, address=None):
        """Returns a listing of the object, which runs the actions after it was read."""

        def read(_folder):
            row = {"path": "left", "physical_address": address or self.address, "size": 4}
            yield pa.RecordBatch.from_pylist([row], schema=LISTED)
            for action in actions:
                action()

        return read

    def import_listed(self, rows, repository="land"):
        target = LakeTarget(self.lake.core, repository)
        request = ListingRequest(branch="main", verify="none")  # a sample may find it missing
        return import_listing(target, self.blocks, rows, request)

    def import_prefix(self):
        """Imports the data of `sea` into `land` as a server does; returns the error, or ""."""
        source = ImportSource(
            type="common_prefix",
            path=self.address.rpartition("/data/")[0] + "/data/",
            destination="",
        )
        request = ImportRequest(branch="main", sources=[source], committer="c")
        import_id = self.lake.imports.start("land", request)
        deadline = time.monotonic() + 60
        while not (status := self.lake.imports.status("land", "main", import_id)).ended:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return status.error

    @property
    def imported(self):
        return [item.path for item in self.lake.objects.listing("land", "main", amount=9).items]


@pytest.fixture
def scenario(tmp_path):
    scenario = Scenario(tmp_path)
    with scenario.lake:
        yield scenario


def test_row_of_an_object_that_was_swept_meanwhile_raises_conflict(scenario):
    with pytest.raises(Conflict) as refused:
        scenario.import_listed(scenario.rows(scenario.sweep))
    assert refused.value.kind == "swept_meanwhile"
    assert refused.value.hint
    assert scenario.imported == []


def test_row_of_an_object_that_a_sweep_kept_is_imported(scenario):
    kept = scenario.lake.objects.stat("sea", "main", "kept").physical_address
    assert scenario.import_listed(scenario.rows(scenario.sweep, address=kept)).objects == 1


def test_import_with_too_many_objects_to_look_up_after_a_sweep_raises_conflict(
    scenario, monkeypatch
):
    monkeypatch.setattr("anabranch.versioning.garbage.tree_admission._MAX_EXISTENCE_CHECKS", 0)
    kept = scenario.lake.objects.stat("sea", "main", "kept").physical_address
    with pytest.raises(Conflict) as refused:
        scenario.import_listed(scenario.rows(scenario.sweep, address=kept))
    assert refused.value.kind == "swept_meanwhile"
    assert scenario.import_listed(scenario.rows(address=kept)).objects == 1


def test_row_of_an_object_outside_storage_namespaces_is_imported_despite_sweeps(scenario, tmp_path):
    (tmp_path / "blocks" / "raw").write_bytes(b"left")
    rows = scenario.rows(scenario.sweep, address="local://raw")
    assert scenario.import_listed(rows).objects == 1


def test_import_before_a_sweep_keeps_its_objects(scenario):
    with scenario.collector.mark("sea", **NOW) as run:
        assert scenario.import_listed(scenario.rows()).objects == 1
        assert run.sweep().swept.objects == 0
    assert scenario.lake.objects.open("land", "main", "left").read_bytes() == b"left"


def test_import_during_a_sweep_raises_conflict_and_works_after_it(scenario):
    refused = []

    def during(operation, _subject):
        if operation == "delete" and not refused:
            with pytest.raises(Conflict) as error:
                scenario.import_listed(scenario.rows())
            refused.append(error.value.kind)
            refused.append(scenario.import_prefix())

    scenario.blocks.before = during
    assert scenario.sweep() == 1
    assert refused[0] == "sweep_under_way"
    assert "garbage collection is removing objects" in refused[1]
    assert scenario.import_prefix() == ""
    assert len(scenario.imported) == 1


def test_import_of_a_prefix_that_was_swept_meanwhile_fails(scenario):
    swept = []

    def before(operation, subject):
        work = threading.current_thread().name.startswith("import-work")
        if work and operation == "apply" and subject == land.partition and not swept:
            swept.append(0)
            swept.append(scenario.sweep())

    land = scenario.lake.core.repositories.get("land")
    scenario.keyvalue.before = before
    assert "import" in scenario.import_prefix()
    assert swept == [0, 1]
    assert scenario.imported == []


def test_tables_of_an_uncommitted_import_are_never_candidates(scenario):
    lake, core = scenario.lake, scenario.lake.core
    repository = core.repositories.get("sea")
    target = LakeTarget(core, "sea", adopted=True)
    with target.folder() as folder:
        tree = core.trees.open(repository, lake.commits.get("sea", "main").metarange_id)
        columns = pa.RecordBatchReader.from_stream(tree.scan()).read_all()
        (rows,) = columns.to_batches()
        names = pa.array(["new"] * rows.num_rows)
        rows = rows.set_column(rows.schema.get_field_index("path"), "path", names)
        reader = pa.RecordBatchReader.from_batches(rows.schema, [rows])
        written = kernel.write_arrow(reader, folder)
        core.trees.adopt(repository, folder, written)
        kept = {f"_lakefs/{name}" for name in written.tables}
        aged(lake, "local://sea")
        assert kept <= stored(lake, "local://sea")
        assert scenario.sweep() == 1
    assert kept <= stored(lake, "local://sea")


def test_a_sweep_that_was_under_way_when_the_rows_were_read_is_noticed_after_its_end(scenario):
    sweeps = scenario.lake.core.sweeps
    sweeps.begin("s")

    def remove_and_end():
        scenario.blocks.delete([scenario.address])
        sweeps.end("s")

    with pytest.raises(Conflict) as error:
        scenario.import_listed(scenario.rows(remove_and_end))
    assert error.value.kind == "swept_meanwhile"


def test_an_image_of_an_object_that_was_swept_since_it_was_listed_is_not_built(scenario):
    def sweep_and_write(*layers):
        assert scenario.sweep() == 1
        return write_overlay(*layers)

    lakefile = f"ADD {scenario.address} left\n"
    with pytest.raises(Conflict) as error:
        scenario.lake.images.build("v1", lakefile, overlay=sweep_and_write)
    assert error.value.kind == "swept_meanwhile"
