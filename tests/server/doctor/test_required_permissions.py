"""Object stores whose credentials may not do something: it is said what, and what to grant."""

from __future__ import annotations

import re
import time
import uuid

import pytest
from support.faults.forbidding_proxy import ForbiddingProxy

from anabranch.errors import Busy, StoreRefused
from anabranch.server.doctor.blocks import check_blocks
from anabranch.server.doctor.check_result import State
from anabranch.server.doctor.required_permissions import right_to_grant

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
WORDS = {
    "list": "cannot list",
    "read": "cannot read from",
    "write": "cannot write to",
    "delete": "cannot remove from",
    "parts": "cannot upload in parts to",
}


@pytest.fixture
def examined(request):
    """Examines a new bucket of a store by way of a proxy that forbids something. Returns its
    place, what is wrong, and a store that may do everything.
    """

    def run_checks(kind, *forbidden):
        server = request.getfixturevalue({"azure": "azure", "gs": "emulated_s3"}.get(kind, "s3"))
        name = f"lake-{uuid.uuid4()}"
        make = server.make_container if kind == "azure" else server.make_bucket
        make(name)
        root = {"s3": "s3:/", "gs": "gs:/", "azure": getattr(server, "root", "")}[kind]
        place = f"{root}/{name}/"
        with ForbiddingProxy(kind, server.port, forbidden) as proxy:
            store = opened(server, kind, proxy.port)
            findings = check_blocks(store, [place], "token", time.time)
        wrong = [each for each in findings if each.state is not State.SOUND]
        return place, wrong, opened(server, kind, server.port)

    return run_checks


def opened(server, kind, port):
    return server.gcs_blocks(port=port) if kind == "gs" else server.blocks(port)


@pytest.mark.parametrize("kind", GRANTS)
def test_with_all_rights_nothing_is_wrong_and_nothing_is_left(examined, kind):
    place, wrong, store = examined(kind)
    assert wrong == []
    assert list(store.list(place)) == []


@pytest.mark.parametrize(
    ("kind", "right"), [(kind, right) for kind, grants in GRANTS.items() for right in grants]
)
def test_a_right_that_is_lacking_is_named(examined, kind, right):
    place, wrong, store = examined(kind, right)
    (found,) = wrong
    assert found.state is State.WRONG
    assert found.message.startswith(f"{WORDS[right]} {place}: ")
    bucket = place.rstrip("/").rpartition("/")[2]
    assert GRANTS[kind][right].format(bucket=bucket) in found.hint
    left = [info.address for info in store.list(place)]
    if right == "delete":
        assert left == [f"{place}anabranch-doctor/token"]
        assert f"Then remove {left[0]}" in found.hint
    else:
        assert left == []


@pytest.mark.parametrize("kind", GRANTS)
def test_each_of_several_is_named(examined, kind):
    _, wrong, _ = examined(kind, "list", "delete")
    begun = [re.match("cannot [a-z ]+(?= )", found.message)[0] for found in wrong]
    assert begun == ["cannot list", "cannot remove from"]


def test_store_that_cannot_presign_is_reported(emulated_s3):
    name = f"lake-{uuid.uuid4()}"
    emulated_s3.make_bucket(name)

    def look(store):
        findings = check_blocks(store, [f"gs://{name}/"], "token", time.time)
        return [found for found in findings if "URLs" in found.message]

    (found,) = look(emulated_s3.gcs_blocks(signs=False))
    assert found.state is State.DOUBTFUL
    assert "blockstore.gs.credentials_file" in found.hint
    (found,) = look(emulated_s3.gcs_blocks())
    assert (found.state, found.message) == (
        State.SOUND,
        f"clients can be given URLs of gs://{name}/",
    )


def test_errors_other_than_missing_permissions_are_reported_unchanged():
    busy = Busy("late", kind="storage_unreachable", hint="Look at the network.")
    assert right_to_grant(busy, "s3", "s3://lake/", "list") == "Look at the network."
    refused = StoreRefused("no", kind="storage_permission", hint="Ask.")
    assert right_to_grant(refused, "local", "local://", "list") == "Ask."


def test_removing_without_the_right_is_refused_and_not_called_silence(s3):
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
