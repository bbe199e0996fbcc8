"""Tables with files in the areas of another repository: neither a purge of that one nor a
collection takes what a table needs, whether its repository is there or can be restored.
"""

from __future__ import annotations

import pytest
from support.garbage import DAY, put, stored

from anabranch.blocks.memory import MemoryBlocks
from anabranch.catalog.tables.iceberg.changes import Writing
from anabranch.errors import Busy, Conflict, Denied, Invalid, StoreRefused
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake
from anabranch.model.repositories.retention import RetentionRules
from anabranch.model.tables.table_area import Origin
from anabranch.pipelines.garbage.collector import Collector
from anabranch.pipelines.purges.purge import purge_namespace
from anabranch.testing.lake import Clock
from anabranch.testing.stores import FaultyBlocks

from .catalog_requests import served_in_process
from .scenario import WAYS
from .table_engine import Engine, identifier, path_of, read

ORIGIN = Origin("elsewhere/trips/metadata/v1.metadata.json", "data/elsewhere")


class Two:
    """The repositories `sea`, whose files a table of `land` has."""

    def __init__(self, folder, way):
        self.folder, self.clock, self.fault, self.way = folder, Clock(), None, way
        self.lake = Lake(
            MemoryStore(),
            FaultyBlocks(MemoryBlocks(clock=self.clock), self._step),
            cache_folder=folder / "cache",
            signing_secret=b"a secret of tests",
            clock=self.clock,
            undo_days=30,
        )
        self.sea, self.land = self.make("sea"), self.make("land")
        self.sea.create("trips")
        self.files = self.sea.append("trips", [1, 2])
        self.land.create("own")

    def make(self, name):
        lake = self.lake
        lake.repositories.create(name, f"mem://{name}")
        lake.garbage_rules.set(name, RetentionRules(1))
        engine = Engine(lake, name)
        lake.iceberg.namespaces.create(engine.place("main"), ("city",), {}, Writing(committer="me"))
        return engine

    def _step(self, operation, subject):
        if self.fault is not None and operation in {"get", "read"} and self.fault[0] in subject:
            raise self.fault[1]

    def drop_trips(self):
        """Has only tables of `land` need the files of `sea`."""
        self.sea.drop("trips")
        self.clock.advance(40 * DAY)
        put(self.lake, "later")
        self.lake.commits.commit("sea", "main", committer="me", message="m")
        self.clock.advance(40 * DAY)

    def collect(self, name="sea"):
        installation = self.lake.core
        if self.way == "server":
            installation = served_in_process(self.lake, self.folder / "served", self.clock)
        collector = Collector(
            *(installation, self.lake.blocks, self.folder / "gc"), clock=self.clock
        )
        with collector.mark(name, window_seconds=0) as run:
            return run.sweep()

    def purge(self, name="sea"):
        (left,) = [each for each in self.lake.purges.left() if each.repository == name]
        return purge_namespace(
            *(self.lake.core, self.lake.blocks, left, lambda: left),
            advance=lambda _: None,
            clock=self.clock,
        )


@pytest.fixture(params=WAYS)
def two(request, tmp_path):
    two = Two(tmp_path, request.param)
    with two.lake:
        yield two


def committed(two):
    two.land.append("own", files=two.files)


def staged(two):
    two.land.append("own", files=two.files, staged=True)


def in_history(two):
    two.land.append("own", files=two.files)
    two.land.drop("own")


def in_a_deleted_repository(two):
    two.land.append("own", files=two.files)
    two.lake.repositories.delete("land")


@pytest.mark.sample(4)
@pytest.mark.parametrize("refer", [committed, staged, in_history, in_a_deleted_repository])
def test_a_purge_is_refused_while_a_table_needs_the_files(two, refer):
    refer(two)
    two.lake.repositories.delete("sea")
    with pytest.raises(Conflict, match="land") as refused:
        two.purge()
    assert refused.value.kind == "namespace_in_use"
    two.lake.repositories.restore("sea")
    assert all(read(two.lake, "main", "sea").values())
    two.lake.repositories.delete("sea")
    if refer is not in_a_deleted_repository:
        two.lake.repositories.delete("land")
    two.lake.repositories.forget("land")
    assert two.purge().objects > len(two.files)


