"""Servers on object stores: direct transfers of clients, and multipart uploads."""

from __future__ import annotations

import hashlib
import random
import time
import uuid
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx2
import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError
from support.clients.s3_client import s3_client

from anabranch.blocks.cloud.store import CloudBlocks
from anabranch.testing.server import Server, running_server

BODY = b"stored by the client"
MIB = 1 << 20
HTTP = httpx2.Client(timeout=60)  # shared, since each client reads the certificates
ASKING = "Apache-Hadoop/3.4 s3RedirectionSupport"


class Lake(NamedTuple):
    """A server, its blocks, where they are reached, and a place for repositories."""

    server: Server
    blocks: CloudBlocks
    port: int
    place: str


KINDS = ["azure", "gs", "s3"]


@pytest.fixture(scope="module", params=KINDS)
def lake(request, tmp_path_factory):
    settings, blocks, port, place = new_place(request, request.param)
    with running_server(tmp_path_factory.mktemp("data"), env=settings) as running:
        yield Lake(running, blocks, port, place)


def new_place(request, kind):
    """Makes a bucket; returns a server's settings, its blocks, where they are reached, and it."""
    name = f"lake-{uuid.uuid4()}"
    if kind == "azure":
        store = request.getfixturevalue("azure")
        store.make_container(name)
        settings, blocks, place = store.settings, store.blocks(), f"{store.root}/{name}"
    else:
        store = request.getfixturevalue("s3" if kind == "s3" else "emulated_s3")
        store.make_bucket(name)
        if kind == "s3":
            settings, blocks, place = store.settings, store.blocks(), f"s3://{name}"
        else:
            settings, blocks, place = store.google_settings, store.gcs_blocks(), f"gs://{name}"
    settings |= {f"ANABRANCH_BLOCKSTORE_{kind.upper()}_PRE_SIGNED_EXPIRY": "7m"}
    return settings, blocks, store.port, place


@pytest.fixture
def client(lake):
    import lakefs  # takes a second, and each worker collects this file

    server = lake.server
    return lakefs.client.Client(
        host=server.url, username=server.access_key_id, password=server.secret_access_key
    )


@pytest.fixture
def repository(client, lake):
    import lakefs

    name = f"repo-{uuid.uuid4()}"
    made = lakefs.Repository(name, client=client)
    return made.create(storage_namespace=f"{lake.place}/{name}")


def test_an_object_is_stored_and_read(client, lake, repository):
    assert client.sdk_client.config_api.get_config().storage_config.pre_sign_support
    thing = repository.branch("main").object("a b/é+%.csv")
    thing.upload(BODY, pre_sign=True, content_type="text/csv", metadata={"k": "v"})
    result = client.sdk_client.objects_api.stat_object(repository.id, "main", "a b/é+%.csv")
    assert result.checksum == hashlib.md5(BODY, usedforsecurity=False).hexdigest()
    assert (result.size_bytes, result.content_type, result.metadata) == (20, "text/csv", {"k": "v"})
    assert lake.blocks.read(result.physical_address) == BODY
    with thing.reader(pre_sign=True) as reader:
        assert reader.read() == BODY
        reader.seek(10)
        assert reader.read(3) == BODY[10:13]
    with thing.writer("w", pre_sign=True) as writer:
        writer.write("more")
    assert thing.reader().read() == b"more"


def test_urls_are_the_stores_and_end_as_it_is_set(client, lake, repository):
    thing = repository.branch("main").object("a")
    thing.upload(BODY)
    result = client.sdk_client.objects_api.stat_object(repository.id, "main", "a", presign=True)
    assert urlsplit(result.physical_address).port == lake.port
    assert 0 < result.physical_address_expiry - time.time() <= 7 * 60
    assert HTTP.get(result.physical_address).content == BODY
    headers = {"x-ms-blob-type": "BlockBlob"}
    if lake.blocks.config.blockstore_type != "s3":  # moto looks at no signature of S3's
        refused = HTTP.put(result.physical_address, content=b"x", headers=headers)
        assert refused.status_code == 403
    (item,) = client.sdk_client.objects_api.list_objects(
        repository.id, "main", presign=True
    ).results
    assert HTTP.get(item.physical_address).content == BODY


def test_a_multipart_upload(client, repository):
    import lakefs_sdk

    api = client.sdk_client.experimental_api
    parts = [b"a" * (5 * MIB), b"end"]
    upload = api.create_presign_multipart_upload(repository.id, "main", "big", parts=2)
    etags = [
        HTTP.put(url, content=part).headers["etag"]
        for url, part in zip(upload.presigned_urls, parts, strict=True)
    ]
    done = api.complete_presign_multipart_upload(
        repository.id,
        "main",
        upload.upload_id,
        "big",
        lakefs_sdk.CompletePresignMultipartUpload(
            physical_address=upload.physical_address,
            parts=[
                lakefs_sdk.UploadPart(part_number=number, etag=etag)
                for number, etag in enumerate(etags, 1)
            ],
        ),
    )
    assert done.size_bytes == len(b"".join(parts))
    assert repository.branch("main").object("big").reader().read() == b"".join(parts)


def s3_gateway(server):
    return s3_client(server)


