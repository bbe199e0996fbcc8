"""A sweep by Spark executors in separate processes, under attack by a campaign.

The driver runs in a separate process too, because tests share another Spark session, and a process
can have only one.

    summary = attacked_sweep(AttackedSweep(...))
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from anabranch import _kernel as kernel
from anabranch.blocks.cache.table_cache import TableCache
from anabranch.blocks.local.store import LocalBlocks
from anabranch.pipelines.garbage.collector import Collector
from anabranch.pipelines.garbage.installations.served import ServedInstallation
from anabranch.pipelines.garbage.reports.summary import Summary
from anabranch.versioning.identifiers import Identifiers
from support.attacks.campaign import Campaign
from support.attacks.strikes import AttackedCalls, AttackedStore, Strikes
from support.attacks.target import Target, Victim
from support.services.spark import spark_session

__all__ = ["AttackedSweep", "attacked_sweep"]

_EXECUTORS = "local-cluster[2,1,512]"
"""Two executors of one core and 512 MiB each; master and workers are in the driver's process."""

_CACHE_BYTES = 1 << 30
_TIMEOUT_SECONDS = 300
_NO_WAIT = -5.0
"""The grace period and the restore window, in seconds, with which every candidate is due."""


class AttackedSweep(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of a sweep of the target's repository `sea`, with the store in `root`. The
    driver makes all attacks before the first step of each kind; tasks make `by_tasks` attacks
    before each batch. `folder` is for all files. Each of two tasks removes half of `rate` objects a
    second.
    """

    root: str
    folder: str
    strikes: str
    target: Target
    victims: Sequence[Victim]
    by_tasks: int
    rate: float
    round_seconds: float


def attacked_sweep(sweep: AttackedSweep) -> Summary:
    """Runs a sweep and returns its summary. Raises AssertionError with its output if it fails."""
    import pyspark

    folder = Path(sweep.folder)
    (folder / "sweep.json").write_bytes(msgspec.json.encode(sweep))
    # a cluster starts executors from SPARK_HOME, which a virtual environment does not set
    environment = {**os.environ, "SPARK_HOME": str(Path(pyspark.__file__).parent)}
    command = [sys.executable, "-m", __name__, str(folder / "sweep.json")]
    done = subprocess.run(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=_TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode(errors="replace")
    return msgspec.json.decode((folder / "summary.json").read_bytes(), type=Summary)


def _run(sweep: AttackedSweep) -> Summary:
    from anabranch.pipelines.garbage.sweeping import sweep as garbage_sweep
    from anabranch.spark.jobs.garbage import SparkEngine
    from anabranch.spark.sources.server_source import Server

    garbage_sweep._ROUND_SECONDS = sweep.round_seconds
    folder = Path(sweep.folder)
    campaign = Campaign(sweep.strikes, sweep.target, sweep.victims)
    strikes = Strikes(1)
    blocks = LocalBlocks(sweep.root)
    tables = TableCache(blocks, folder / "tables", _CACHE_BYTES, verify=kernel.verify_table)
    calls = AttackedCalls(Server(*sweep.target).client, strikes.at)
    installation = ServedInstallation(calls, blocks, tables, Identifiers(time.time))
    collector = Collector(installation, blocks, folder / "gc", clock=time.time)
    store = AttackedStore(sweep.root, campaign._replace(at_once=sweep.by_tasks))
    settings = {"spark.master": _EXECUTORS, "spark.executor.memory": "512m"}
    with spark_session(settings, jars=folder, folder=folder) as session:
        engine = SparkEngine(session, store, tasks=2)
        with collector.mark(
            "sea", grace_seconds=_NO_WAIT, window_seconds=_NO_WAIT, engine=engine
        ) as run:
            strikes.campaign = campaign
            return run.sweep(rate=sweep.rate)


if __name__ == "__main__":
    parameters = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=AttackedSweep)
    summary = msgspec.json.encode(_run(parameters))
    Path(parameters.folder, "summary.json").write_bytes(summary)
