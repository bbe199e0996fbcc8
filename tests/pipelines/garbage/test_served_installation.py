"""Collections through a server, compared with collections through its database."""

from __future__ import annotations

import os
import random
import secrets
import time

import msgspec
import pytest
from support.garbage import DAY, addresses, aged, live_at_random, refer_to_lost, stored

import anabranch
from anabranch.blocks.local.store import LocalBlocks
from anabranch.errors import Conflict, Denied, NotFound
from anabranch.model.repositories.retention import RetentionRules
from anabranch.pipelines.garbage.collector import Collector
from anabranch.spark.jobs.garbage import served_installation
from anabranch.spark.sources.server_source import Server
from anabranch.testing.server import running_server
from anabranch.testing.stores import FaultyBlocks
from anabranch.versioning.identifiers import Identifiers, descending_time

NOW = {"grace_seconds": -5, "window_seconds": -5}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return tmp_path_factory.mktemp("served") / "data"


@pytest.fixture(scope="module")
def served(data):
    with running_server(data) as server:
        yield Server(server.url, *server.auth)


@pytest.fixture
def lake(data, served):  # noqa: ARG001  the server makes it
    """The server's lake, with two new repositories."""
    with anabranch.open(data) as lake:
        for repository in lake.repositories.list(amount=100).items:
            lake.repositories.delete(repository.id, forget=True)
        for each in lake.repositories.deleted():
            lake.repositories.forget(each.repository.id)
        namespace = f"local://{secrets.token_hex(4)}"
        lake.repositories.create("sea", namespace)
        lake.repositories.create("land", f"{namespace}-land")
        yield lake


@pytest.fixture
def collect(data, served, tmp_path):
    """Creates a collector with access to the server and its store, but not to its database."""

    def make(clock):
        blocks = LocalBlocks(data / "block")
        installation = served_installation(served, blocks, tmp_path)
        return Collector(installation, blocks, tmp_path / "gc", clock=clock)

    return make


@pytest.fixture
def through(collect):
    return collect(time.time)


@pytest.fixture
def here(lake, tmp_path):
    return Collector(lake.core, lake.blocks, tmp_path / "here", clock=time.time)


def namespace_of(lake):
    return lake.repositories.get("sea").storage_namespace


def results(collector):
    time.sleep(1.1)  # ids of runs within a second are not ordered
    with collector.mark("sea", **NOW) as run:
        summary = run.summary
        rows = [list(row.values())[:3] for batch in run.candidates() for row in batch.to_pylist()]
    statistics = {**msgspec.to_builtins(summary.found), "uncommitted": 0}
    return rows, statistics, summary.listed, summary.due, summary.default_retention_days


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(30))])
def test_collections_of_random_histories_through_server_and_database_agree(
    lake, through, here, seed
):
    live_at_random(lake, random.Random(seed), steps=80)
    aged(lake, namespace_of(lake))
    local = results(here)
    assert results(through) == local
    assert local[0]
    assert not [
        name
        for name in stored(lake, namespace_of(lake))
        if "gc/commits/" in name or "gc/uncommitted/" in name
    ]


def missing(collector, **options):
    time.sleep(1.1)  # ids of runs within a second are not ordered
    with collector.mark("sea", **options) as run:
        summary = run.summary.missing
    rows = [
        (item.address, item.repository, item.path, sorted(item.references), item.commits)
        for item in summary.shown
    ]
    return sorted(rows), summary.objects, summary.references, summary.checked


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 9))]
)
def test_missing_objects_through_server_and_database_agree(lake, through, here, seed):
    refer_to_lost(lake, namespace_of(lake), random.Random(seed))
    lake.tags.create("sea", "v1", "main")
    lake.garbage_rules.set("sea", RetentionRules(1))
    expected = missing(here)
    assert expected[3] == "all"
    names = {name for row in expected[0] for name in row[3]}
    assert {"branch main", "branch dev", "tag v1"} <= names
    assert names & {"staged on main", "staged on dev"}
    assert missing(through) == expected
    assert missing(through, check_only=True) == expected
    assert not [
        name
        for name in stored(lake, namespace_of(lake))
        if "gc/commits/" in name or "gc/uncommitted/" in name
    ]


