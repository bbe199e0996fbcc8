"""boto3's ways to prove itself: presigned URLs, version 2, tokens, virtual hosts, and none."""

from __future__ import annotations

import itertools
import socket
import time
from urllib.parse import quote, urlsplit

import botocore
import httpx2
import lakefs_sdk
import pytest
from botocore.exceptions import ClientError
from lakefs_sdk.client import LakeFSClient

from anabranch.testing.server import running_server

DOMAIN = "s3.lake.example"
SIGNATURES = ("s3v4", "s3")

_numbers = itertools.count(1)


def code_of(caught):
    return caught.value.response["Error"]["Code"]


@pytest.fixture(params=SIGNATURES)
def signing(make_s3, request):
    """A client that signs in one of the two versions."""
    return make_s3(signature_version=request.param)


def test_every_operation_in_either_version(signing, repo):
    s3, bucket = signing, repo.id
    s3.put_object(
        Bucket=bucket, Key="main/a b+c", Body=b"content", ContentType="text/x", Metadata={"a": "b"}
    )
    assert s3.get_object(Bucket=bucket, Key="main/a b+c")["Body"].read() == b"content"
    assert s3.head_object(Bucket=bucket, Key="main/a b+c")["Metadata"] == {"a": "b"}
    part = s3.get_object(Bucket=bucket, Key="main/a b+c", Range="bytes=1-2")
    assert (part["Body"].read(), part["ContentType"]) == (b"on", "text/x")
    named = s3.get_object(
        Bucket=bucket, Key="main/a b+c", ResponseContentDisposition='attachment; filename="a b"'
    )
    assert named["ContentDisposition"] == 'attachment; filename="a b"'
    s3.copy_object(Bucket=bucket, Key="main/é", CopySource={"Bucket": bucket, "Key": "main/a b+c"})
    s3.put_object_tagging(
        Bucket=bucket, Key="main/é", Tagging={"TagSet": [{"Key": "k", "Value": "v"}]}
    )
    tags = s3.get_object_tagging(Bucket=bucket, Key="main/é")["TagSet"]
    assert tags == [{"Key": "k", "Value": "v"}]
    listed = s3.list_objects_v2(Bucket=bucket, Prefix="main/")["Contents"]
    assert [item["Key"] for item in listed] == ["main/a b+c", "main/é"]
    assert bucket in [item["Name"] for item in s3.list_buckets()["Buckets"]]
    s3.get_bucket_location(Bucket=bucket)
    objects = [{"Key": "main/a b+c"}, {"Key": "main/é"}]
    deleted = s3.delete_objects(Bucket=bucket, Delete={"Objects": objects})["Deleted"]
    assert deleted == objects


def test_presigned_urls(signing, repo):
    key = {"Bucket": repo.id, "Key": "main/a b?c=d&é"}

    def url(operation, **parameters):
        return signing.generate_presigned_url(operation, Params={**key, **parameters})

    put = httpx2.put(url("put_object"), content=b"content")
    assert put.status_code == 200
    assert httpx2.get(url("get_object")).content == b"content"
    head = httpx2.head(url("head_object"))
    assert (head.status_code, head.headers["content-length"]) == (200, "7")
    shown = httpx2.get(
        url("get_object", ResponseContentType="text/x", ResponseContentDisposition="inline; a=b c")
    )
    assert shown.headers["content-type"] == "text/x"
    assert shown.headers["content-disposition"] == "inline; a=b c"
    typed = url("put_object", ContentType="text/y")
    assert httpx2.put(typed, content=b"y", headers={"Content-Type": "text/y"}).status_code == 200
    assert httpx2.put(typed, content=b"z", headers={"Content-Type": "text/z"}).status_code == 403
    assert httpx2.get(url("get_object")).headers["content-type"] == "text/y"
    listing = signing.generate_presigned_url(
        "list_objects_v2", Params={"Bucket": repo.id, "Prefix": "main/"}
    )
    assert f"<Key>{quote(key['Key'])}</Key>" in httpx2.get(listing).text
    assert httpx2.delete(url("get_object")).status_code == 403
    assert httpx2.delete(url("delete_object")).status_code == 204
    assert httpx2.get(url("get_object")).status_code == 404


