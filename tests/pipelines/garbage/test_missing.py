"""Missing objects: which are reported, and with which references."""

from __future__ import annotations

import json
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.garbage import DAY, commit, live_at_random, memory_lake, put, stored

from anabranch.access.actors.actor import Actor
from anabranch.access.policies.statements import ALLOW_ALL
from anabranch.model.lakefile.parser import parse_lakefile
from anabranch.model.repositories.retention import RetentionRules
from anabranch.pipelines.garbage.collector import Collector
from anabranch.pipelines.garbage.marking.missing import MISSING
from anabranch.pipelines.garbage.reports.page import render_page
from anabranch.pipelines.images.assemble import ImageRequest
from anabranch.testing.lake import Clock

ADMIN = Actor(username="admin", statements=(ALLOW_ALL,))
HOUR = 3600


def lose(lake, *addresses):
    lake.blocks.delete([f"mem://sea/{address}" for address in addresses])


def check(collector, **options):
    with collector.mark("sea", **options) as run:
        return run.summary.missing


def needs(missing):
    """Returns the references to missing objects as repository, path, address and names."""
    return {
        (reference.repository, reference.path, reference.address, *sorted(reference.references))
        for reference in missing.shown
    }


def test_missing_object_of_commits_is_reported_with_its_needs(lake, clock, collector):
    lost, kept = put(lake, "a"), put(lake, "b")
    first = commit(lake)
    lake.tags.create("sea", "v1", "main")
    put(lake, "c")
    second = commit(lake)
    lake.branches.create("sea", "dev", "main")
    clock.advance(2 * HOUR)
    assert check(collector).objects == 0
    lose(lake, lost)
    with collector.mark("sea") as run:
        missing = run.summary.missing
        page = render_page(run.summary).decode()
    assert (missing.objects, missing.references, missing.checked) == (1, 1, "all")
    assert needs(missing) == {("sea", "a", lost, "branch dev", "branch main", "tag v1")}
    assert missing.shown[0].commit in {first.id, second.id}
    assert missing.shown[0].commits == 2
    assert lost in page
    assert kept not in page
    table = pq.read_table(pa.BufferReader(lake.blocks.read(missing.location)))
    assert table.schema.equals(MISSING)
    assert table.column("address").to_pylist() == [lost]
    location = missing.location.replace("missing.parquet", "summary.json")
    assert json.loads(lake.blocks.read(location))["missing"]["shown"][0]["path"] == "a"


def test_missing_staged_object_is_reported_with_its_branch(lake, clock, collector):
    lost = put(lake, "a")
    clock.advance(2 * HOUR)
    lose(lake, lost)
    assert needs(check(collector)) == {("sea", "a", lost, "staged on main")}
    lake.objects.delete("sea", "main", "a")
    assert check(collector).objects == 0


def test_missing_object_needed_by_another_repository_and_an_image_is_reported(
    lake, clock, collector
):
    lake.garbage_rules.set("sea", RetentionRules(1))
    lost = put(lake, "in/a")
    commit(lake)
    text = "FROM scratch\nADD lakefs://sea/main/in/ x/\n"
    request = ImageRequest(tag="v1", lakefile=parse_lakefile(text), text=text, creator="jane")
    lake.builds.build(request, ADMIN, wait_seconds=120)
    lake.repositories.create("land", "mem://land")
    entry = lake.objects.stat("sea", "main", "in/a").entry
    lake.staging.stage(
        *("land", "main", "b"),
        address=f"mem://sea/{lost}",
        checksum=entry.checksum,
        size=entry.size,
    )
    lake.objects.delete("sea", "main", "in/a")
    commit(lake)
    clock.advance(3 * DAY)
    lose(lake, lost)
    found = needs(check(collector))
    assert ("land", "b", lost, "staged on main") in found
    (image,) = [row for row in found if row[0] != "land"]
    assert image[:3] == ("image", "x/a", lost)
    assert "tag v1" in image[3:]


