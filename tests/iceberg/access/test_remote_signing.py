"""Requests that the catalog signs: pyiceberg's signer with boto3 as the client of S3."""

from __future__ import annotations

import base64
import hashlib
import json

import boto3
import httpx2
import pytest
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError
from pyiceberg.exceptions import SignError
from pyiceberg.io.fsspec import S3V4RestSigner

from tests.iceberg.access.test_catalog_rights import TABLES
from tests.iceberg.access.test_table_files import PART, Files, area_of
from tests.iceberg.conftest import Lake, trips
from tests.server.access.conftest import allow, deny

SIGNING = {"X-Iceberg-Access-Delegation": "remote-signing"}


@pytest.fixture
def lake(team):
    """A lake with two tables whose names begin alike, on main and dev."""
    return filled(Lake(team.server))


@pytest.fixture(scope="module")
def unchanged_lake(team):
    """One for all requests for signatures, which change nothing."""
    return filled(Lake(team.server))


def filled(lake):
    catalog = lake.catalog()
    for name in ("city.orders", "city.orders2"):
        catalog.create_table(name, trips().schema).append(trips(1))
    lake.branch("dev")
    return lake


def token_of(lake, keys):
    form = {"grant_type": "client_credentials", "client_id": keys[0], "client_secret": keys[1]}
    answer = httpx2.post(f"{lake.url}/iceberg/v1/oauth/tokens", data=form)
    return answer.json()["access_token"]


