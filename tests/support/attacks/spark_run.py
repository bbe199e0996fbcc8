"""A sweep by executors of Spark, each a process of its own, that a campaign attacks.

It runs in a process of its own: tests share another session of Spark, and a process has one.

    summary = attacked_sweep(AttackedSweep(...), jars=...)
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
"""Two executors of one core and 512 MiB each, and a master and workers in the driver's process."""

_CACHE_BYTES = 1 << 30
_PATIENCE_SECONDS = 300
_DUE = -5.0
"""As the grace period and as the restore window: all is due."""


class AttackedSweep(msgspec.Struct, frozen=True, kw_only=True):
    """What is swept: the repository `sea` of the target, with the store in `root`. The driver makes
    all attacks ahead of the first step of each kind, tasks some ahead of each batch. `folder` takes
    all files; a task removes half of `rate` objects a second.
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
    # a cluster starts executors from where Spark is, and a virtual environment does not say so
    environment = {**os.environ, "SPARK_HOME": str(Path(pyspark.__file__).parent)}
    command = [sys.executable, "-m", __name__, str(folder / "sweep.json")]
    done = subprocess.run(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=_PATIENCE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode(errors="replace")
    return msgspec.json.decode((folder / "summary.json").read_bytes(), type=Summary)


def _run(sweep: AttackedSweep) -> Summary:
    from anabranch.spark.jobs import garbage_sweep
    from anabranch.spark.jobs.garbage import SparkEngine
    from anabranch.spark.sources.server_source import Server

    garbage_sweep._ROUND_SECONDS = sweep.round_seconds
    folder = Path(sweep.folder)
    campaign = Campaign(sweep.strikes, sweep.target, sweep.victims)
    strikes = Strikes(1)
    blocks = LocalBlocks(sweep.root)
    tables = TableCache(blocks, folder / "tables", _CACHE_BYTES, verify=kernel.verify_table)
    calls = AttackedCalls(Server(*sweep.target).calls, strikes.at)
    installation = ServedInstallation(calls, blocks, tables, Identifiers(time.time))
    collector = Collector(installation, blocks, folder / "gc", clock=time.time)
    store = AttackedStore(sweep.root, campaign._replace(at_once=sweep.by_tasks))
    settings = {"spark.master": _EXECUTORS, "spark.executor.memory": "512m"}
    with spark_session(settings, jars=folder, folder=folder) as session:
        engine = SparkEngine(session, store, tasks=2)
        with collector.mark("sea", grace_seconds=_DUE, window_seconds=_DUE, engine=engine) as run:
            strikes.campaign = campaign
            return run.sweep(rate=sweep.rate)


if __name__ == "__main__":
    asked = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=AttackedSweep)
    summary = msgspec.json.encode(_run(asked))
    Path(asked.folder, "summary.json").write_bytes(summary)
