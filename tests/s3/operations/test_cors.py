"""Web pages of other origins that use the gateway: a server whose settings allow one, and one
whose settings do not say.
"""

from __future__ import annotations

import httpx2
import pytest

from anabranch.testing.server import running_server

from .conftest import boto3_client

APP, OTHER = "https://app.example.com", "https://other.example.com"
DOMAIN = "s3.local.lakefs.io"
ASKED = {
    "Origin": APP,
    "Access-Control-Request-Method": "PUT",
    "Access-Control-Request-Headers": "authorization,x-amz-date",
}


@pytest.fixture(scope="module")
def open_server(tmp_path_factory):
    """A server that web pages of one origin may use, with a repository `sea`."""
    env = {"ANABRANCH_GATEWAYS_S3_CORS": APP}
    with running_server(tmp_path_factory.mktemp("lake"), env=env) as running:
        body = {"name": "sea", "storage_namespace": "local://sea"}
        made = httpx2.post(f"{running.api}/repositories", auth=running.auth, json=body)
        assert made.status_code == 201
        yield running


@pytest.mark.parametrize(
    ("path", "host"),
    [
        ("/sea/main/a", ""),
        ("/sea", ""),
        ("/", ""),
        ("/sea/main/a?X-Amz-Credential=x&X-Amz-Signature=y", ""),
        ("/main/a", f"sea.{DOMAIN}"),
        ("/sea/main/a", DOMAIN),
        ("/no-such-repository/main/a", ""),
    ],
)
def test_a_preflight_request_needs_no_signature(open_server, path, host):
    headers = ASKED | ({"Host": host} if host else {})
    answer = httpx2.options(open_server.url + path, headers=headers)
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["access-control-allow-origin"] == APP
    assert answer.headers["access-control-allow-headers"] == "authorization,x-amz-date"
    assert "PUT" in answer.headers["access-control-allow-methods"]
    assert "access-control-allow-credentials" not in answer.headers


def test_another_origin_is_refused(open_server):
    answer = httpx2.options(f"{open_server.url}/sea/main/a", headers=ASKED | {"Origin": OTHER})
    assert answer.status_code == 403
    assert "<Code>AccessForbidden</Code>" in answer.text
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("size", [5, 1 << 20])
def test_every_answer_to_the_origin_is_shown_to_the_page(open_server, size):
    s3 = boto3_client(open_server)
    place = {"Bucket": "sea", "Key": f"main/{size}"}
    headers = {"Origin": APP}
    put = httpx2.put(
        s3.generate_presigned_url("put_object", Params=place), content=b"x" * size, headers=headers
    )
    got = httpx2.get(s3.generate_presigned_url("get_object", Params=place), headers=headers)
    assert got.content == b"x" * size
    unsigned = httpx2.get(f"{open_server.url}/sea/main/a?X-Amz-Credential=x", headers=headers)
    missing = {**place, "Key": "main/missing"}
    absent = httpx2.get(s3.generate_presigned_url("get_object", Params=missing), headers=headers)
    same = httpx2.get(
        s3.generate_presigned_url("get_object", Params=place),
        headers=headers | {"If-None-Match": got.headers["etag"]},
    )
    answers = [put, got, unsigned, absent, same]
    assert [answer.status_code for answer in answers] == [200, 200, 400, 404, 304]
    for answer in answers:
        assert answer.headers["access-control-allow-origin"] == APP
        assert answer.headers["vary"].startswith("Origin")
    other = httpx2.get(
        s3.generate_presigned_url("get_object", Params=place), headers={"Origin": OTHER}
    )
    assert other.status_code == 200
    assert "access-control-allow-origin" not in other.headers


def test_the_configuration_is_read(open_server):
    (rule,) = boto3_client(open_server).get_bucket_cors(Bucket="sea")["CORSRules"]
    assert rule["AllowedOrigins"] == [APP]
    assert rule["AllowedMethods"] == ["GET", "HEAD", "PUT", "POST", "DELETE"]


def test_the_api_is_not_opened(open_server):
    for path in ("/api/v1/repositories", "/api/v1/repositories/sea/branches/main/objects"):
        answer = httpx2.options(open_server.url + path, headers=ASKED)
        assert "access-control-allow-origin" not in answer.headers


def test_cors_is_disabled_by_default(server, s3, bucket):
    place = {"Bucket": bucket, "Key": "main/a"}
    s3.put_object(**place, Body=b"abc")
    path = f"{server.url}/{bucket}/main/a"
    assert httpx2.options(path, headers=ASKED).status_code == 404
    named = httpx2.options(path, headers=ASKED | {"Host": DOMAIN})
    assert named.status_code == 403
    assert "CORS is not enabled" in named.text
    got = httpx2.get(s3.generate_presigned_url("get_object", Params=place), headers={"Origin": APP})
    assert got.content == b"abc"
    for answer in (named, got):
        assert "access-control-allow-origin" not in answer.headers
        assert "vary" not in answer.headers
    with pytest.raises(s3.exceptions.ClientError, match="NoSuchCORSConfiguration"):
        s3.get_bucket_cors(Bucket=bucket)


@pytest.mark.slow
def test_malformed_origin_prevents_the_start(tmp_path):
    env = {"ANABRANCH_GATEWAYS_S3_CORS": "app.example.com"}
    with pytest.raises(AssertionError, match="is not an origin"), running_server(tmp_path, env=env):
        pass
