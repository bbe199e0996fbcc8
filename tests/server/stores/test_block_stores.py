"""Block stores that are opened from settings."""

from __future__ import annotations

import os

import pytest

from anabranch.errors import Invalid, StoreRefused
from anabranch.server.config.field import build
from anabranch.server.stores.block_stores import open_blocks, presigned_seconds


@pytest.fixture(autouse=True)
def _no_credentials(monkeypatch):
    for name in os.environ:
        if name.startswith(("AWS_", "AZURE_", "GOOGLE_")):
            monkeypatch.delenv(name)


def opened(**values):
    settings = build({name.replace("__", "."): value for name, value in values.items()})
    return open_blocks(settings.blockstore)


@pytest.mark.parametrize(
    ("kind", "namespace"),
    [
        ("mem", "mem://a"),
        ("s3", "s3://a"),
        ("gs", "gs://a"),
        ("azure", "https://a.blob.core.windows.net/b"),
    ],
)
def test_each_type_is_opened_without_network_requests(kind, namespace):
    store = opened(blockstore__type=kind)
    assert store.config.blockstore_type == kind
    assert store.accepts(namespace)


def test_the_configuration_contains_the_namespace_prefix():
    store = opened(blockstore__type="s3", blockstore__default_namespace_prefix="s3://lake/")
    assert store.config.default_namespace_prefix == "s3://lake/"


@pytest.mark.parametrize("wrong", ["minio:9000", "ftp://minio", "https://", "/minio"])
def test_an_invalid_endpoint_url_is_refused(wrong):
    with pytest.raises(Invalid, match=r"blockstore\.s3\.endpoint is .* not an HTTP URL"):
        opened(blockstore__type="s3", blockstore__s3__endpoint=wrong)


def test_settings_reach_the_store(emulated_s3, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAENV")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-the-environment")
    store = opened(
        blockstore__type="s3",
        blockstore__s3__endpoint=emulated_s3.endpoint,
        blockstore__s3__force_path_style=True,
    )
    emulated_s3.make_bucket("settings")
    store.put("s3://settings/a", [b"x"])
    assert emulated_s3.blocks().read("s3://settings/a") == b"x"


@pytest.mark.parametrize("kind", ["s3", "gs", "azure"])
def test_each_type_has_its_own_settings_for_presigned_urls(kind):
    values = {"type": kind, f"{kind}.pre_signed_expiry": 90, f"{kind}.disable_pre_signed": True}
    settings = build({f"blockstore.{name}": value for name, value in values.items()})
    assert presigned_seconds(settings.blockstore) == 90
    config = open_blocks(settings.blockstore).config
    assert not config.pre_sign_support
    assert not config.pre_sign_multipart_upload
    others = build({"blockstore.type": kind, "blockstore.local.pre_signed_expiry": 90})
    assert presigned_seconds(others.blockstore) == 15 * 60
    assert open_blocks(others.blockstore).config.pre_sign_support


@pytest.mark.parametrize("kind", ["local", "mem"])
def test_presigned_urls_of_this_machine_are_off_unless_they_are_set(kind, tmp_path):
    values = {"blockstore.type": kind, "blockstore.local.path": tmp_path}
    for pre_signed, changes in ((False, {}), (True, {"blockstore.local.pre_signed": True})):
        config = open_blocks(build(values | changes).blockstore).config
        assert config.pre_sign_support is pre_signed
        assert config.pre_sign_multipart_upload is pre_signed
        assert config.pre_sign_support_ui is False


def test_a_store_without_credentials_is_opened_and_raises_when_it_is_used(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    store = opened(blockstore__type="s3", blockstore__s3__region="x")
    with pytest.raises(StoreRefused) as error:
        store.put("s3://lake/a", [b"x"])
    assert error.value.kind == "no_credentials"
    assert "AWS_ACCESS_KEY_ID" in error.value.hint