def test_what_a_presigned_url_says_of_the_object_holds(signing, repo):
    """In version 2 the URL carries what would be headers, in version 4 they must be sent."""
    version_2 = signing.meta.config.signature_version == "s3"
    sent = {"Content-Type": "text/x", "x-amz-meta-depth": "10935", "x-amz-tagging": "k=v"}
    target = {"Bucket": repo.id, "Key": "main/a"}
    url = signing.generate_presigned_url(
        "put_object",
        Params={
            **target,
            "ContentType": "text/x",
            "Metadata": {"depth": "10935"},
            "Tagging": "k=v",
        },
    )
    assert httpx2.put(url, content=b"content", headers={} if version_2 else sent).is_success
    head = signing.head_object(**target)
    assert (head["ContentType"], head["Metadata"]) == ("text/x", {"depth": "10935"})
    assert signing.get_object_tagging(**target)["TagSet"] == [{"Key": "k", "Value": "v"}]
    assert httpx2.put(url.replace("10935", "10936"), content=b"other").status_code == 403
    source = {"x-amz-copy-source": f"{repo.id}/main/a"}
    copy = signing.generate_presigned_url(
        "copy_object", Params={"Bucket": repo.id, "Key": "main/b", "CopySource": target}
    )
    assert httpx2.put(copy, headers={} if version_2 else source).is_success
    assert repo.get("b") == b"content"


@pytest.mark.sample(1)
def test_presigned_urls_are_good_for_as_long_as_they_say(signing, repo):
    repo.put("a")
    key = {"Bucket": repo.id, "Key": "main/a"}
    soon = signing.generate_presigned_url("get_object", Params=key, ExpiresIn=1)
    week = signing.generate_presigned_url("get_object", Params=key, ExpiresIn=604_800)
    assert httpx2.get(week).status_code == 200
    time.sleep(2.1)
    gone = httpx2.get(soon)
    assert (gone.status_code, "<Message>Request has expired</Message>" in gone.text) == (403, True)
    assert httpx2.get(week.replace("main/a", "main/b")).status_code == 403


@pytest.mark.parametrize("status", [200, 201, 204])
def test_forms_upload_what_their_policy_allows(signing, repo, status):
    field = {"success_action_status": str(status)}
    conditions = [field, ["content-length-range", 1, 10]]
    form = signing.generate_presigned_post(
        repo.id, "main/${filename}", Fields=field, Conditions=conditions
    )

    def sent(content):
        files = {"file": ("a.txt", content)}
        return httpx2.post(form["url"], data=form["fields"], files=files)

    refused = sent(b"content that is too long")
    assert (refused.status_code, "<Code>EntityTooLarge</Code>" in refused.text) == (400, True)
    assert repo.paths() == []
    assert sent(b"content").status_code == status
    assert repo.paths() == ["a.txt"]


@pytest.mark.parametrize("version", SIGNATURES)
def test_a_token_of_a_session_is_ignored_politely(make_s3, repo, version):
    s3 = make_s3(aws_session_token="FwoGZXIvYXdz/+=", signature_version=version)
    s3.put_object(Bucket=repo.id, Key="main/a", Body=b"content")
    url = s3.generate_presigned_url("get_object", Params={"Bucket": repo.id, "Key": "main/a"})
    assert "x-amz-security-token=" in url.lower()
    assert httpx2.get(url).content == b"content"


@pytest.mark.parametrize("region", ["us-east-1", "eu-central-1", "auto"])
def test_any_region(make_s3, repo, region):
    s3 = make_s3(region_name=region)
    s3.put_object(Bucket=repo.id, Key="main/a", Body=b"content")
    assert s3.get_object(Bucket=repo.id, Key="main/a")["Body"].read() == b"content"


