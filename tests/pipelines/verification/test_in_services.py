"""Verification of an installation in PostgreSQL and a bucket."""

from __future__ import annotations

import uuid
from contextlib import closing

import pytest
from support.verification.used_installation import use_every_feature

from anabranch.keyvalue.contract import Write
from anabranch.keyvalue.postgres.store import PostgresStore
from anabranch.library import Lake
from anabranch.pipelines.verification.verification import Verification
from anabranch.server.config.loader import load_settings
from anabranch.server.installation.verification import open_verification
from anabranch.versioning.records import keys


@pytest.fixture
def lake(postgres_database, s3_service, tmp_path):
    bucket = f"fsck-{uuid.uuid4().hex[:12]}"
    s3_service.make_bucket(bucket)
    with closing(PostgresStore(postgres_database)) as keyvalue:
        lake = Lake(
            keyvalue,
            s3_service.blocks(),
            cache_folder=tmp_path / "cache",
            signing_secret=b"a secret of tests",
            default_committer="ada",
            images_namespace=f"s3://{bucket}/images",
        )
        with lake:
            use_every_feature(lake, tmp_path, f"s3://{bucket}/")
            yield lake


@pytest.fixture
def verify(lake, postgres_database, s3_service, tmp_path):  # noqa: ARG001  it has filled them
    environment = {
        **s3_service.settings,
        "ANABRANCH_DATABASE_TYPE": "postgres",
        "ANABRANCH_DATABASE_POSTGRES_CONNECTION_STRING": postgres_database,
    }
    settings = load_settings({"data": str(tmp_path / "data")}, environment, None).settings

    def verify():
        with open_verification(settings) as installation:
            return Verification(installation.stores, sample=None).run(installation.files)

    return verify


def test_a_sound_installation_has_no_findings(verify):
    report = verify()
    assert report.findings == []
    assert report.objects_read > 60


def test_faults_in_the_bucket_and_the_database_are_found(lake, verify):
    sea = lake.core.repositories.get("sea")
    head = lake.commits.get("sea", "main")
    (first, *_) = lake.core.trees.open(sea, head.metarange_id).ranges()
    table = f"{sea.storage_namespace}/_lakefs/{first.id}"
    content = bytearray(lake.blocks.read(table))
    content[30] ^= 1
    lake.blocks.put(table, [bytes(content)])
    lake.blocks.delete([lake.objects.stat("sea", "main", "other").physical_address])
    upload = lake.uploads.list("sea", amount=10).items[0]
    stored = lake.core.uploads.find(sea, upload.id).upload
    lake.blocks.abort_upload(stored.block, stored.id)
    lake.keyvalue.apply([Write(sea.partition, keys.commit(head.id), None)])
    counts = verify().counts
    assert {"table_damaged", "object_missing", "upload_lost", "commit_missing"} <= counts.keys()


def test_an_upload_that_only_the_store_has_completed_is_no_finding(lake, verify):
    """As between the two steps of a completion, and after a crash there."""
    sea = lake.core.repositories.get("sea")
    begun = lake.uploads.create("sea", "main", "half")
    part = lake.uploads.put_part("sea", "main", "half", begun.id, 1, [b"p" * 1000])
    stored = lake.core.uploads.find(sea, begun.id).upload
    lake.blocks.complete_upload(stored.block, stored.id, [(1, part.checksum)])
    assert verify().findings == []
