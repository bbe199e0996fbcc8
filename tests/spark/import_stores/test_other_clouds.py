"""Imports by tasks through servers over Google Cloud Storage and Azure Blob Storage."""

from __future__ import annotations

import pytest

import anabranch.spark
from anabranch.testing.server import running_server

from .unstored_listings import (
    create_repository,
    import_locally,
    import_unverified,
    lake_over,
    listing_at,
)

pytestmark = pytest.mark.timeout(600)


@pytest.mark.slow  # a third store; tests/blocks has its listings
def test_import_to_google_cloud_storage(spark, emulated_s3, tmp_path):
    listing = listing_at(spark, "gs://elsewhere")
    store = anabranch.spark.GoogleStore(
        credentials_json=emulated_s3.google.file, endpoint=emulated_s3.endpoint
    )
    emulated_s3.make_bucket("tasks-of-google")
    with running_server(tmp_path, env=emulated_s3.google_settings) as server:
        served = anabranch.spark.Server(server.url, *server.auth)
        repository = create_repository(served, "gs://tasks-of-google")
        result = import_unverified(served, repository.id, "main", listing, store=store).commit
        with lake_over(emulated_s3.gcs_blocks(), "gs://tasks-of-google", tmp_path) as lake:
            assert result.metarange_id == import_locally(lake, listing).metarange_id
        assert len(list(repository.branch("main").objects(max_amount=10))) == 10


@pytest.mark.slow  # a second store; tests/blocks has its listings
def test_import_to_azure_blob_storage(spark, azure, tmp_path):
    settings = azure.settings
    names = ("STORAGE_ACCOUNT", "STORAGE_ACCESS_KEY", "TEST_ENDPOINT_URL")
    account, key, endpoint = (settings[f"ANABRANCH_BLOCKSTORE_AZURE_{name}"] for name in names)
    store = anabranch.spark.AzureStore(account=account, access_key=key, endpoint=endpoint)
    azure.make_container("tasks-of-azure")
    with running_server(tmp_path, env=settings) as server:
        served = anabranch.spark.Server(server.url, *server.auth)
        root = f"https://{account}.blob.core.windows.net/tasks-of-azure"
        repository = create_repository(served, root)
        listing = listing_at(spark, f"{root}/elsewhere")
        result = import_unverified(served, repository.id, "main", listing, store=store).commit
        with lake_over(azure.blocks(), root, tmp_path) as lake:
            assert result.metarange_id == import_locally(lake, listing).metarange_id