def test_wrong_keys(make_s3, repo):
    for keys, expected in (
        ({"aws_access_key_id": "AKIANOBODY"}, "InvalidAccessKeyId"),
        ({"aws_secret_access_key": "wrong"}, "SignatureDoesNotMatch"),
    ):
        for signature in SIGNATURES:
            s3 = make_s3(signature_version=signature, **keys)
            with pytest.raises(ClientError) as caught:
                s3.put_object(Bucket=repo.id, Key="main/a", Body=b"")
            assert code_of(caught) == expected
    assert repo.paths() == []


def test_unsigned_request_is_denied(make_s3, repo):
    s3 = make_s3(signature_version=botocore.UNSIGNED)
    repo.put("a")
    for refused in (
        lambda: s3.get_object(Bucket=repo.id, Key="main/a"),
        lambda: s3.put_object(Bucket=repo.id, Key="main/a", Body=b""),
        lambda: s3.list_objects_v2(Bucket=repo.id),
        s3.list_buckets,
    ):
        with pytest.raises(ClientError) as caught:
            refused()
        assert code_of(caught) == "AccessDenied"
    assert repo.get("a") == b"content"


@pytest.fixture(scope="module")
def named_server(tmp_path_factory):
    """A server that knows the name under which clients put buckets, as wildcard DNS leads there."""
    find = socket.getaddrinfo

    def found(host, *rest, **options):
        local = isinstance(host, str) and (host == DOMAIN or host.endswith(f".{DOMAIN}"))
        return find("127.0.0.1" if local else host, *rest, **options)

    settings = {"ANABRANCH_GATEWAYS_S3_DOMAIN_NAME": DOMAIN}
    with (
        running_server(tmp_path_factory.mktemp("named"), env=settings) as server,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(socket, "getaddrinfo", found)
        yield server


@pytest.mark.parametrize("style", ["virtual", "path", "auto"])
@pytest.mark.parametrize("signature", SIGNATURES)
def test_hosts_that_name_the_bucket(named_server, make_s3, style, signature):
    server = named_server
    sdk = LakeFSClient(
        lakefs_sdk.Configuration(
            host=server.url, username=server.access_key_id, password=server.secret_access_key
        )
    )
    bucket = f"sea-{style}-{signature}-{next(_numbers)}"
    sdk.repositories_api.create_repository(
        lakefs_sdk.RepositoryCreation(name=bucket, storage_namespace=f"{server.storage}{bucket}")
    )
    s3 = make_s3(
        endpoint_url=f"http://{DOMAIN}:{urlsplit(server.url).port}",
        s3={"addressing_style": style},
        signature_version=signature,
    )
    s3.put_object(Bucket=bucket, Key="main/a b/é", Body=b"content")
    assert s3.get_object(Bucket=bucket, Key="main/a b/é")["Body"].read() == b"content"
    s3.copy_object(Bucket=bucket, Key="main/b", CopySource=f"{bucket}/main/a b/é")
    listed = s3.list_objects_v2(Bucket=bucket, Prefix="main/")["Contents"]
    assert [item["Key"] for item in listed] == ["main/a b/é", "main/b"]
    assert bucket in [item["Name"] for item in s3.list_buckets()["Buckets"]]
    s3.head_bucket(Bucket=bucket)
    url = s3.generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": "main/b"})
    if style != "auto":
        assert urlsplit(url).hostname == (DOMAIN if style == "path" else f"{bucket}.{DOMAIN}")
    assert httpx2.get(url).content == b"content"
    deleted = s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "main/b"}]})
    assert deleted["Deleted"] == [{"Key": "main/b"}]
    form = s3.generate_presigned_post(bucket, "main/a")
    answer = httpx2.post(form["url"], data=form["fields"], files={"file": b"content"})
    assert answer.status_code == 204
    assert s3.get_object(Bucket=bucket, Key="main/a")["Body"].read() == b"content"
