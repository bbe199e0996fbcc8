"""A bucket with a lake and with a server over it."""

from __future__ import annotations

import uuid

import pytest

import anabranch.spark
from anabranch.testing.server import running_server

from .unstored_listings import create_repository, lake_over, listing_at


@pytest.fixture(scope="module")
def listing(spark):
    return listing_at(spark, "s3://elsewhere")


@pytest.fixture
def lake(s3_service, bucket, tmp_path):
    """A lake in the bucket with the repository `sea`."""
    with lake_over(s3_service.blocks(), f"s3://{bucket}", tmp_path) as lake:
        yield lake


@pytest.fixture(scope="module")
def bucket(s3_service):
    name = f"tasks-{uuid.uuid4().hex[:12]}"
    s3_service.make_bucket(name)
    return name


@pytest.fixture(scope="module")
def store(s3_service):
    return s3_service.task_store()


@pytest.fixture(scope="module")
def served(s3_service, tmp_path_factory):
    """A server with the bucket as its store, for Spark."""
    folder = tmp_path_factory.mktemp("lake")
    with running_server(folder, env=s3_service.settings) as server:
        yield anabranch.spark.Server(server.url, *server.auth)


@pytest.fixture
def repository(served, bucket):
    """A new repository of that server, as an object of the package `lakefs`."""
    return create_repository(served, f"s3://{bucket}")