def load(lake, reference="main", table="orders", keys=None, headers=SIGNING):
    url = f"{lake.url}/iceberg{lake.path(reference, f'{TABLES}/{table}')}"
    answer = httpx2.get(url, auth=keys or lake.server.auth, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


def client(lake, config, keys=None):
    """Returns a client of S3 that has no keys, whose requests pyiceberg's signer signs."""
    token = token_of(lake, keys or lake.server.auth)
    signer = S3V4RestSigner({**config, "uri": f"{lake.url}/elsewhere", "token": token})
    s3 = boto3.client(
        "s3",
        endpoint_url=config["s3.endpoint"],
        region_name=config["s3.region"],
        config=Config(
            signature_version=UNSIGNED,
            s3={"addressing_style": "path"},
            retries={"max_attempts": 0},
        ),
    )
    s3.meta.events.register_last("before-sign.s3", signer, unique_id=1925)
    return s3


def signed_files(lake, reference="main", keys=None):
    config = load(lake, reference, keys=keys)["config"]
    return Files(client(lake, config, keys), lake.name, area_of(lake, "orders", reference))


def refused(call):
    """Returns whether the catalog does not sign a request, or S3 does not perform it."""
    try:
        call()
    except SignError:
        return True
    except ClientError as error:
        return error.response["ResponseMetadata"]["HTTPStatusCode"] == 403
    return False


def test_clients_are_told_as_they_ask(lake):
    assert "s3.remote-signing-enabled" not in load(lake, headers={})["config"]
    both = {"X-Iceberg-Access-Delegation": "vended-credentials,remote-signing"}
    assert "s3.remote-signing-enabled" not in load(lake, headers=both)["config"]
    loaded = load(lake)
    config = loaded["config"]
    assert config["s3.remote-signing-enabled"] == "true"
    assert "s3.access-key-id" not in json.dumps(loaded)
    assert config["s3.signer.endpoint"] == config["signer.endpoint"]
    url = f"{lake.url}/iceberg{lake.path('main', f'{TABLES}/orders')}"
    tags = [
        httpx2.get(url, auth=lake.server.auth, headers=headers).headers["etag"]
        for headers in ({}, SIGNING, both)
    ]
    assert len(set(tags)) == 3


def test_files_are_read_stored_listed_and_deleted(lake):
    files = signed_files(lake)
    files.put("data/city=a b/é.parquet", b"first")
    assert files.get("data/city=a b/é.parquet") == b"first"
    assert files.get("data/city=a b/é.parquet", Range="bytes=1-2") == b"ir"
    assert files.s3.head_object(**files.key("data/city=a b/é.parquet"))["ContentLength"] == 5
    assert "data/city=a b/é.parquet" in files.names("data/")[0]
    place, parts = files.upload("data/large", PART, b"end")
    files.s3.complete_multipart_upload(**place, MultipartUpload=parts)
    assert files.get("data/large") == PART + b"end"
    aborted, _ = files.upload("data/other", b"x")
    files.s3.abort_multipart_upload(**aborted)
    files.s3.delete_object(**files.key("data/large"))
    assert files.get("data/large") == PART + b"end"


def test_several_files_are_deleted_by_a_body_that_the_catalog_sees(lake):
    """As Java's client sends it, and pyiceberg's does not; the signature covers the body."""
    area, other = area_of(lake, "orders"), area_of(lake, "orders2")
    uri = f"{lake.url}/{lake.name}?delete"
    path = lake.path("main", f"{TABLES}/orders/sign")

    def body(*keys):
        named = "".join(f"<Object><Key>{key}</Key></Object>" for key in keys)
        return f'<Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{named}</Delete>'

    def ask(content):
        request = {"region": "us-east-1", "method": "POST", "headers": {}, "uri": uri}
        return lake.http.post(path, json=request | {"body": content})

    own = body(f".tables/{area}/data/a", f".tables/{area}/data/b")
    signed = ask(own)
    assert signed.status_code == 200, signed.text
    headers = {name: ", ".join(each) for name, each in signed.json()["headers"].items()}
    headers["content-md5"] = base64.b64encode(hashlib.md5(own.encode()).digest()).decode()
    gone = httpx2.post(uri, headers=headers, content=own)
    assert gone.text.count("<Deleted>") == 2, gone.text
    changed = body(f".tables/{area}/data/a", f".tables/{area}/data/c")
    headers["content-md5"] = base64.b64encode(hashlib.md5(changed.encode()).digest()).decode()
    assert httpx2.post(uri, headers=headers, content=changed).status_code in {400, 403}
    for content in (
        body(f".tables/{area}/data/a", f".tables/{other}/data/a"),
        body("main/a"),
        body(),
        body(f".tables/{area}"),
        None,
        "",
        "{}",
        "<!DOCTYPE x [<!ENTITY a 'b'>]>" + own,
    ):
        assert ask(content).status_code in {400, 403}, content


def test_a_table_is_made_before_it_has_a_record(lake):
    schema = {"type": "struct", "schema-id": 0, "fields": []}
    answer = lake.post(
        "main", TABLES, {"name": "made", "schema": schema, "stage-create": True}, **SIGNING
    ).json()
    area = answer["metadata"]["location"].rpartition("/")[2]
    files = Files(client(lake, answer["config"]), lake.name, area)
    files.put("data/a", b"x")
    assert files.get("data/a") == b"x"


def test_nothing_but_files_of_the_table_is_signed(lake):
    files = signed_files(lake)
    files.put("data/mine", b"x")
    other = Files(files.s3, lake.name, area_of(lake, "orders2"))
    s3, bucket = files.s3, lake.name
    attempts = [
        lambda: other.get("metadata/a"),
        lambda: other.put("data/a", b"x"),
        other.names,
        lambda: other.upload("data/a", b"x"),
        lambda: other.s3.delete_object(**other.key("a")),
        lambda: files.get("../" + other.area + "/metadata/a"),
        lambda: files.put("data/../../" + other.area + "/x", b"x"),
        lambda: files.put("data//x", b"x"),
        lambda: files.put("data/./x", b"x"),
        lambda: files.put("data\\x", b"x"),
        lambda: files.put("data/a\nb", b"x"),
        lambda: files.put("", b"x"),
        lambda: s3.list_objects_v2(Bucket=bucket, Prefix=".tables/"),
        lambda: s3.list_objects_v2(Bucket=bucket, Prefix=f".tables/{files.area}"),
        lambda: s3.list_objects_v2(Bucket=bucket, Prefix="main/"),
        lambda: s3.list_objects_v2(Bucket=bucket),
        lambda: s3.get_object(Bucket=bucket, Key="main/_tables/city/orders/table.json"),
        lambda: s3.put_object(Bucket=bucket, Key="main/a", Body=b"x"),
        lambda: s3.get_object(Bucket="another", Key=files.key("data/mine")["Key"]),
        lambda: s3.head_bucket(Bucket=bucket),
        lambda: s3.delete_bucket(Bucket=bucket),
        lambda: s3.create_bucket(Bucket="another-bucket"),
        s3.list_buckets,
        lambda: s3.copy_object(**files.key("data/b"), CopySource=other.key("metadata/a")),
        lambda: s3.copy_object(**files.key("data/b"), CopySource=files.key("data/mine")),
        lambda: s3.put_object_tagging(**files.key("data/mine"), Tagging={"TagSet": []}),
        lambda: s3.get_object_acl(**files.key("data/mine")),
        lambda: s3.get_object(**files.key("data/mine"), VersionId="1"),
        lambda: s3.put_object(**files.key("data/c"), Body=b"x", ACL="public-read"),
        lambda: s3.delete_objects(
            Bucket=bucket,
            Delete={"Objects": [{"Key": files.key("a")["Key"]}, {"Key": other.key("a")["Key"]}]},
        ),
        lambda: s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "main/a"}]}),
    ]
    assert [number for number, attempt in enumerate(attempts) if not refused(attempt)] == []


