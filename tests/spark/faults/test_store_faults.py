"""Object stores that throttle requests, and credentials that expire, in the middle of jobs."""

from __future__ import annotations

import time
import uuid

import pytest
from support.garbage import addresses
from support.services.s3_service import CREDENTIALS

import anabranch.spark
from anabranch.errors import StoreRefused
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake
from anabranch.pipelines.garbage.collector import Collector
from anabranch.spark.jobs.garbage import SparkEngine

pytestmark = pytest.mark.timeout(1200)

NOW = {"grace_seconds": -60, "window_seconds": -60}
OBJECTS = 12
TASKS = "THEKEYOFTASKS"
"""The access key of tasks, which differs from that of the driver; moto accepts any."""


@pytest.fixture
def store(emulated_s3):
    yield anabranch.spark.S3Store(
        endpoint=emulated_s3.endpoint,
        access_key_id=TASKS,
        secret_access_key=CREDENTIALS.secret.reveal(),
        path_style=True,
    )
    emulated_s3.answer = None


@pytest.fixture
def remote(emulated_s3, tmp_path):
    """A lake in a bucket with a commit, and as many dead objects."""
    bucket = f"faults-{uuid.uuid4().hex}"
    emulated_s3.make_bucket(bucket)
    with Lake(
        MemoryStore(), emulated_s3.blocks(), cache_folder=tmp_path / "c", signing_secret=b"s"
    ) as lake:
        lake.repositories.create("sea", f"s3://{bucket}/sea")
        for _ in range(2):
            for number in range(OBJECTS):
                lake.objects.upload("sea", "main", f"p/{number}", [b"%d" % number])
        lake.commits.commit("sea", "main", message="m", committer="c")
        yield lake


def refusing(emulated_s3, status, code, refuses):
    """Answers the requests of tasks with an error as long as a function tells it to."""
    refused = []

    def answer(environ, start):
        if TASKS not in environ.get("HTTP_AUTHORIZATION", "") or not refuses(len(refused)):
            return emulated_s3.pass_on(environ, start)
        refused.append(environ["REQUEST_METHOD"])
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        start(status, [("Content-Type", "application/xml")])
        return [f"<Error><Code>{code}</Code><Message>later</Message></Error>".encode()]

    emulated_s3.answer = answer
    return refused


def listing_of(spark, lake):
    stats = lake.objects.listing("sea", "main", amount=100).items
    rows = [(x.path, x.physical_address, x.entry.size, x.entry.checksum) for x in stats]
    schema = "path STRING, physical_address STRING, size BIGINT, checksum STRING"
    return spark.createDataFrame(rows, schema)


def import_rows(spark, lake, store, _):
    listing = listing_of(spark, lake)
    done = anabranch.spark.import_listing(
        lake, "sea", "main", listing, store=store, destination="in", verify="all"
    )
    assert done.objects == OBJECTS


def export_objects(spark, lake, store, _):
    done = anabranch.spark.export(
        *(spark, lake, "sea", "main", f"{lake.repositories.get('sea').storage_namespace}-out"),
        store=store,
    )
    assert done.stored == OBJECTS


def collect_garbage(spark, lake, store, folder):
    collector = Collector(lake.core, lake.blocks, folder / "gc", clock=time.time)
    engine = SparkEngine(spark, store, slices=2, tasks=1)
    with collector.mark("sea", engine=engine, **NOW) as run:
        assert len(addresses(run.due())) == OBJECTS
        assert run.sweep().swept.objects == OBJECTS


JOBS = pytest.mark.parametrize(
    "job", [import_rows, export_objects, collect_garbage], ids=lambda job: job.__name__
)


@pytest.mark.slow
def test_tasks_outlast_more_refusals_than_a_servers_requests(spark, emulated_s3, remote, store):
    """Requests of servers are repeated five times."""
    lake = remote
    table = anabranch.spark.objects(spark, lake, "sea", "main", store=store)
    refused = refusing(emulated_s3, "503 Slow Down", "SlowDown", lambda count: count < 6)
    assert table.count() == OBJECTS
    assert len(refused) == 6


