"""A server with blocks in S3, from its settings to its gateways."""

from __future__ import annotations

import random
import uuid

import httpx2
import pytest
from support.clients.s3_client import s3_client

from anabranch.blocks.table_addresses import TABLES
from anabranch.testing.server import running_server

MIB = 1 << 20


@pytest.fixture(scope="module")
def server(s3, tmp_path_factory):
    with running_server(tmp_path_factory.mktemp("data"), env=s3.settings) as running:
        yield running


@pytest.fixture
def ask(server):
    with httpx2.Client(base_url=server.api, auth=server.auth, timeout=60) as client:
        yield client.request


@pytest.fixture
def bucket(s3):
    name = f"lake-{uuid.uuid4()}"
    s3.make_bucket(name)
    return name


@pytest.fixture
def repository(ask, bucket):
    name = f"repo-{uuid.uuid4()}"
    body = {"name": name, "storage_namespace": f"s3://{bucket}/repos/{name}"}
    assert ask("POST", "/repositories", json=body).status_code == 201
    return name


@pytest.fixture
def gateway(server):
    """The S3 gateway of the server."""
    return s3_client(server)


def test_the_configuration_names_the_store(ask):
    result = ask("GET", "/config").json()["storage_config"]
    assert result["blockstore_type"] == "s3"
    assert result["blockstore_namespace_ValidityRegex"] == "^s3://"
    assert result["blockstore_namespace_example"] == "s3://example-bucket/"


def test_written_objects_are_committed_merged_and_read(ask, gateway, s3, bucket, repository):
    refs = f"/repositories/{repository}/refs"
    large = random.Random(3).randbytes(18 * MIB)

    def put(branch, path, body):
        answer = ask(
            "POST",
            f"/repositories/{repository}/branches/{branch}/objects",
            params={"path": path},
            files={"content": body},
        )
        assert answer.status_code == 201, answer.text
        return answer.json()

    put("main", "a/small", b"abc")
    body = {"message": "first"}
    answer = ask("POST", f"/repositories/{repository}/branches/main/commits", json=body)
    assert answer.status_code == 201
    answer = ask(
        "POST", f"/repositories/{repository}/branches", json={"name": "dev", "source": "main"}
    )
    assert answer.status_code == 201
    result = put("dev", "b//large", large)
    assert result["physical_address"].startswith(f"s3://{bucket}/repos/{repository}/data/")
    assert result["size_bytes"] == len(large)
    assert s3.blocks().read(result["physical_address"]) == large
    ask("POST", f"/repositories/{repository}/branches/dev/commits", json=body)
    assert ask("POST", f"{refs}/dev/merge/main", json={}).status_code == 200

    listed = ask("GET", f"{refs}/main/objects/ls").json()["results"]
    assert [found["path"] for found in listed] == ["a/small", "b//large"]
    answer = ask("GET", f"{refs}/main/objects", params={"path": "b//large"})
    assert answer.content == large
    assert gateway.get_object(Bucket=repository, Key="main/a/small")["Body"].read() == b"abc"
    middle = gateway.get_object(
        Bucket=repository, Key="main/b//large", Range="bytes=9000000-9000009"
    )
    assert middle["Body"].read() == large[9_000_000:9_000_010]

    stored = [info.address for info in s3.blocks().list(f"s3://{bucket}/repos/{repository}/")]
    tables = f"s3://{bucket}/repos/{repository}/{TABLES}/"
    assert f"{tables}dummy" in stored
    assert sum(address.startswith(tables) for address in stored) > 4


def test_a_multipart_upload_is_a_multipart_upload_in_the_store(ask, gateway, s3, repository):
    parts = [random.Random(n).randbytes(size) for n, size in enumerate((5 * MIB, 6 * MIB, 17))]
    key = {"Bucket": repository, "Key": "main/parts"}
    upload = gateway.create_multipart_upload(**key)["UploadId"]
    done = []
    for number, body in enumerate(parts, 1):
        result = gateway.upload_part(**key, UploadId=upload, PartNumber=number, Body=body)
        done.append({"PartNumber": number, "ETag": result["ETag"]})
    listed = gateway.list_parts(**key, UploadId=upload)["Parts"]
    assert [(part["PartNumber"], part["Size"]) for part in listed] == [
        (number, len(body)) for number, body in enumerate(parts, 1)
    ]
    result = gateway.complete_multipart_upload(
        **key, UploadId=upload, MultipartUpload={"Parts": done}
    )
    assert result["ETag"].endswith('-3"')
    assert gateway.get_object(**key)["Body"].read() == b"".join(parts)
    found = ask("GET", f"/repositories/{repository}/refs/main/objects/stat?path=parts").json()
    assert s3.blocks().stat(found["physical_address"]).size == sum(map(len, parts))


def test_creating_repositories_with_invalid_namespaces_is_refused(ask, bucket, repository):
    def create(namespace):
        body = {"name": "never-made", "storage_namespace": namespace}
        answer = ask("POST", "/repositories", json=body)
        assert answer.status_code == 400
        assert ask("GET", "/repositories/never-made").status_code == 404
        return answer.json()["message"], answer.headers.get("X-Anabranch-Hint", "")

    message, _ = create(f"s3://{bucket}/repos/{repository}")
    assert "storage namespace already in use" in message
    message, hint = create("s3://there-is-no-such-bucket/a")
    assert "failed to access storage" in message
    assert hint == "Create the bucket, or correct its name."
    message, _ = create("local://a")
    assert message == "failed to match required regex ^s3://: invalid namespace"


def test_throttling_by_the_store_is_reported_as_503(emulated_s3, tmp_path):
    def slow_down(environ, start):
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        start("503 Slow Down", [("Content-Type", "application/xml")])
        return [b"<Error><Code>SlowDown</Code></Error>"]

    emulated_s3.make_bucket("busy")
    env = {**emulated_s3.settings, "ANABRANCH_BLOCKSTORE_S3_MAX_RETRIES": "1"}
    with running_server(tmp_path, env=env) as server:
        client = httpx2.Client(base_url=server.api, auth=server.auth, timeout=60)
        body = {"name": "busy", "storage_namespace": "s3://busy/space"}
        assert client.post("/repositories", json=body).status_code == 201
        put = "/repositories/busy/branches/main/objects?path=a"
        emulated_s3.answer = slow_down
        try:
            answer = client.post(put, files={"content": b"x"})
            gateway = s3_client(server, retries={"total_max_attempts": 1})
            with pytest.raises(gateway.exceptions.ClientError) as refused:
                gateway.put_object(Bucket="busy", Key="main/a", Body=b"x")
        finally:
            emulated_s3.answer = None
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
        assert answer.headers["X-Anabranch-Kind"] == "storage_throttled"
        result = refused.value.response
        assert result["Error"]["Code"] == "SlowDown"
        assert result["ResponseMetadata"]["HTTPHeaders"]["retry-after"] == "1"
        assert client.get("/repositories/busy/refs/main/objects/stat?path=a").status_code == 404
        assert client.post(put, files={"content": b"x"}).status_code == 201
        client.close()
