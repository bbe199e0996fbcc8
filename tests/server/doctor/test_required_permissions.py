"""Object stores with a missing permission: results name it and what to grant."""

from __future__ import annotations

import re
import time
import uuid

import pytest
from support.faults.forbidding_proxy import ForbiddingProxy

from anabranch.errors import Busy, StoreRefused
from anabranch.server.doctor.blocks import check_blocks
from anabranch.server.doctor.check_result import State
from anabranch.server.doctor.required_permissions import grant_hint

BLOBS = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs"
GRANTS = {
    "s3": {
        "list": "s3:ListBucket on arn:aws:s3:::{bucket}.",
        "read": "s3:GetObject on arn:aws:s3:::{bucket}/*.",
        "write": "s3:PutObject on arn:aws:s3:::{bucket}/*.",
        "delete": "s3:DeleteObject on arn:aws:s3:::{bucket}/*.",
        "parts": "s3:AbortMultipartUpload on arn:aws:s3:::{bucket}/*.",
    },
    "gs": {
        "list": "storage.objects.list on the bucket {bucket}:",
        "read": "storage.objects.get on the bucket {bucket}:",
        "write": "storage.objects.create on the bucket {bucket}:",
        "delete": "storage.objects.delete on the bucket {bucket}:",
        "parts": "storage.multipartUploads.abort on the bucket {bucket}:",
    },
    "azure": {
        "list": BLOBS + "/read on the container {bucket}:",
        "read": BLOBS + "/read on the container {bucket}:",
        "write": BLOBS + "/write on the container {bucket}:",
        "delete": BLOBS + "/delete on the container {bucket}:",
    },
}
MESSAGES = {
    "list": "cannot list",
    "read": "cannot read from",
    "write": "cannot write to",
    "delete": "cannot remove from",
    "parts": "cannot upload in parts to",
}


@pytest.fixture
def check(request):
    """Returns a function that checks a new bucket through a proxy that forbids some actions. It
    returns the bucket, the results that are not sound, and a store with all permissions.
    """

    def run_checks(kind, *forbidden):
        server = request.getfixturevalue({"azure": "azure", "gs": "emulated_s3"}.get(kind, "s3"))
        name = f"lake-{uuid.uuid4()}"
        make = server.make_container if kind == "azure" else server.make_bucket
        make(name)
        root = {"s3": "s3:/", "gs": "gs:/", "azure": getattr(server, "root", "")}[kind]
        bucket = f"{root}/{name}/"
        with ForbiddingProxy(kind, server.port, forbidden) as proxy:
            store = open_blocks(server, kind, proxy.port)
            results = check_blocks(store, [bucket], "token", time.time)
        faults = [each for each in results if each.state is not State.SOUND]
        return bucket, faults, open_blocks(server, kind, server.port)

    return run_checks


def open_blocks(server, kind, port):
    return server.gcs_blocks(port=port) if kind == "gs" else server.blocks(port)


@pytest.mark.parametrize("kind", GRANTS)
def test_with_all_permissions_checks_succeed_and_leave_no_objects(check, kind):
    bucket, faults, store = check(kind)
    assert faults == []
    assert list(store.list(bucket)) == []


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("kind", "permission"),
    [(kind, permission) for kind, grants in GRANTS.items() for permission in grants],
)
def test_a_missing_permission_is_named(check, kind, permission):
    bucket, (fault,), store = check(kind, permission)
    assert fault.state is State.WRONG
    assert fault.message.startswith(f"{MESSAGES[permission]} {bucket}: ")
    name = bucket.rstrip("/").rpartition("/")[2]
    assert GRANTS[kind][permission].format(bucket=name) in fault.hint
    remaining = [info.address for info in store.list(bucket)]
    if permission == "delete":
        assert remaining == [f"{bucket}anabranch-doctor/token"]
        assert f"Then remove {remaining[0]}" in fault.hint
    else:
        assert remaining == []


@pytest.mark.parametrize("kind", GRANTS)
def test_each_of_several_missing_permissions_is_named(check, kind):
    _, faults, _ = check(kind, "list", "delete")
    beginnings = [re.match("cannot [a-z ]+(?= )", fault.message)[0] for fault in faults]
    assert beginnings == ["cannot list", "cannot remove from"]


def test_store_that_cannot_presign_is_reported(emulated_s3):
    name = f"lake-{uuid.uuid4()}"
    emulated_s3.make_bucket(name)

    def url_results(store):
        results = check_blocks(store, [f"gs://{name}/"], "token", time.time)
        return [result for result in results if "URLs" in result.message]

    (result,) = url_results(emulated_s3.gcs_blocks(signs=False))
    assert result.state is State.DOUBTFUL
    assert "blockstore.gs.credentials_file" in result.hint
    (result,) = url_results(emulated_s3.gcs_blocks())
    assert (result.state, result.message) == (
        State.SOUND,
        f"clients can get presigned URLs of gs://{name}/",
    )


def test_errors_other_than_missing_permissions_are_reported_unchanged():
    busy = Busy("late", kind="storage_unreachable", hint="Look at the network.")
    assert grant_hint(busy, "s3", "s3://lake/", "list") == "Look at the network."
    refused = StoreRefused("no", kind="storage_permission", hint="Ask.")
    assert grant_hint(refused, "local", "local://", "list") == "Ask."


def test_deleting_without_permission_raises_store_refused(s3):
    """S3 responds to a list of deletions with 200, even if each of them failed."""
    name = f"lake-{uuid.uuid4()}"
    s3.make_bucket(name)
    addresses = [f"s3://{name}/{number}" for number in range(3)]
    for address in addresses:
        s3.blocks().put(address, [b"x"])
    with (
        ForbiddingProxy("s3", s3.port, {"delete"}) as proxy,
        pytest.raises(StoreRefused) as error,
    ):
        s3.blocks(proxy.port).delete(addresses)
    assert error.value.kind == "storage_permission"
    assert len(list(s3.blocks().list(f"s3://{name}/"))) == 3
