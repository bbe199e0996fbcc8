"""A server over a bucket, with the images of the example."""

from __future__ import annotations

import pytest
from support.clients.s3_client import s3_client
from support.image_example import build_example, running_example


@pytest.fixture(scope="session")
def server(s3_service, tmp_path_factory):
    """A server that keeps its blocks in a service of S3's kind, and may import from there."""
    with running_example(tmp_path_factory.mktemp("images"), s3_service) as running:
        yield running


@pytest.fixture(scope="session")
def built(server):
    """The images of the example: over a reference, over nothing, said and unsaid, and over an
    image.
    """
    return build_example(server)


@pytest.fixture(scope="session")
def s3(server):
    """A client of boto3 for this server; the one of that name above is kept for another."""
    return s3_client(server)
