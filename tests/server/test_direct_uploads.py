"""Clients that store objects in S3 themselves, many at once: no byte goes through the server."""

from __future__ import annotations

import hashlib
import random
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx2
import lakefs_sdk
import pytest
from lakefs_sdk.client import LakeFSClient
from prometheus_client.parser import text_string_to_metric_families

from anabranch.testing.server import Server, running_server

MIB = 1 << 20
THREADS = 8
SIZE = 128 << 10
OF_BYTES = {"uploadObject", "getObject", "PutObject", "GetObject", "UploadPart"}
"""The operations that transfer bytes through the server."""


class Lake(NamedTuple):
    """A server, a repository in it, and a client for each thread."""

    server: Server
    repository: str
    sdk: LakeFSClient
    bytes: httpx2.Client

    def operations(self) -> dict[str, float]:
        """Returns how often each operation was done without an error, as `/metrics` tells."""
        found: dict[str, float] = {}
        text = httpx2.get(f"{self.server.url}/metrics", timeout=60).text
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                if sample.name.endswith("request_duration_seconds_count"):
                    assert sample.labels["code"].startswith("2"), sample
                    name = sample.labels["operation"]
                    found[name] = found.get(name, 0) + sample.value
        return found

    def bytes_read(self) -> int:
        """Returns how many bytes the server has read from files and sockets so far."""
        io = Path(f"/proc/{self.server.pid}/io").read_text()
        return int(io.split()[1])

    def put(self, url: str, body: bytes) -> str:
        """Stores a body by a presigned URL, and returns its ETag."""
        answer = self.bytes.put(url, content=body)
        assert answer.status_code == 200, answer.text
        return answer.headers["etag"]


@pytest.fixture
def lake(s3, tmp_path):
    bucket = f"direct-{uuid.uuid4()}"
    s3.make_bucket(bucket)
    with (
        running_server(tmp_path, env=s3.settings) as server,
        httpx2.Client(timeout=100) as client,
    ):
        configuration = lakefs_sdk.Configuration(
            host=server.url, username=server.access_key_id, password=server.secret_access_key
        )
        sdk = LakeFSClient(configuration)
        made = lakefs_sdk.RepositoryCreation(name="direct", storage_namespace=f"s3://{bucket}/lake")
        sdk.repositories_api.create_repository(made)
        yield Lake(server, "direct", sdk, client)


def content(number: int) -> bytes:
    return random.Random(number).randbytes(SIZE + number)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("count", [100, pytest.param(1_000, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_objects_are_stored_linked_and_committed(lake, s3, count, eventually):
    staging, before = lake.sdk.staging_api, lake.bytes_read()

    def upload(number: int) -> str:
        path, body = f"data/{number % 10}/{number}", content(number)
        place = staging.get_physical_address(lake.repository, "main", path, presign=True)
        assert urlsplit(place.presigned_url).port == s3.port
        etag = lake.put(place.presigned_url, body)
        linked = lakefs_sdk.StagingMetadata(
            staging=place, checksum=etag.strip('"'), size_bytes=len(body)
        )
        staging.link_physical_address(lake.repository, "main", path, staging_metadata=linked)
        return place.physical_address

    with ThreadPoolExecutor(THREADS) as pool:
        addresses = dict(enumerate(pool.map(upload, range(count))))
    lake.sdk.commits_api.commit(
        lake.repository, "main", lakefs_sdk.CommitCreation(message="All of them")
    )
    assert lake.bytes_read() - before < count * SIZE / 2

    # what is done is counted when its answer has gone
    eventually(lambda: lake.operations().get("commit") == 1)
    eventually(lambda: lake.operations()["linkPhysicalAddress"] == count)
    done = lake.operations()
    assert done["getPhysicalAddress"] == count
    assert not OF_BYTES & done.keys()
    listed = {found.path: found for found in everything(lake)}
    assert len(listed) == count
    blocks = s3.blocks()
    for number, address in addresses.items():
        found, body = listed[f"data/{number % 10}/{number}"], content(number)
        assert (found.physical_address, found.size_bytes) == (address, len(body))
        assert found.checksum == hashlib.md5(body, usedforsecurity=False).hexdigest()
        assert blocks.read(address) == body


def everything(lake: Lake):
    """Yields all objects of the last commit."""
    after = ""
    while True:
        page = lake.sdk.objects_api.list_objects(lake.repository, "main@", after=after, amount=300)
        yield from page.results
        if not page.pagination.has_more:
            return
        after = page.pagination.next_offset


def test_large_ones_are_stored_in_parts(lake, s3, eventually):
    api, before = lake.sdk.experimental_api, lake.bytes_read()
    bodies = [random.Random(number).randbytes(5 * MIB) for number in range(3)] + [b"end"]

    def upload(number: int) -> str:
        place = {"repository": lake.repository, "branch": "main", "path": f"large/{number}"}
        opened = api.create_presign_multipart_upload(**place, parts=2)
        named = {**place, "upload_id": opened.upload_id}
        urls = list(opened.presigned_urls)
        for part_number in (3, 4):  # those that were not planned
            asked = lakefs_sdk.UploadPartFrom(physical_address=opened.physical_address)
            response = api.upload_part(**named, part_number=part_number, upload_part_from=asked)
            urls.append(response.presigned_url)
        etags = [lake.put(url, body) for url, body in zip(urls, bodies, strict=True)]
        parts = [lakefs_sdk.UploadPart(part_number=n, etag=etag) for n, etag in enumerate(etags, 1)]
        completion = lakefs_sdk.CompletePresignMultipartUpload(
            physical_address=opened.physical_address, parts=parts
        )
        done = api.complete_presign_multipart_upload(
            **named, complete_presign_multipart_upload=completion
        )
        assert done.size_bytes == sum(map(len, bodies))
        return done.physical_address

    with ThreadPoolExecutor(2) as pool:
        addresses = list(pool.map(upload, range(3)))
    copy_and_give_up(lake)
    assert lake.bytes_read() - before < 5 * MIB
    eventually(lambda: lake.operations().get("abortPresignMultipartUpload") == 1)
    assert not OF_BYTES & lake.operations().keys()
    for address in addresses:
        assert s3.blocks().read(address) == b"".join(bodies)


def copy_and_give_up(lake: Lake) -> None:
    """Makes a part of another object's bytes, and gives the upload up."""
    api = lake.sdk.experimental_api
    place = {"repository": lake.repository, "branch": "main", "path": "copy"}
    opened = api.create_presign_multipart_upload(**place)
    source = lakefs_sdk.CopyPartSource(repository=lake.repository, ref="main", path="large/0")
    copied = lakefs_sdk.UploadPartCopyFrom(
        physical_address=opened.physical_address, copy_source=source
    )
    named = {**place, "upload_id": opened.upload_id}
    api.upload_part_copy(**named, part_number=1, upload_part_copy_from=copied)
    ended = lakefs_sdk.AbortPresignMultipartUpload(physical_address=opened.physical_address)
    api.abort_presign_multipart_upload(**named, abort_presign_multipart_upload=ended)
