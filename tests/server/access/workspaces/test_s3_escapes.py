"""The escape suite: the keys of a workspace, and every operation of S3."""

from __future__ import annotations

from urllib.parse import urlencode

import httpx2
import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from anabranch.s3.confined_operations import CONFINED_OPERATIONS
from anabranch.s3.table import OPERATIONS
from tests.server.access.minimal_requests import s3_request
from tests.server.access.workspaces.conftest import SECRETS
from tests.server.access.workspaces.s3_escapes import (
    ATTEMPTS,
    LISTINGS,
    REFUSED,
    outside_keys,
    unwritable_keys,
)

BY_ID = {operation.id: operation for operation in OPERATIONS}
DENIED = {"AccessDenied", "403"}


def test_each_operation_has_a_case():
    assert sorted([*REFUSED, *ATTEMPTS, *LISTINGS]) == sorted(BY_ID)
    assert set(ATTEMPTS) | LISTINGS == set(CONFINED_OPERATIONS)


@pytest.mark.parametrize("operation_id", REFUSED)
def test_an_operation_is_refused_even_on_the_own_branch(team, unchanged, intruder, operation_id):
    world = intruder.world
    request = s3_request(BY_ID[operation_id])
    path = request.path.replace("absent-lake", world.repository).replace("main", world.workspace)
    url = team.server.url + path + (f"?{urlencode(request.query)}" if request.query else "")
    signed = AWSRequest(request.method, url, data=request.body, headers=request.headers)
    keys = Credentials(world.fields["access_key_id"], world.fields["secret_access_key"])
    S3SigV4Auth(keys, "s3", "us-east-1").add_auth(signed)
    response = httpx2.request(
        request.method, url, headers=dict(signed.headers), content=request.body
    )
    assert response.status_code == 403, response.text
    unchanged()


@pytest.mark.parametrize("operation_id", sorted(ATTEMPTS))
def test_an_operation_does_not_reach_outside(unchanged, intruder, operation_id):
    world = intruder.world
    kind, attempts = ATTEMPTS[operation_id]
    keys = {"write": unwritable_keys, "read": outside_keys}.get(kind, outside_keys)(world)
    if kind == "outside":  # of uploads, of which none is at a hidden path
        keys = [each for each in keys if "secret" not in each[1]]
    for bucket, key in keys:
        for attempt in attempts:
            with pytest.raises(ClientError) as refused:
                attempt(intruder, bucket, key)
            assert refused.value.response["Error"]["Code"] in DENIED, (key, refused.value)
    unchanged()


def test_buckets_are_only_that_of_the_workspace(intruder):
    world, s3 = intruder.world, intruder.s3
    assert [each["Name"] for each in s3.list_buckets()["Buckets"]] == [world.repository]
    s3.head_bucket(Bucket=world.repository)
    for call in (s3.head_bucket, s3.get_bucket_location, s3.get_bucket_versioning):
        with pytest.raises(ClientError) as refused:
            call(Bucket=world.foreign)
        assert refused.value.response["Error"]["Code"] in DENIED


@pytest.mark.parametrize("name", ["list_objects", "list_objects_v2", "list_object_versions"])
def test_listings_show_what_is_readable_on_the_branch(intruder, name):
    world = intruder.world
    call = getattr(intruder.s3, name)
    at_root = call(Bucket=world.repository)
    assert [each["Prefix"] for each in at_root["CommonPrefixes"]] == [f"{world.workspace}/"]
    listed = call(Bucket=world.repository, Prefix=f"{world.workspace}/")
    items = listed.get("Contents") or listed.get("Versions")
    paths = [each["Key"].partition("/")[2] for each in items]
    assert paths == ["in/a.csv", "out/old.csv"]
    folders = call(Bucket=world.repository, Prefix=f"{world.workspace}/", Delimiter="/")
    shown = [each["Prefix"].partition("/")[2] for each in folders["CommonPrefixes"]]
    assert shown == ["in/", "out/"]
    for bucket, key in outside_keys(world, ""):
        if "secret" in key:
            hidden = call(Bucket=bucket, Prefix=f"{world.workspace}/secret")
            assert not hidden.get("Contents")
            assert not hidden.get("Versions")
            continue
        with pytest.raises(ClientError) as refused:
            call(Bucket=bucket, Prefix=key)
        assert refused.value.response["Error"]["Code"] in DENIED


def test_ranges_and_batches_do_not_show_what_is_hidden(intruder):
    world = intruder.world
    for key in (f"{world.workspace}/secret/a.csv", "main/in/later.csv"):
        with pytest.raises(ClientError):
            intruder.s3.get_object(Bucket=world.repository, Key=key, Range="bytes=0-3")
    answer = intruder.api.post(
        f"/repositories/{world.repository}/refs/{world.workspace}/objects/contents",
        json={"paths": ["secret/a.csv"]},
    )
    assert answer.status_code == 401
    assert not any(secret in answer.content for secret in SECRETS)
