"""Imports by tasks into a bucket, of a lake."""

from __future__ import annotations

import time
import uuid

import pytest

import anabranch.spark
from anabranch.errors import NotSupported
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake
from anabranch.model.imports import ImportSource
from anabranch.pipelines.imports.commit_import import ImportRequest

from .unstored_listings import import_locally, import_unverified

pytestmark = pytest.mark.timeout(600)


@pytest.mark.slow  # test_server.py imports to one
def test_import_to_a_lake_in_a_bucket(spark, lake, listing, s3_service, bucket, store, tmp_path):
    with Lake(
        MemoryStore(), s3_service.blocks(), cache_folder=tmp_path / "cache", signing_secret=b"s"
    ) as remote:
        remote.repositories.create("land", f"s3://{bucket}/land")
        with pytest.raises(NotSupported, match="need access to the store") as refused:
            import_unverified(remote, "land", "main", listing)
        assert "S3Store" in refused.value.hint
        for part in (listing, listing.where("size < 50")):  # to an empty branch, and to a commit
            options = {"destination": "in", "committer": "me", "message": "m"}
            result = import_unverified(remote, "land", "main", part, store=store, **options)
            assert result.commit.metarange_id == import_locally(lake, part, **options).metarange_id
        objects = anabranch.spark.objects(spark, remote, "land", "main", store=store)
        assert objects.count() == 50


def test_import_of_a_prefix_of_a_bucket(spark, s3_service, bucket, store, tmp_path):
    names = [f"day={number % 5:02}/{number}.csv" for number in range(10)]
    names += ["top", "day=7/x", "ä b+%/\N{SNOWMAN}"]
    with Lake(
        MemoryStore(), s3_service.blocks(), cache_folder=tmp_path / "cache", signing_secret=b"s"
    ) as remote:
        root = f"s3://{bucket}/with space/{uuid.uuid4().hex}/"
        for name in names:
            remote.blocks.put(root + name, [name.encode()])
        remote.repositories.create("land", f"s3://{bucket}/prefixes")
        remote.branches.create("land", "other", "main")
        with pytest.raises(NotSupported, match="need access to the store"):
            anabranch.spark.prefix_listing(spark, remote, root)
        listing = anabranch.spark.prefix_listing(spark, remote, root, store=store, min_tasks=8)
        assert listing.rdd.getNumPartitions() > 4
        result = import_unverified(*(remote, "land", "main", listing), store=store, destination="x")
        assert result.objects == len(names)
        source = ImportSource(type="common_prefix", path=root, destination="x")
        request = ImportRequest(branch="other", sources=[source], committer="me")
        import_id = remote.imports.start("land", request)
        while not (status := remote.imports.status("land", "other", import_id)).ended:
            time.sleep(0.01)
        assert status.metarange_id == result.commit.metarange_id
        remote.blocks.put(root, [b""])  # a directory marker
        for prefix in (root, f"{root}day=0"):
            listing = anabranch.spark.prefix_listing(
                spark, remote, prefix, store=store, min_tasks=8
            )
            assert listing.count() == sum((root + each).startswith(prefix) for each in names)


@pytest.mark.slow
def test_listing_of_a_prefix_with_most_of_the_objects_has_balanced_tasks(
    spark, lake, bucket, store
):
    names = ["cold/x", *(f"hot/{number:02}.csv" for number in range(59))]
    root = f"s3://{bucket}/skewed/{uuid.uuid4().hex}/"
    for name in names:
        lake.blocks.put(root + name, [b"x"])
    listing = anabranch.spark.prefix_listing(
        spark, lake, root, store=store, objects_per_task=4, min_tasks=4
    )
    assert {row["path"] for row in listing.select("path").collect()} == set(names)
    sizes = listing.selectExpr("spark_partition_id() AS task").groupBy("task").count().collect()
    assert max(row["count"] for row in sizes) <= 16


def test_import_retries_throttled_requests(lake, listing, emulated_s3, tmp_path):
    """The store responds 503 Slow Down to the first request for each method and path."""
    emulated_s3.make_bucket("tasks-throttled")
    throttled = set()

    def throttling(environ, start):
        request = (environ["REQUEST_METHOD"], environ["PATH_INFO"])
        if request in throttled:
            return emulated_s3.pass_on(environ, start)
        throttled.add(request)
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        start("503 Slow Down", [("Content-Type", "application/xml")])
        return [b"<Error><Code>SlowDown</Code></Error>"]

    store = emulated_s3.task_store()
    blocks = emulated_s3.blocks()
    with Lake(
        MemoryStore(), blocks, cache_folder=tmp_path / "cache", signing_secret=b"s"
    ) as remote:
        remote.repositories.create("land", "s3://tasks-throttled/land")
        emulated_s3.answer = throttling
        try:
            result = import_unverified(remote, "land", "main", listing, store=store)
        finally:
            emulated_s3.answer = None
        assert result.commit.metarange_id == import_locally(lake, listing).metarange_id
        assert len([each for each in throttled if each[0] == "PUT"]) >= 2
