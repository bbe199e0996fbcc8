"""Tables with files in the areas of another repository: neither a purge of that one nor a
collection takes what a table needs, whether its repository is there or can be restored.
"""

from __future__ import annotations

import pytest
from support.garbage import memory_lake

from anabranch.catalog.tables.iceberg.changes import Writing
from anabranch.errors import Conflict
from anabranch.model.repositories.retention import RetentionRules
from anabranch.pipelines.garbage.collector import Collector
from anabranch.pipelines.purges.purge import purge_namespace
from anabranch.testing.lake import Clock

from .table_engine import Engine, read


class Two:
    """The repositories `sea`, whose files a table of `land` has."""

    def __init__(self, folder):
        self.folder, self.clock = folder, Clock()
        self.lake = memory_lake(folder, self.clock)
        self.sea, self.land = self.make("sea"), self.make("land")
        self.sea.create("trips")
        self.files = self.sea.append("trips", [1, 2])
        self.land.create("own")

    def make(self, name):
        lake = self.lake
        lake.repositories.create(name, f"mem://{name}")
        lake.garbage_rules.set(name, RetentionRules(1))
        lake.operations.set_undo_days(name, 30)
        engine = Engine(lake, name)
        lake.iceberg.namespaces.create(engine.place("main"), ("city",), {}, Writing(committer="me"))
        return engine

    def collect(self, name="sea"):
        collector = Collector(
            *(self.lake.core, self.lake.blocks, self.folder / "gc"), clock=self.clock
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


@pytest.fixture
def two(tmp_path):
    two = Two(tmp_path)
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
