"""`gc --sweep` in a bucket whose store throttles, or whose keys may not delete."""

from __future__ import annotations

import itertools
import time
import uuid

import pytest
from support.faults.forbidding_proxy import ForbiddingProxy
from support.wall_clock import wait_a_second

from anabranch.blocks.cloud.retry_policy import RetryPolicy
from anabranch.errors import Conflict
from anabranch.keyvalue.sqlite.store import SQLiteStore
from anabranch.library import DATABASE_FILE, Lake
from anabranch.versioning.garbage.sweeps import CLOCK_SKEW_SECONDS, LEASE_SECONDS

SLOW_DOWN = (
    b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
)


@pytest.fixture
def lake(emulated_s3, tmp_path):
    """Returns what opens the lake, with a clock that is ahead; it has one dead object."""
    bucket = f"gc-{uuid.uuid4().hex[:12]}"
    emulated_s3.make_bucket(bucket)
    folder = tmp_path / "data" / "metadata"
    folder.mkdir(parents=True, mode=0o700)

    def opened(ahead=0):
        return Lake(
            SQLiteStore(folder / DATABASE_FILE),
            emulated_s3.blocks(retry_policy=RetryPolicy(retries=0)),
            cache_folder=tmp_path / "cache",
            signing_secret=b"a secret of tests",
            clock=lambda: time.time() + ahead,
        )

    with opened() as lake:
        lake.repositories.create("sea", f"s3://{bucket}/sea")
        old = lake.objects.upload("sea", "main", "a", [b"old"])
        lake.objects.upload("sea", "main", "a", [b"kept"])
    wait_a_second()
    return opened, old


@pytest.fixture
def gc(run, tmp_path, emulated_s3, monkeypatch):
    """Sweeps, by way of a port of the store."""

    def swept(port):
        for name, value in emulated_s3.settings.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("ANABRANCH_BLOCKSTORE_S3_ENDPOINT", f"http://127.0.0.1:{port}")
        words = ("gc", "lakefs://sea", "--data", tmp_path / "data", "--grace=0", "--window=0")
        return run(*words, "--sweep", "--yes")

    return swept


def stage(lake, old):
    entry = old.entry
    lake.staging.stage(
        *("sea", "main", "again"),
        address=old.physical_address,
        checksum=entry.checksum,
        size=entry.size,
    )


def data_objects(lake):
    namespace = lake.repositories.get("sea").storage_namespace
    return sum(1 for _ in lake.blocks.list(f"{namespace}/data/"))


def test_sweep_with_keys_that_cannot_delete_fails(gc, lake, emulated_s3):
    opened, old = lake
    with ForbiddingProxy("s3", emulated_s3.port, {"delete"}) as proxy:
        ran = gc(proxy.port)
    assert ran.code == 1
    assert "answered 403 AccessDenied\nhint:  Allow these credentials to list," in ran.err
    with opened() as now, pytest.raises(Conflict) as refused:
        stage(now, old)
    assert refused.value.kind == "being_removed"
    with opened(LEASE_SECONDS + CLOCK_SKEW_SECONDS + 1) as later:
        assert data_objects(later) == 2
        stage(later, old)
        assert later.objects.open("sea", "main", "again").read_bytes() == b"old"
    assert gc(emulated_s3.port).code == 0
    with opened() as again:
        assert again.objects.open("sea", "main", "again").read_bytes() == b"old"


@pytest.mark.parametrize("times", [2, 10**6])
@pytest.mark.sample(1)
@pytest.mark.slow  # tests/blocks/cloud/test_errors.py
def test_throttled_sweep_is_retried(gc, lake, emulated_s3, monkeypatch, times):
    monkeypatch.setattr("anabranch.pipelines.garbage.sweeping.removal._RETRY_DELAYS", (0.01, 0.01))
    opened, old = lake
    left = itertools.repeat(None, times)

    def answer(environ, start):
        deletes = environ["REQUEST_METHOD"] == "DELETE" or "delete" in environ["QUERY_STRING"]
        if deletes and next(left, 0) is None:
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            start("503 Slow Down", [("Content-Type", "application/xml")])
            return [SLOW_DOWN]
        return emulated_s3.pass_on(environ, start)

    _, _, *others = RetryPolicy.__new__.__defaults__
    monkeypatch.setattr(RetryPolicy.__new__, "__defaults__", (5.0, 1, *others))
    emulated_s3.answer = answer
    try:
        ran = gc(emulated_s3.port)
    finally:
        emulated_s3.answer = None
    with opened(LEASE_SECONDS + CLOCK_SKEW_SECONDS + 1) as later:
        if times < 10:
            assert (ran.code, "Removed 1 object" in ran.out) == (0, True)
            assert data_objects(later) == 1
        else:
            assert ran.code == 1
            assert (
                "answered 503 SlowDown\nhint:  The object store limits the rate of requests"
                in ran.err
            )
            assert data_objects(later) == 2
            stage(later, old)
            assert later.objects.open("sea", "main", "again").read_bytes() == b"old"
