"""The attacks of `tests/pipelines/garbage/sweeping/test_attacks.py` on a sweep by Spark executors,
which are separate processes (`local-cluster`). They happen before requests of the driver, and in
tasks before each batch that is removed.
"""

from __future__ import annotations

import random
import shutil
import time

import pytest
from support.attacks.attacks import ATTACKS
from support.attacks.campaign import REFUSALS, Campaign, make_victims
from support.attacks.spark_run import AttackedSweep, attacked_sweep
from support.attacks.target import Target
from support.garbage import aged

import anabranch
from anabranch.pipelines.garbage.collector import Collector
from anabranch.testing.server import running_server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

NOW = {"grace_seconds": -5, "window_seconds": -5}


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    """A campaign, its summary, and the attempts that were lost after the sweep and another one."""
    if not shutil.which("java"):
        pytest.skip("Spark needs Java")
    strikes, by_tasks = 30, 51
    folder = tmp_path_factory.mktemp("attacked")
    data = folder / "data"
    for name in ("spark", "strikes"):
        (folder / name).mkdir()
    settings = {
        "ANABRANCH_BLOCKSTORE_LOCAL_IMPORT_ENABLED": "true",
        "ANABRANCH_BLOCKSTORE_LOCAL_ALLOWED_EXTERNAL_PREFIXES": str(data / "block"),
    }
    with running_server(data, env=settings) as server, anabranch.open(data) as lake:
        target = Target(server.url, *server.auth)
        victims = make_victims(lake, target, strikes * len(ATTACKS))
        random.Random(0).shuffle(victims)
        aged(lake, "local://sea")
        campaign = Campaign(str(folder / "strikes"), target, victims)
        summary = attacked_sweep(
            AttackedSweep(
                root=str(data / "block"),
                folder=str(folder / "spark"),
                strikes=campaign.folder,
                target=target,
                victims=victims,
                by_tasks=by_tasks,
                rate=100,
                round_seconds=3,
            )
        )
        lost = campaign.lost()
        time.sleep(1.1)  # ids of runs within a second are not ordered
        collector = Collector(lake.core, lake.blocks, folder / "gc", clock=time.time)
        with collector.mark("sea", **NOW) as run:
            run.sweep()
        lost += campaign.lost()
        assert lake.core.sweeps.running()[0] == []
        # only pins of references remain, whose names have no user
        assert all(b"//" in key for key, _ in lake.keyvalue.scan("anabranch-pins"))
    return campaign, summary, lost


def test_attacks_on_a_sweep_lose_no_objects(campaign):
    campaign, summary, lost = campaign
    assert lost == []
    assert summary.state == "swept"
    assert summary.swept.objects
    assert summary.revived
    attempts = campaign.attempts()
    assert [a.refusal for a in attempts if a.refusal.startswith("unexpected")] == []
    steps = {attempt.step for attempt in attempts}
    assert {f"removal by executor {number}" for number in range(2)} <= steps
    assert {attempt.refusal for attempt in attempts} >= {"", *REFUSALS}


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_each_attack_happens_and_loses_no_objects(campaign, attack):
    campaign, _, lost = campaign
    assert [attempt for attempt in lost if attempt.attack == attack.__name__] == []
    attempts = campaign.attempts(attack.__name__)
    assert any(attempt.place for attempt in attempts)
    assert any(attempt.step.startswith("removal by executor") for attempt in attempts)