def test_multipart_upload_through_the_s3_gateway(lake, repository):
    gateway = s3_gateway(lake.server)
    place = {"Bucket": repository.id, "Key": "main/whole"}
    bodies = [random.Random(n).randbytes(size) for n, size in enumerate((6 * MIB, 5 * MIB, 17))]
    source = {"Bucket": repository.id, "Key": "main/source"}
    gateway.put_object(**source, Body=bodies[1])
    upload = {**place, "UploadId": gateway.create_multipart_upload(**place)["UploadId"]}
    result = [
        gateway.upload_part(**upload, PartNumber=1, Body=bodies[0])["ETag"],
        gateway.upload_part_copy(**upload, PartNumber=2, CopySource=source)["CopyPartResult"][
            "ETag"
        ],
        gateway.upload_part(**upload, PartNumber=3, Body=bodies[2])["ETag"],
    ]
    listed = gateway.list_parts(**upload)["Parts"]
    assert [part["Size"] for part in listed] == [len(body) for body in bodies]
    parts = [{"PartNumber": number, "ETag": etag} for number, etag in enumerate(result, 1)]
    for _ in range(2):  # a client that has not heard the answer asks again
        whole = gateway.complete_multipart_upload(**upload, MultipartUpload={"Parts": parts})
        assert whole["ETag"].endswith('-3"')
    assert gateway.get_object(**place)["Body"].read() == b"".join(bodies)
    aborted = {**place, "UploadId": gateway.create_multipart_upload(**place)["UploadId"]}
    gateway.upload_part(**aborted, PartNumber=1, Body=b"x")
    gateway.abort_multipart_upload(**aborted)
    with pytest.raises(ClientError, match="NoSuchUpload"):
        gateway.list_parts(**aborted)
    data = f"{lake.place}/{repository.id}/data/"
    assert len(list(lake.blocks.list(data))) == 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_an_upload_continues_on_another_server_after_a_kill(kind, request, tmp_path):
    settings, blocks, _, namespace = new_place(request, kind)
    bodies = [random.Random(n).randbytes(5 * MIB) for n in range(3)]
    place = {"Bucket": "mortal", "Key": "main/whole"}
    upload, result = {}, []
    for number in range(1, 5):
        with running_server(tmp_path, env=settings) as server:
            gateway = s3_gateway(server)
            if number == 1:
                made = {"name": "mortal", "storage_namespace": f"{namespace}/mortal"}
                auth = server.auth
                assert HTTP.post(f"{server.api}/repositories", json=made, auth=auth).is_success
                begun = gateway.create_multipart_upload(**place)
                upload = {**place, "UploadId": begun["UploadId"]}
            assert list(blocks.list(f"{namespace}/mortal/data/")) == []
            with pytest.raises(ClientError):
                gateway.head_object(**place)
            if number <= len(bodies):
                body = bodies[number - 1]
                part = gateway.upload_part(**upload, PartNumber=number, Body=body)
                result.append({"PartNumber": number, "ETag": part["ETag"]})
            else:
                gateway.complete_multipart_upload(**upload, MultipartUpload={"Parts": result})
                assert gateway.get_object(**place)["Body"].read() == b"".join(bodies)
            server.process.kill()
            server.process.wait()
    assert len(list(blocks.list(f"{namespace}/mortal/data/"))) == 1


class TestRedirection:
    """Of clients of S3 that say that they can be sent to the store."""

    @pytest.fixture
    def get(self, lake, repository):
        """Reads a key through the S3 gateway, as a raw client, following nothing."""

        def get(key, agent=ASKING, method="GET", query="", **headers):
            server = lake.server
            url = f"{server.url}/{repository.id}/{key}{query}"
            request = AWSRequest(method, url, headers={"User-Agent": agent, **headers})
            keys = Credentials(server.access_key_id, server.secret_access_key)
            S3SigV4Auth(keys, "s3", "us-east-1").add_auth(request)
            prepared = request.prepare()
            return HTTP.request(method, prepared.url, headers=dict(prepared.headers))

        repository.branch("main").object("a").upload(
            BODY, content_type="text/plain", metadata={"X-Amz-Meta-Depth": "7"}
        )
        return get

    def test_clients_that_request_it_are_redirected_to_the_store(self, get, lake):
        sent = get("main/a", Range="bytes=7-9")
        assert (sent.status_code, sent.content) == (307, b"")
        assert sent.headers["x-amz-meta-depth"] == "7"
        assert sent.headers["etag"].strip('"') == hashlib.md5(BODY).hexdigest()
        assert sent.headers["cache-control"] == "no-store"
        assert "content-range" not in sent.headers
        url = sent.headers["location"]
        assert urlsplit(url).port == lake.port
        assert HTTP.get(url).content == BODY
        part = HTTP.get(url, headers={"Range": "bytes=7-9"})
        assert (part.status_code, part.content) == (206, BODY[7:10])

    def test_other_clients_are_not_redirected(self, get):
        assert get("main/a", agent="Boto3/1.44").content == BODY
        part = get("main/a", agent="Boto3/1.44", Range="bytes=7-9")
        assert (part.status_code, part.content) == (206, BODY[7:10])

    def test_other_requests_are_not_redirected(self, get, repository):
        head = get("main/a", method="HEAD")
        assert (head.status_code, head.headers["content-length"]) == (200, str(len(BODY)))
        same = {"If-None-Match": f'"{hashlib.md5(BODY).hexdigest()}"'}
        assert get("main/a", **same).status_code == 304
        assert get("main/nothing").status_code == 404
        assert get("main/a", Range="bytes=99-").status_code == 416
        assert get("main/a", query="?partNumber=1").content == BODY
        shown = get("main/a", query="?response-content-type=text%2Fcsv")
        assert (shown.content, shown.headers["content-type"]) == (BODY, "text/csv")
        repository.branch("main").object("empty").upload(b"")
        assert get("main/empty").status_code == 200
