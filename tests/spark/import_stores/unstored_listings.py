"""Listings of objects that are not stored, and their imports."""

from __future__ import annotations

import uuid
from contextlib import contextmanager

import lakefs
from lakefs.client import Client

import anabranch.spark
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake
from anabranch.testing.server import ACCESS_KEY_ID, SECRET_ACCESS_KEY


def listing_at(spark, root):
    """Returns 3,000 rows of objects that are not stored, unsorted, in three partitions."""
    return spark.range(0, 3_000, 1, 3).selectExpr(
        "concat('p', lpad(id % 7, 2, '0'), '/f', lpad(id, 6, '0')) AS path",
        f"concat('{root}/', id) AS physical_address",
        "id AS size",
        "md5(string(id)) AS checksum",
        "timestamp_seconds(1700000000 + id) AS last_modified",
    )


def import_unverified(*listing, **options):
    """Imports a listing without comparing it with the store."""
    return anabranch.spark.import_listing(*listing, **{"verify": "none", **options})


def import_locally(lake, listing, **options):
    """Imports a listing with the local engine and returns the commit."""
    options = {"verify": "none", **options}
    return lake.import_listing("sea", "main", listing.toArrow(), **options).commit


@contextmanager
def lake_over(blocks, root, tmp_path):
    with Lake(
        MemoryStore(), blocks, cache_folder=tmp_path / "sea", signing_secret=b"secret"
    ) as lake:
        lake.repositories.create("sea", f"{root}/{uuid.uuid4().hex}")
        yield lake


def create_repository(served, root):
    client = Client(host=served.url, username=ACCESS_KEY_ID, password=SECRET_ACCESS_KEY)
    name = f"repository-{uuid.uuid4().hex}"
    return lakefs.Repository(name, client=client).create(f"{root}/{name}")
