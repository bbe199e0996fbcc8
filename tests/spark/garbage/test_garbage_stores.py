"""Garbage collection in a bucket, which tasks open themselves, through a server."""

from __future__ import annotations

import json
import time
import uuid

import lakefs
import pytest
from lakefs.client import Client
from support.garbage import addresses

from anabranch.errors import NotSupported
from anabranch.pipelines.garbage.collector import Collector
from anabranch.pipelines.garbage.run_files import RUNS
from anabranch.spark import Server
from anabranch.spark.jobs.garbage import SparkEngine, served_installation
from anabranch.testing.server import running_server

pytestmark = pytest.mark.timeout(600)

NOW = {"grace_seconds": -60, "window_seconds": -60}


@pytest.fixture
def store(s3_service):
    return s3_service.task_store()


@pytest.fixture
def served(s3_service, tmp_path):
    with running_server(tmp_path / "server", env=s3_service.settings) as server:
        yield (
            Server(server.url, *server.auth),
            Client(
                host=server.url, username=server.access_key_id, password=server.secret_access_key
            ),
        )


def test_spark_collects_a_bucket_through_a_server(spark, s3_service, store, served, tmp_path):
    server, client = served
    name = f"garbage-{uuid.uuid4().hex[:12]}"
    s3_service.make_bucket(name)
    repository = lakefs.Repository("sea", client=client).create(f"s3://{name}/sea")
    main = repository.branch("main")
    for round_ in range(2):
        for number in range(12):
            main.object(f"a/{number}").upload(b"%d %d" % (round_, number))
        if round_ == 0:
            main.commit("first")
            main.object("a/0").upload(b"never committed")
    main.commit("second")
    blocks = s3_service.blocks()
    stem = f"s3://{name}/sea/"
    reachable = {
        stat.physical_address.removeprefix(stem)
        for reference in ("main", "main~1")
        for stat in repository.ref(reference).objects(max_amount=100)
    }
    collector = Collector(
        served_installation(server, blocks, tmp_path / "gc"),
        blocks,
        tmp_path / "gc",
        clock=time.time,
    )
    with pytest.raises(NotSupported, match="need access to the store"):
        collector.mark("sea", engine=SparkEngine(spark))
    with collector.mark("sea", engine=SparkEngine(spark, store, slices=4, tasks=2), **NOW) as run:
        (dead,) = addresses(run.due())
        assert run.summary.listed.objects == 25
        assert dead not in reachable
        assert run.sweep().swept.objects == 1
    assert (run.summary.missing.objects, run.summary.missing.checked) == (0, "all")
    remaining = {block.address.removeprefix(stem) for block in blocks.list(f"{stem}data/")}
    assert remaining == reachable
    run_files = {block.address.rpartition("/")[2] for block in blocks.list(f"{stem}{RUNS}")}
    (part,) = run_files - {"candidates.json", "summary.json", "report.html"}
    assert part.endswith(".parquet")
    assert run.summary.candidates_location.endswith("/candidates/")
    raw = blocks.read(run.summary.candidates_location.replace("candidates/", "summary.json"))
    assert json.loads(raw)["engine"] == "spark"
