"""Attacks on sweeps through the database and through a server: before each step of a sweep, every
operation that creates a reference is requested from a server process. Objects that were readable
afterwards are read again after the sweep, and after another one.

`tests/spark/garbage/test_garbage_attacks.py` makes the attacks while Spark executors sweep.
"""

from __future__ import annotations

import random
import time

import pytest
from support.attacks.attacks import ATTACKS
from support.attacks.campaign import REFUSALS, Campaign, make_victims
from support.attacks.strikes import AttackedCalls, Strikes, WatchedBlocks
from support.attacks.target import Target
from support.garbage import aged

import anabranch
from anabranch import _kernel as kernel
from anabranch.blocks.cache.table_cache import TableCache
from anabranch.pipelines.garbage.collector import Collector
from anabranch.pipelines.garbage.installations.served import ServedInstallation
from anabranch.pipelines.garbage.sweeping import sweep
from anabranch.spark.sources.server_source import Server
from anabranch.testing.server import running_server
from anabranch.testing.stores import FaultyStore
from anabranch.versioning.core import Core
from anabranch.versioning.identifiers import Identifiers

HOUR = 3600
BATCH = 150


def settings(data):
    """Settings of a server that can import from its own store."""
    return {
        "ANABRANCH_BLOCKSTORE_LOCAL_IMPORT_ENABLED": "true",
        "ANABRANCH_BLOCKSTORE_LOCAL_ALLOWED_EXTERNAL_PREFIXES": str(data / "block"),
    }


def local_collector(_, lake, blocks, strikes, folder, clock):
    """A collector with access to the database."""
    store = FaultyStore(lake.keyvalue, strikes.at_operation)
    tables = TableCache(blocks, folder / "tables", 1 << 30, verify=kernel.verify_table)
    return Collector(Core(store, tables, clock=clock), blocks, folder, clock=clock)


def served_collector(served, _, blocks, strikes, folder, clock):
    """A collector with access to the server only."""
    tables = TableCache(blocks, folder / "tables", 1 << 30, verify=kernel.verify_table)
    calls = AttackedCalls(Server(*served).client, strikes.at)
    installation = ServedInstallation(calls, blocks, tables, Identifiers(clock))
    return Collector(installation, blocks, folder, clock=clock)


ENGINES = {"local": local_collector, "served": served_collector}


def attacked(engine, folder, limit, strikes, ahead=0):
    """Runs a sweep under a number of strikes, at most `limit` before each kind of step, by a
    collector whose clock is `ahead` of the server's by a number of seconds. Returns the campaign,
    and the attempts that were lost after this sweep or another one.
    """
    # all objects are young by a clock that is behind
    due = {"grace_seconds": -5 + min(0, ahead), "window_seconds": -5}
    data, strikes_folder = folder / "data", folder / "strikes"
    strikes_folder.mkdir()
    blocks = WatchedBlocks(data / "block")
    with (
        running_server(data, env=settings(data)) as server,
        anabranch.open(data) as lake,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(sweep, "BATCH_SIZE", BATCH)
        served = Target(server.url, *server.auth)
        victims = make_victims(lake, served, strikes * len(ATTACKS))
        random.Random(0).shuffle(victims)
        aged(lake, "local://sea")
        hooks = Strikes(limit)
        blocks.before = hooks.at
        collector = ENGINES[engine](
            *(served, lake, blocks, hooks, folder / "gc"), lambda: time.time() + ahead
        )
        campaign = Campaign(str(strikes_folder), served, victims)
        with collector.mark("sea", **due) as run:
            hooks.campaign = campaign
            summary = run.sweep()
            hooks.campaign = None
        lost = campaign.lost()
        with collector.mark("sea", **due) as run:
            run.sweep()
        lost += campaign.lost()
        assert lake.core.sweeps.running()[0] == []
        # only pins of references remain, whose names have an empty user
        assert all(b"//" in key for key, _ in lake.keyvalue.scan("anabranch-pins"))
    assert summary.state == "swept"
    assert summary.swept.objects
    return campaign, lost


def wide(engine):
    return pytest.param((engine, 6, 30), id=f"{engine}-wide", marks=pytest.mark.slow)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(("served", 1, 7), id="served"),
        # a collector in the same process is also attacked ahead of each step, in `fence`
        pytest.param(("local", 1, 7), id="local", marks=pytest.mark.slow),
        *map(wide, ENGINES),
    ],
)
def campaign(request, tmp_path_factory):
    """A campaign with all attacks before the first step of each kind, or before several."""
    engine, limit, strikes = request.param
    return attacked(engine, tmp_path_factory.mktemp(engine), limit, strikes)


@pytest.mark.slow
def test_nothing_is_lost(campaign):
    campaign, lost = campaign
    assert lost == []
    attempts = campaign.attempts()
    assert [a.refusal for a in attempts if a.refusal.startswith("unexpected")] == []
    assert "removal" in {attempt.step for attempt in attempts}
    assert {attempt.refusal for attempt in attempts} >= {"", *REFUSALS}


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_attack(campaign, attack):
    campaign, lost = campaign
    assert [attempt for attempt in lost if attempt.attack == attack.__name__] == []
    attempts = campaign.attempts(attack.__name__)
    assert len({attempt.step for attempt in attempts}) > 3
    assert any(attempt.place for attempt in attempts)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["served", "local"])
@pytest.mark.parametrize("ahead", [60 - HOUR, HOUR])
def test_no_reference_is_lost_if_clocks_differ_by_an_hour(tmp_path, engine, ahead):
    campaign, lost = attacked(engine, tmp_path, limit=1, strikes=7, ahead=ahead)
    assert lost == []
    attempts = campaign.attempts()
    assert [a.refusal for a in attempts if a.refusal.startswith("unexpected")] == []
    assert {attempt.refusal for attempt in attempts} >= {"", *REFUSALS}
