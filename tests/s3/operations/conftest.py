"""Clients of S3 against the real server, and repositories to try things on."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import botocore.config
import httpx2
import pytest

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
