"""Garbage collection, Anabranch's and lakeFS's, keeps the objects of images."""

from __future__ import annotations

import pytest
from support.faults.image_builds import build_image
from support.garbage import DAY, commit, found, memory_lake, put

from anabranch.model.repositories.retention import RetentionRules
from anabranch.pipelines.garbage.collector import Collector
from anabranch.testing.lake import Clock


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def lake(tmp_path, clock):
    with memory_lake(tmp_path, clock) as lake:
        lake.repositories.create("sea", "mem://sea")
        yield lake


@pytest.fixture
def addresses(lake, clock):
    """The addresses of objects of an expired commit. Images have two of them; one image adds an
    object from the other.
    """
    addresses = {name: put(lake, f"{name}/x") for name in ("one", "two", "lost")}
    source = commit(lake).id
    lake.garbage_rules.set("sea", RetentionRules(5))
    build_image(lake, "v1", f"ADD lakefs://sea/{source}/one/ a\nADD lakefs://sea/main/two/x b")
    build_image(lake, "v2", "ADD lakefs://image:v1/a/ /")
    for name in addresses:
        lake.objects.delete("sea", "main", f"{name}/x")
    clock.advance(10 * DAY)
    commit(lake)
    clock.advance(10 * DAY)
    return addresses


def test_collector_keeps_objects_of_images(lake, addresses, clock, tmp_path):
    collector = Collector(lake.core, lake.blocks, tmp_path / "gc", clock=clock)
    assert found(collector) == {addresses["lost"]}
    lake.images.delete("v1")
    assert found(collector) == {addresses["lost"], addresses["two"]}
    assert lake.objects.open("image", "v2", "x").read_bytes()
    lake.images.delete("v2")
    assert found(collector) == set(addresses.values())


def test_source_at_an_expired_commit_is_a_warning(lake, addresses):
    assert addresses
    source = lake.commits.get("sea", "main~1").id
    put(lake, "new")
    commit(lake)
    lake.tags.create("sea", "now", "main")
    image = build_image(lake, "v3", f"ADD lakefs://sea/{source}/one/ a\nADD lakefs://sea/now/ b")
    assert [(warning.kind, warning.line) for warning in image.plan.remarks] == [("expired", 1)]
    assert "may have removed objects" in image.plan.remarks[0].message


def test_gc_preparation_lists_commits_of_images_as_active(lake, addresses):
    def active():
        prepared = lake.garbage_preparation.commits("sea")
        rows = lake.blocks.read(lake.blocks.unqualify(prepared.commits)).decode().splitlines()[1:]
        return {row.split(",")[0] for row in rows if row.split(",")[1] == "false"}

    assert len(addresses) == 3
    source = lake.commits.get("sea", "main~1").id
    assert source in active()
    lake.images.delete("v1")
    assert source in active()
    lake.images.delete("v2")
    assert source not in active()
