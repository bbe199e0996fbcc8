"""Errors of a real MinIO, which `make minio` builds."""

from __future__ import annotations

import json
import time

import boto3
import pytest

from anabranch.blocks.s3.endpoint import Credentials, S3Endpoint
from anabranch.blocks.s3.store import s3_blocks
from anabranch.errors import Invalid, StoreRefused
from anabranch.model.secret import Secret

MAY = {
    "s3:PutObject": {"put", "put_large", "open_upload"},
    "s3:GetObject": {"read", "put_large"},  # whose size is asked for at the end
    "s3:ListBucket": {"list"},
    "s3:DeleteObject": {"delete"},
}
REFUSED = ["a//b", "../../a", "a/../b", "./a", "a/.", "k" * 256, "é" * 128]


def uses(store, address):
    return {
        "put": lambda: store.put(address, [b"x"]),
        "put_large": lambda: store.put(address, [bytes(9 << 20)]),
        "read": lambda: store.read(address),
        "list": lambda: list(store.list(address)),
        "delete": lambda: store.delete([address]),
        "open_upload": lambda: store.open_upload(address),
    }


@pytest.fixture(params=["a", "odd\x7fa"])
def address(request, bucket):
    """The address of a block, with a key for each client of the store."""
    return f"s3://{bucket}/{request.param}"


@pytest.fixture
def connect(s3):
    """Opens a store with other credentials or settings."""

    def make(credentials=None, region=s3.region):
        find = (lambda: credentials) if credentials else s3.access().credentials
        return s3_blocks(S3Endpoint(find, endpoint=s3.endpoint, region=region, path_style=True))

    return make


@pytest.fixture
def with_permissions(s3, connect):
    """Opens a store whose key has only some permissions."""

    def make(*actions):
        statement = {"Effect": "Allow", "Action": actions, "Resource": ["arn:aws:s3:::*"]}
        policy = {"Version": "2012-10-17", "Statement": [statement]}
        who = s3.access().credentials()
        service = boto3.client(
            "sts",
            endpoint_url=s3.endpoint,
            aws_access_key_id=who.access_key_id,
            aws_secret_access_key=who.secret.reveal(),
            region_name=s3.region,
        )
        given = service.assume_role(
            RoleArn="arn:aws:iam::123456789012:role/some",
            RoleSessionName="some",
            Policy=json.dumps(policy),
        )["Credentials"]
        secret = Secret(given["SecretAccessKey"])
        return connect(Credentials(given["AccessKeyId"], secret, given["SessionToken"]))

    return make


def refused(use):
    with pytest.raises(StoreRefused) as error:
        use()
    assert error.value.hint
    return error.value.kind


class TestKeys:
    @pytest.mark.parametrize("key", REFUSED)
    def test_that_minio_cannot_hold_raise_invalid(self, s3_store, bucket, key):
        s3_store.put(f"s3://{bucket}/source", [b"x"])
        address = f"s3://{bucket}/{key}"
        for use in (
            lambda: s3_store.put(address, [b"x"]),
            lambda: s3_store.read(address),
            lambda: s3_store.delete([address]),
            lambda: s3_store.copy(f"s3://{bucket}/source", address),
        ):
            with pytest.raises(Invalid) as error:
                use()
            assert error.value.kind == "invalid_address"
        assert [info.address for info in s3_store.list(f"s3://{bucket}/")] == [
            f"s3://{bucket}/source"
        ]

    def test_that_begin_with_a_slash_are_changed(self, s3_store, bucket):
        """Therefore a namespace must not begin with a slash."""
        s3_store.put(f"s3://{bucket}//a", [b"x"])
        assert [info.address for info in s3_store.list(f"s3://{bucket}/")] == [f"s3://{bucket}/a"]

    def test_beneath_a_block_are_not_listed(self, s3_store, bucket):
        """Therefore imported paths must not have a block and a folder with one name."""
        for key in ("a", "a/b"):
            s3_store.put(f"s3://{bucket}/{key}", [key.encode()])
        assert s3_store.read(f"s3://{bucket}/a/b") == b"a/b"
        assert [info.address for info in s3_store.list(f"s3://{bucket}/")] == [f"s3://{bucket}/a"]


class TestCredentials:
    @pytest.mark.parametrize("key_id", [None, "AKIANOBODY"])
    def test_that_are_invalid_raise_store_refused(self, s3, connect, address, key_id):
        who = s3.access().credentials()
        store = connect(Credentials(key_id or who.access_key_id, Secret("of-another-user")))
        for name, use in uses(store, address).items():
            assert refused(use) == "storage_credentials", name

    def test_of_another_region_raise_store_refused(self, connect, address):
        for name, use in uses(connect(region="eu-west-1"), address).items():
            assert refused(use) == "storage_region", name

    def test_with_a_wrong_clock_raise_store_refused(self, s3, bucket):
        store = s3_blocks(s3.access(), clock=lambda: time.time() - 3_600)
        for name, use in uses(store, f"s3://{bucket}/odd\x7fa").items():
            assert refused(use) == "storage_clock", name


class TestPermissions:
    @pytest.mark.parametrize("missing", MAY)
    def test_that_are_missing_raise_store_refused(
        self, with_permissions, s3_store, address, missing
    ):
        s3_store.put(address, [b"x"])
        store = with_permissions(*(MAY.keys() - {missing}), "s3:AbortMultipartUpload")
        for name, use in uses(store, address).items():
            if name in MAY[missing]:
                assert refused(use) == "storage_permission", name
            else:
                use()

    def test_a_missing_bucket_raises_store_refused(self, s3_store):
        for key in ("a", "odd\x7fa"):
            for name, use in uses(s3_store, f"s3://no-such-bucket/{key}").items():
                assert refused(use) == "bucket_missing", name