class OlderServer:
    """Requests to a server that does not support the parameter `paths`, or refuses it."""

    def __init__(self, calls, refuses):
        self._calls = calls
        self._refuses = refuses

    def __getattr__(self, name):
        return getattr(self._calls, name)

    def change(self, method, *segments, body=None, query=None):
        if query and "paths" in query:
            if self._refuses:
                raise Denied("not for all repositories")
            query = None
        return self._calls.change(method, *segments, body=body, query=query)


@pytest.mark.slow
@pytest.mark.parametrize("refuses", [False, True])
def test_server_without_paths_of_staged_objects_checks_only_commits(
    lake, served, data, tmp_path, refuses
):
    refer_to_lost(lake, namespace_of(lake), random.Random(3))
    served.client, client = OlderServer(served.client, refuses), served.client
    try:
        blocks = LocalBlocks(data / "block")
        installation = served_installation(served, blocks, tmp_path)
        collector = Collector(installation, blocks, tmp_path / "gc", clock=time.time)
        rows, _, _, checked = missing(collector)
    finally:
        served.client = client
    assert checked == "committed"
    assert rows
    assert not [row for row in rows if any(name.startswith("staged") for name in row[3])]
    names = stored(lake, namespace_of(lake))
    assert not [name for name in names if "gc/uncommitted/" in name]


def test_sweep_through_a_server_keeps_an_object_staged_after_marking(lake, through):
    first = lake.objects.upload("sea", "main", "a", [b"1"]).entry
    second = lake.objects.upload("sea", "main", "a", [b"2"]).entry
    kept = lake.objects.upload("sea", "main", "a", [b"3"]).entry
    upload = lake.uploads.create("sea", "main", "big")
    lake.blocks.put(upload.block, [b"1"])
    aged(lake, namespace_of(lake))
    with through.mark("sea", **NOW) as run:
        assert addresses(run.due()) == {first.address, second.address}
        full = f"{namespace_of(lake)}/{first.address}"
        lake.staging.stage("land", "main", "x", address=full, checksum=first.checksum, size=1)
        summary = run.sweep()
    assert (summary.swept.objects, summary.revived) == (1, 1)
    names = stored(lake, namespace_of(lake))
    assert {first.address, kept.address, upload.address} <= names
    assert second.address not in names


@pytest.mark.sample(1)
@pytest.mark.parametrize("served_first", [True, False])
def test_sweeps_through_server_and_database_at_once_count_each_object_once(
    lake, through, here, served_first
):
    for number in range(8):
        lake.objects.upload("sea", "main", "a", [b"%d" % number])
    aged(lake, namespace_of(lake))
    first, second = (through, here) if served_first else (here, through)
    second_run, deletions = second.mark("sea", **NOW), []

    def interrupt(operation, _subject):
        deletions.append(operation)
        if deletions.count("delete") == 3 and second_run.summary.state != "swept":
            second_run.sweep()

    interrupted = Collector(
        first._installation, FaultyBlocks(first._blocks, interrupt), first._folder, clock=time.time
    )
    with second_run, interrupted.mark("sea", **NOW) as first_run:
        deletions.clear()
        one, two = first_run.sweep(), second_run.summary
    assert (one.due.objects, two.due.objects) == (7, 7)
    assert one.swept.objects + two.swept.objects == 7
    assert (one.gone, two.gone) == (two.swept.objects, one.swept.objects)
    assert min(one.swept.objects, two.swept.objects) == 2


def test_missing_or_deleted_repository_raises_not_found(lake, through):
    with pytest.raises(NotFound, match="repository not found"):
        through.mark("nowhere")
    for body in (b"1", b"2"):
        lake.objects.upload("sea", "main", "a", [body])
    aged(lake, namespace_of(lake))
    with through.mark("sea", **NOW) as run:
        lake.repositories.delete("sea")
        with pytest.raises(NotFound):
            run.sweep()


@pytest.mark.usefixtures("lake")
def test_server_with_a_clock_far_ahead_raises_conflict(collect):
    behind = collect(lambda: time.time() - DAY)
    with pytest.raises(Conflict, match="server's clock is 86"):
        behind.mark("sea")


@pytest.mark.sample(3)
@pytest.mark.parametrize("when", [0, 1_700_000_000, 4_000_000_000, 10_000_000_000])
@pytest.mark.parametrize("off", [-(10**9), 0, 10**9])
def test_descending_time_returns_the_time_of_an_xid(when, off):
    xid = Identifiers(lambda: when, os.urandom).descending_xid()
    assert descending_time(xid, when + off) == when