@pytest.mark.parametrize(
    "change",
    [
        {"uri": "http://example.org/{key}"},
        {"uri": "https://{host}/{key}"},
        {"uri": "http://user@{host}/{key}"},
        {"uri": "http://{host}.example.org/{key}"},
        {"uri": "http://{host}:1/{key}"},
        {"uri": "http://{host}//{key}"},
        {"uri": "http://{host}/x/../{key}"},
        {"uri": "http://{host}/{key}/../../../orders"},
        {"uri": "http://{host}/{key}/%2e%2e/%2E%2E/x"},
        {"uri": "http://{host}/{key}%2F..%2Fx"},
        {"uri": "http://{host}/{key}%5C..%5Cx"},
        {"uri": "http://{host}/{key}%00"},
        {"uri": "http://{host}/{key}%zz"},
        {"uri": "http://{host}/{key}%"},
        {"uri": "http://{host}/{key}\u2215x"},
        {"uri": "http://{host}/{key} x"},
        {"uri": "http://{host}/{key}#x"},
        {"uri": "http://{host}/{key}?acl"},
        {"uri": "http://{host}/{key}?acl="},
        {"uri": "http://{host}/{key}?uploadId=1&uploadId=2", "method": "DELETE"},
        {"uri": "http://{host}/{key}?uploadId=1&tagging", "method": "DELETE"},
        {"uri": "http://{host}/{key}?X-Amz-Expires=100000"},
        {"uri": "http://{host}/{key}?response-content-type=text/html"},
        {"uri": "http://{host}/%2E" + "{key}"},
        {"uri": "http://{host}/api/v1/user"},
        {"uri": "http://{host}/iceberg/v1/config"},
        {"uri": "{key}"},
        {"uri": "file:///{key}"},
        {"uri": ""},
        {"method": "PATCH"},
        {"method": "OPTIONS"},
        {"method": "get"},
        {"method": "POST"},
        {"region": "a/b"},
        {"region": ""},
        {"provider": "gcs"},
        {"headers": {"X-Amz-Copy-Source": ["/x"]}, "method": "PUT"},
        {"headers": {"x-amz-copy-source-range": ["0-1"]}, "method": "PUT"},
        {"headers": {"x-amz-grant-read": ["x"]}, "method": "PUT"},
    ],
    ids=str,
)
def test_no_other_spelling_is_signed(unchanged_lake, change):
    lake = unchanged_lake
    area = area_of(lake, "orders")
    names = {
        "host": lake.url.removeprefix("http://"),
        "key": f"{lake.name}/.tables/{area}/data/a",
    }
    request = {"region": "us-east-1", "method": "GET", "headers": {}, "uri": "http://{host}/{key}"}
    path = lake.path("main", f"{TABLES}/orders/sign")

    def ask(fields):
        sent = fields | {"uri": fields["uri"].format(**names)}
        return lake.http.post(path, json=sent)

    assert ask(request).status_code == 200
    assert ask(request | change).status_code in {400, 403}


def test_only_who_may_read_or_write_the_table_there(team, lake):
    table = f"arn:lakefs:catalog:::table/{lake.name}/city/orders"
    reader = team.member(allow("catalog:ReadTable", on=table))
    files = signed_files(lake, keys=reader.keys)
    assert files.names()[0]
    assert refused(lambda: files.put("data/a", b"x"))
    assert refused(lambda: files.s3.delete_object(**files.key("data/a")))
    writer = team.member(
        allow("catalog:ReadTable", on=table), allow("catalog:UpdateTable", on=f"{table}@dev")
    )
    files = signed_files(lake, "dev", keys=writer.keys)
    files.put("data/b", b"x")
    files = signed_files(lake, "main", keys=writer.keys)
    assert files.get("data/b") == b"x"
    assert refused(lambda: files.put("data/c", b"x"))
    nobody = team.member(allow("*"), deny("catalog:ReadTable", on=table))
    config = load(lake)["config"]
    files = Files(client(lake, config, nobody.keys), lake.name, area_of(lake, "orders"))
    assert refused(files.names)
    lake.tag("v1")
    files = signed_files(lake, "v1")
    assert files.names()[0]
    assert refused(lambda: files.put("data/d", b"x"))


def test_a_signature_is_good_for_its_request_alone(lake):
    area = area_of(lake, "orders")
    uri = f"{lake.url}/{lake.name}/.tables/{area}/data/a"
    path = lake.path("main", f"{TABLES}/orders/sign")
    request = {"region": "us-east-1", "method": "PUT", "headers": {}, "uri": uri}
    signed = lake.http.post(path, json=request).json()
    headers = {name: ", ".join(values) for name, values in signed["headers"].items()}
    assert httpx2.put(uri, headers=headers, content=b"x").status_code == 200
    for method, url in (("GET", uri), ("PUT", f"{uri}b"), ("PUT", f"{uri}?tagging")):
        assert httpx2.request(method, url, headers=headers).status_code in {403, 501}
    elsewhere = httpx2.get(f"{lake.url}/api/v1/user", headers=headers)
    assert elsewhere.status_code in {401, 403}


def test_a_table_that_was_renamed_is_signed_for_with_both_rights(team, lake):
    lake.catalog().rename_table("city.orders", "city.moved")
    table = f"arn:lakefs:catalog:::table/{lake.name}/city"
    both = team.member(allow("catalog:ReadTable", on=[f"{table}/orders", f"{table}/moved"]))
    config = load(lake, table="moved", keys=both.keys)["config"]
    area = area_of(lake, "moved")
    assert Files(client(lake, config, both.keys), lake.name, area).names()[0]
    one = team.member(allow("catalog:ReadTable", on=f"{table}/moved"))
    assert refused(Files(client(lake, config, one.keys), lake.name, area).names)