def test_removed_object_without_active_references_is_not_missing(lake, clock, collector):
    lake.garbage_rules.set("sea", RetentionRules(1))
    lost = put(lake, "a")
    commit(lake)
    lake.objects.delete("sea", "main", "a")
    commit(lake)
    clock.advance(DAY - HOUR)
    lose(lake, lost)
    assert check(collector).objects == 1
    clock.advance(2 * DAY)
    assert check(collector).objects == 0


def test_addresses_outside_of_the_namespace_are_not_missing(lake, clock, collector):
    for path, address in (("a", "mem://sea/data/readme.txt"), ("b", "mem://other/x")):
        lake.staging.stage("sea", "main", path, address=address, checksum="0" * 32, size=1)
    clock.advance(DAY)
    assert check(collector).objects == 0


def test_unfinished_multipart_upload_is_not_missing(lake, clock, collector):
    upload = lake.uploads.create("sea", "main", "big")
    clock.advance(3 * DAY)
    assert f"{upload.address}" not in stored(lake, "mem://sea")
    assert check(collector).objects == 0


@pytest.mark.parametrize("seconds", [0, 3 * DAY])
def test_object_stored_after_the_listing_is_not_missing(lake, clock, collector, seconds):
    """This includes old addresses, such as that of a multipart upload that is completed now."""
    address = lake.staging.new_address("sea", "main", "a")
    clock.advance(seconds)
    real = lake.blocks.list

    def list_then_store(prefix, *rest):
        found = list(real(prefix, *rest))
        if prefix.endswith("/data/"):
            lake.blocks.put(address, [b"1"])
            lake.staging.stage("sea", "main", "a", address=address, checksum="0" * 32, size=1)
            put(lake, "b")
            commit(lake)
        return iter(found)

    lake.blocks.list = list_then_store
    missing = check(collector)
    lake.blocks.list = real
    assert lake.objects.stat("sea", "main", "a").entry.size == 1
    assert (missing.objects, missing.checked) == (0, "all")


def test_missing_address_generated_in_the_last_hour_is_not_reported(lake, clock, collector):
    lost = put(lake, "a")
    lose(lake, lost)
    clock.advance(HOUR)
    assert check(collector).objects == 0
    clock.advance(60)
    assert check(collector).objects == 1


def test_check_only_writes_no_candidates_and_removes_nothing(lake, clock, collector):
    put(lake, "a"), put(lake, "a")
    lost = put(lake, "b")
    clock.advance(2 * DAY)
    lose(lake, lost)
    before = {name for name in stored(lake, "mem://sea") if name.startswith("data/")}
    with collector.mark("sea", check_only=True, window_seconds=0) as run:
        summary = run.summary
    assert (summary.state, summary.missing.objects, summary.candidates.objects) == ("checked", 1, 0)
    after = stored(lake, "mem://sea")
    assert {name for name in after if name.startswith("data/")} == before
    names = {name.rsplit("/", 1)[1] for name in after if "gc/anabranch/" in name}
    assert names == {"summary.json", "report.html", "missing.parquet"}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.sample(3)
def test_missing_objects_of_random_lakes_are_exactly_the_deleted_ones(tmp_path, seed):
    clock, chance = Clock(), random.Random(seed)
    with memory_lake(tmp_path, clock) as lake:
        lake.repositories.create("sea", "mem://sea")
        lake.repositories.create("land", "mem://land")
        live_at_random(lake, chance, 60)
        clock.advance(2 * DAY)
        # partitions so small that there are several
        collector = Collector(
            lake.core, lake.blocks, tmp_path / "gc", clock=clock, partition_hashes=5
        )
        with collector.mark("sea", window_seconds=0) as run:
            assert (run.summary.missing.objects, run.summary.missing.checked) == (0, "all")
            run.sweep()
        reachable = sorted(name for name in stored(lake, "mem://sea") if name.startswith("data/"))
        lost = set(chance.sample(reachable, len(reachable) // 2))
        lose(lake, *lost)
        missing = check(collector, check_only=True)
        assert {reference.address for reference in missing.shown} == lost
