"""Sweeps through a server process where the server or the collector is killed."""

from __future__ import annotations

import hashlib
import os
import signal
import time

import pytest
from support.attacks.strikes import AttackedCalls
from support.attacks.target import Refused, Target
from support.garbage import aged

import anabranch
from anabranch import _kernel as kernel
from anabranch.blocks.cache.table_cache import TableCache
from anabranch.blocks.local.store import LocalBlocks
from anabranch.client.retry_policy import NO_RETRIES
from anabranch.errors import Busy
from anabranch.keyvalue.sqlite.store import SQLiteStore
from anabranch.library import DATABASE_FILE, Lake
from anabranch.model.repositories.retention import RetentionRules
from anabranch.pipelines.garbage.collector import Collector
from anabranch.pipelines.garbage.installations.served import ServedInstallation
from anabranch.spark.sources.server_source import Server
from anabranch.testing.server import running_server
from anabranch.versioning.garbage.sweeps import CLOCK_SKEW_SECONDS, LEASE_SECONDS
from anabranch.versioning.identifiers import Identifiers

NOW = {"grace_seconds": -5, "window_seconds": -5}
EXPIRY = LEASE_SECONDS + CLOCK_SKEW_SECONDS + 1
CHECKSUM = hashlib.md5(b"old", usedforsecurity=False).hexdigest()


@pytest.fixture
def data(tmp_path):
    """A lake's folder, the address of an object that is due for removal, and the expired commit
    that has it.
    """
    data = tmp_path / "data"
    with anabranch.open(data) as lake:
        lake.repositories.create("sea", "local://sea")
        lake.garbage_rules.set("sea", RetentionRules(1))
        stats, commits = [], []
        for number, body in enumerate((b"old", b"kept")):
            stats.append(lake.objects.upload("sea", "main", "a", [body]))
            options = {"committer": "me", "message": "m", "date": 1_600_000_000 + number}
            commits.append(lake.commits.commit("sea", "main", **options).id)
        aged(lake, "local://sea")
    return data, stats[0].physical_address, commits[0]


def open_installation(server, data, folder, before=lambda _: None):
    blocks = LocalBlocks(data / "block")
    tables = TableCache(blocks, folder / "tables", 1 << 30, verify=kernel.verify_table)
    client = Server(server.url, *server.auth, retries=NO_RETRIES).client
    calls = AttackedCalls(client, before)
    return ServedInstallation(calls, blocks, tables, Identifiers(time.time)), blocks


def require_forbidden(server, dead, expired):
    """Requires that neither the object nor the commit can be referenced."""
    target = Target(server.url, *server.auth)
    body = {"physical_address": dead, "checksum": CHECKSUM, "size_bytes": 3}
    requests = (
        ("PUT", "/repositories/sea/branches/main/objects", body, {"path": "again"}),
        ("POST", "/repositories/sea/tags", {"id": "v1", "ref": expired}, {}),
    )
    kinds = []
    for method, path, content, query in requests:
        with pytest.raises(Refused) as refused:
            target.call(method, path, content, **query)
        assert (refused.value.status, bool(refused.value.hint)) == (409, True)
        kinds.append(refused.value.kind)
    assert kinds == ["being_removed", "commit_expired"]


def require_allowed_later(data, folder, dead, expired):
    """Requires that both can be referenced after the lease has expired, and are kept then."""
    with Lake(
        SQLiteStore(data / "metadata" / DATABASE_FILE),
        LocalBlocks(data / "block"),
        cache_folder=folder / "cache",
        signing_secret=b"a secret of tests",
        clock=lambda: time.time() + EXPIRY,
    ) as lake:
        lake.staging.stage("sea", "main", "again", address=dead, checksum=CHECKSUM, size=3)
        lake.tags.create("sea", "v1", expired)
        collector = Collector(lake.core, lake.blocks, folder / "later", clock=time.time)
        with collector.mark("sea", **NOW) as run:
            assert run.sweep().missing.objects == 0
        for reference, path in (("main", "again"), ("v1", "a")):
            assert lake.objects.open("sea", reference, path).read_bytes() == b"old"
        assert lake.core.sweeps.running()[0] == []


def test_server_killed_between_tombstones_and_removal_loses_no_referenced_object(data, tmp_path):
    data, dead, expired = data
    steps = []

    def before(step):
        if "POST tombstones" in steps and server.process.poll() is None:
            os.kill(server.pid, signal.SIGKILL)
            server.process.wait()
        steps.append(step)

    with running_server(data) as server:
        installation, blocks = open_installation(server, data, tmp_path / "gc", before)
        collector = Collector(installation, blocks, tmp_path / "gc", clock=time.time)
        with collector.mark("sea", **NOW) as run:
            assert run.summary.due.objects == 1
            with pytest.raises(Busy):
                run.sweep()
            assert (run.summary.state, run.summary.swept.objects) == ("failed", 0)
    assert blocks.read(blocks.unqualify(dead)) == b"old"
    with running_server(data) as server:
        require_forbidden(server, dead, expired)
    require_allowed_later(data, tmp_path, dead, expired)


@pytest.mark.slow
def test_addresses_of_a_killed_collector_can_be_staged_after_its_lease(data, tmp_path):
    data, dead, expired = data
    with running_server(data) as server:
        installation, blocks = open_installation(server, data, tmp_path / "gc")
        scenario, killed = installation.repository("sea"), installation.run_id()
        sweep = installation.sweep(scenario, killed)
        sweep.begin()
        sweep.add_tombstones([blocks.unqualify(dead)])
        require_forbidden(server, dead, expired)
    require_allowed_later(data, tmp_path, dead, expired)
