"""Clients of S3 against the real server, and repositories to try things on."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import botocore.config
import httpx2
import pytest
from support.clients.s3_uploads import checksum

from anabranch.testing.server import Server

_numbers = itertools.count(1)


def boto3_client(server: Server, **options: Any) -> Any:
    settings = {"s3": {"addressing_style": "path"}, "retries": {"total_max_attempts": 1}}
    return boto3.client(
        "s3",
        endpoint_url=server.url,
        aws_access_key_id=options.pop("access_key_id", server.access_key_id),
        aws_secret_access_key=options.pop("secret_access_key", server.secret_access_key),
        region_name="us-east-1",
        config=botocore.config.Config(**(settings | options)),
    )


@pytest.fixture(scope="session")
def s3(server: Server) -> Any:
    """boto3 with its default checksums and the administrator's keys."""
    return boto3_client(server)


@pytest.fixture(scope="session")
def api(server: Server) -> Iterator[httpx2.Client]:
    """A client of the API with the administrator's keys."""
    with httpx2.Client(base_url=server.api, auth=server.auth, timeout=30) as client:
        yield client


@pytest.fixture(scope="session")
def new_bucket(api: httpx2.Client) -> Callable[[], str]:
    """Makes a repository and returns its name."""

    def make() -> str:
        name = f"bucket-{next(_numbers)}"
        body = {"name": name, "storage_namespace": f"local://{name}"}
        assert api.post("/repositories", json=body).status_code == 201
        return name

    return make


@pytest.fixture
def bucket(new_bucket: Callable[[], str]) -> str:
    """The name of a fresh repository."""
    return new_bucket()


MODE = {"ChecksumMode": "ENABLED"}


def place(bucket, path="a"):
    return {"Bucket": bucket, "Key": f"main/{path}"}


def sent_checksum(algorithm, body):
    return {f"Checksum{algorithm}": checksum(algorithm.lower(), body)}


@pytest.fixture
def put_parts(s3, bucket):
    """Uploads bodies as the parts of an object, and returns the answer to its completion."""

    def put(bodies, path="a", numbers=None, algorithm="CRC32", **options):
        where = place(bucket, path)
        options = {"ChecksumAlgorithm": algorithm, **options}
        where["UploadId"] = s3.create_multipart_upload(**where, **options)["UploadId"]
        parts = []
        for number, body in zip(numbers or range(1, len(bodies) + 1), bodies, strict=True):
            sent = sent_checksum(algorithm, body)
            answer = s3.upload_part(**where, PartNumber=number, Body=body, **sent)
            parts.append({"PartNumber": number, "ETag": answer["ETag"], **sent})
        return s3.complete_multipart_upload(**where, MultipartUpload={"Parts": parts})

    return put


@pytest.fixture
def commit(api, bucket):
    def commit(message="m"):
        url = f"/repositories/{bucket}/branches/main/commits"
        return api.post(url, json={"message": message})

    return commit
