"""Collecting through a server tells and removes what collecting in its database does."""

from __future__ import annotations

import os
import random
import secrets
import time

import msgspec
import pytest

import anabranch
from anabranch.blocks.local import LocalBlocks
from anabranch.errors import Conflict, NotFound
from anabranch.pipelines.garbage.collector import Collector
from anabranch.spark.garbage import served_installation
from anabranch.spark.server import Server
from anabranch.testing.garbage import DAY, addresses, aged, live_at_random, stored
from anabranch.testing.server import running_server
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
    """The same lake as the server's."""
    with anabranch.open(data) as lake:
        for repository in lake.repositories.list(amount=100).items:
            lake.repositories.delete(repository.id)
        namespace = f"local://{secrets.token_hex(4)}"
        lake.repositories.create("sea", namespace)
        lake.repositories.create("land", f"{namespace}-land")
        yield lake


@pytest.fixture
def collect(data, served, tmp_path):
    """Makes a collector that knows the server and its store, and not its database."""

    def made(clock):
        blocks = LocalBlocks(data / "block")
        installation = served_installation(served, blocks, tmp_path)
        return Collector(installation, blocks, tmp_path / "gc", clock=clock)

    return made


@pytest.fixture
def through(collect):
    return collect(time.time)


@pytest.fixture
def here(lake, tmp_path):
    return Collector(lake.core, lake.blocks, tmp_path / "here", clock=time.time)


def namespace_of(lake):
    return lake.repositories.get("sea").storage_namespace


def told(collector):
    time.sleep(1.1)  # runs of one second do not know each other's order
    with collector.mark("sea", **NOW) as run:
        summary = run.summary
        rows = [list(row.values())[:3] for batch in run.candidates() for row in batch.to_pylist()]
    found = {**msgspec.to_builtins(summary.found), "uncommitted": 0}
    return rows, found, summary.listed, summary.due, summary.default_retention_days


@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(30))])
def test_after_any_history_both_tell_the_same(lake, through, here, seed):
    live_at_random(lake, random.Random(seed), steps=80)
    aged(lake, namespace_of(lake))
    local = told(here)
    assert told(through) == local
    assert local[0]
    assert not [
        name
        for name in stored(lake, namespace_of(lake))
        if "gc/commits/" in name or "gc/uncommitted/" in name
    ]


def test_a_sweep_looks_at_the_server_first(lake, through):
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
    there = stored(lake, namespace_of(lake))
    assert {first.address, kept.address, upload.address} <= there
    assert second.address not in there


def test_a_repository_that_is_not_there_or_goes(lake, through):
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
def test_a_server_whose_clock_is_ahead_lets_nothing_go(collect):
    behind = collect(lambda: time.time() - DAY)
    with pytest.raises(Conflict, match="server's clock is 86"):
        behind.mark("sea")


@pytest.mark.parametrize("when", [0, 1_700_000_000, 4_000_000_000, 10_000_000_000])
@pytest.mark.parametrize("off", [-(10**9), 0, 10**9])
def test_a_descending_xid_tells_its_time(when, off):
    xid = Identifiers(lambda: when, os.urandom).descending_xid()
    assert descending_time(xid, when + off) == when