@pytest.mark.slow
@JOBS
def test_jobs_outlast_a_store_that_throttles_for_a_minute(
    spark, emulated_s3, remote, store, tmp_path, job
):
    started = time.monotonic()

    def is_busy(_):
        return 1 < time.monotonic() - started < 61

    refused = refusing(emulated_s3, "503 Slow Down", "SlowDown", is_busy)
    job(spark, remote, store, tmp_path)
    assert refused


@JOBS
@pytest.mark.sample(1)
@pytest.mark.slow  # renewed ones are below
def test_expired_credentials_fail_a_job_which_can_be_repeated(
    spark, emulated_s3, remote, store, tmp_path, job
):
    before = remote.branches.get("sea", "main")
    calls = []

    def is_expired(_):
        calls.append(1)
        return len(calls) > 8

    refused = refusing(emulated_s3, "400 Bad Request", "ExpiredToken", is_expired)
    with pytest.raises(StoreRefused) as error:
        job(spark, remote, store, tmp_path)
    assert error.value.kind == "credentials_expired"
    assert "s3://faults-" in error.value.message
    assert "400 ExpiredToken: the credentials have expired" in error.value.message
    assert "Renew the credentials" in error.value.hint
    assert refused
    emulated_s3.answer = None
    assert remote.branches.get("sea", "main") == before
    time.sleep(1.1)  # ids of runs within a second are not ordered
    job(spark, remote, store, tmp_path)


@JOBS
@pytest.mark.sample(1)
def test_jobs_continue_with_the_credentials_that_replace_expired_ones_in_a_file(
    spark, emulated_s3, remote, tmp_path, job
):
    """The file is replaced after the first refusal."""
    file, renewed = tmp_path / "credentials", []

    def write_key(name):
        file.write_text(f"[lake]\naws_access_key_id = {name}\naws_secret_access_key = s\n")

    def is_expired(count):
        if calls.append(1) or len(calls) <= 8:
            return False
        if count == 0:
            write_key("NEWKEY")
            renewed.append(1)
        return True

    calls = []
    write_key(TASKS)
    store = anabranch.spark.S3Store(
        endpoint=emulated_s3.endpoint,
        profile="lake",
        credentials_file=str(file),
        path_style=True,
    )
    refused = refusing(emulated_s3, "400 Bad Request", "ExpiredToken", is_expired)
    try:
        job(spark, remote, store, tmp_path)
    finally:
        emulated_s3.answer = None
    assert renewed
    assert refused


@pytest.mark.slow
def test_an_expired_sweep_removes_nothing_more_and_the_next_one_the_rest(
    spark, emulated_s3, remote, store, tmp_path
):
    """The credentials expire when the first objects are removed."""
    collector = Collector(remote.core, remote.blocks, tmp_path / "gc", clock=time.time)
    removals = []

    def is_expired(_):
        return bool(removals)

    def answer(environ, start):
        if environ["REQUEST_METHOD"] == "POST" and "delete" in environ["QUERY_STRING"]:
            is_first = not removals
            removals.append(environ["REQUEST_METHOD"])
            if is_first:
                return emulated_s3.pass_on(environ, start)
        return refuse(environ, start)

    refusing(emulated_s3, "400 Bad Request", "ExpiredToken", is_expired)
    refuse = emulated_s3.answer
    engine = SparkEngine(spark, store, slices=2, tasks=2)
    with collector.mark("sea", engine=engine, **NOW) as run:
        emulated_s3.answer = answer
        with pytest.raises(StoreRefused) as error:
            run.sweep()
        assert error.value.kind == "credentials_expired"
        assert run.summary.state == "failed"
    emulated_s3.answer = None
    left = OBJECTS - dead_objects_removed(remote)
    assert 0 < left < OBJECTS
    with collector.mark("sea", engine=SparkEngine(spark, store, tasks=1), **NOW) as run:
        assert run.sweep().swept.objects == left
    for number in range(OBJECTS):
        assert remote.objects.open("sea", "main", f"p/{number}").read_bytes() == b"%d" % number


def dead_objects_removed(lake):
    """Returns how many of the objects that were uploaded twice are gone."""
    namespace = lake.repositories.get("sea").storage_namespace
    return 2 * OBJECTS - sum(1 for _ in lake.blocks.list(f"{namespace}/data/"))