@pytest.mark.sample(2)
@pytest.mark.parametrize("staged", [False, True])
def test_files_that_a_collection_of_another_repository_removed_are_refused(two, staged):
    two.drop_trips()
    assert two.collect().tables.dead.objects
    with pytest.raises(Conflict) as refused:
        two.land.append("own", files=two.files, staged=staged)
    assert refused.value.kind == "table_file_removed"
    two.land.append("own", [3], staged=staged)


def test_a_collection_keeps_what_a_deleted_repository_has_in_the_areas(two):
    two.land.append("own", files=two.files)
    two.land.append("own", [3])
    two.sea.drop("trips")
    before = read(two.lake, "main", "land")
    two.lake.repositories.delete("land")
    two.clock.advance(20 * DAY)
    two.collect()
    two.lake.repositories.restore("land")
    assert read(two.lake, "main", "land") == before


@pytest.mark.sample(2)
@pytest.mark.parametrize("reused", [False, True])
def test_a_collection_reads_metadata_in_the_areas_of_a_deleted_repository(two, reused):
    """A registered table of `land` has its snapshots in `sea`, and these have files of `land`."""
    own = two.land.append("own", [3, 4])
    two.sea.append("trips", files=own)
    metadata = two.sea.metadata("trips")
    area = two.lake.iceberg.tables.new_area(
        two.land.place("main"), identifier("again"), origin=ORIGIN
    )
    tables = two.lake.iceberg.tables
    metadata = {**metadata, "location": area.location}
    new = tables.new_record(area, metadata, tables.store(area, metadata), registered=True)
    tables.create(two.land.place("main"), identifier("again"), new, Writing(committer="me"))
    two.land.drop("own")
    two.sea.drop("trips")
    before = read(two.lake, "main", "land")
    two.lake.repositories.delete("sea")
    if reused:
        two.lake.repositories.create("sea", "mem://elsewhere")
    two.clock.advance(10 * DAY)
    put(two.lake, "later", repository="land")
    two.lake.commits.commit("land", "main", committer="me", message="m")
    two.clock.advance(10 * DAY)
    assert not two.collect("land").tables.kept_areas
    if reused:
        two.lake.repositories.delete("sea", forget=True)
    two.lake.repositories.restore("sea")
    assert read(two.lake, "main", "land") == before


@pytest.mark.sample(1)
@pytest.mark.parametrize("failing", ["manifests", "record"])
def test_a_store_that_fails_for_a_time_ends_the_collection(two, failing):
    """A file that could not be read may name files in any area."""
    two.land.append("own", files=two.files)
    two.drop_trips()
    before = read(two.lake, "main", "land")
    record = two.lake.objects.stat("land", "main", path_of("own")).physical_address
    two.fault = "m0.avro" if failing == "manifests" else record, Busy("later")
    with pytest.raises(Busy):
        two.collect()
    two.fault = None
    two.collect()
    assert read(two.lake, "main", "land") == before


@pytest.mark.sample(2)
@pytest.mark.parametrize("refusal", [Denied, Invalid, StoreRefused])
def test_a_record_that_the_store_refuses_to_read_keeps_all_areas(two, refusal):
    two.land.append("own", files=two.files)
    two.drop_trips()
    before = read(two.lake, "main", "land")
    record = two.lake.objects.stat("land", "main", path_of("own")).physical_address
    two.fault = record, refusal("not for you")
    (kept,) = two.collect().tables.kept_areas
    assert kept.area == ""
    assert "not for you" in kept.reason
    two.fault = None
    assert read(two.lake, "main", "land") == before


def test_a_record_that_cannot_be_read_keeps_the_areas_of_its_namespace(two):
    """Of a deleted repository, too: another one can have its namespace."""
    two.lake.objects.upload("sea", "main", path_of("bad"), [b"{}"])
    two.sea.drop("trips")
    two.lake.commits.commit("sea", "main", committer="me", message="m")
    before = stored(two.lake, "mem://sea/tables")
    two.lake.repositories.delete("sea")
    two.lake.repositories.create("again", "mem://sea", bare=True)
    two.clock.advance(20 * DAY)
    two.collect("again")
    assert stored(two.lake, "mem://sea/tables") == before
